"""One service: a row of the table, and what it is planned from."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field

from proposals.services.service_plan import ServicePlan
from proposals.settings.reader import SiteSettings
from proposals.text import addresses

# What a host with a daemon of Ceph's may know: the name in which ceph-crash posts what a crash of it left.
CRASH = {"crash": ["client.crash"]}
Command = list[str]  # words of a ``ceph`` command, without a secret among them


@dataclass(frozen=True)
class PlannedCluster:
    """What services are planned from.

    roles
        The roles of each minion.
    hosts
        The hosts as discovery stored them, by minion.
    settings
        The site's, read: what policy.cfg chose of ``cluster.yml``, and its own layer ``stack/ceph/cluster.yml``.
    given
        Names of the files that the site put into ``<pillar_root>/ceph/keys/given``: certificates, passwords.
    """

    roles: Mapping[str, list[str]]
    hosts: Mapping[str, Mapping]
    settings: SiteSettings
    given: frozenset[str] = frozenset()

    def members(self, *roles: str) -> list[str]:
        """The minions that have any of these roles, sorted."""
        return sorted(minion for minion, has in self.roles.items() if set(has) & set(roles))

    def hostname(self, minion: str) -> str:
        """A minion's host name, which its daemons carry."""
        return str(self.hosts.get(minion, {}).get("hostname", minion))

    def address(self, minion: str) -> str | None:
        """A minion's address in the public network; None where it has none there."""
        public = addresses.network(self.settings["public_network"])
        return next(iter(addresses.inside(self.hosts.get(minion, {}).get("addresses", ()), public)), None)

    def target(self, minion: str, port: int) -> str:
        """``HOST:PORT`` by which others reach a minion: its address, else its host name."""
        host = self.address(minion) or self.hostname(minion)
        return f"{addresses.bracketed(host)}:{port}"

    def names(self, minions: Iterable[str]) -> str:
        """Whom a certificate of these minions is for, as openssl's x509v3_config(5) writes subjectAltName."""
        hosts = dict.fromkeys(name for minion in minions for name in (self.hostname(minion), minion))
        ips = filter(None, map(self.address, minions))
        return ", ".join([*(f"DNS:{name}" for name in hosts), *(f"IP:{each}" for each in ips)])


@dataclass(frozen=True)
class Service:
    """A row of the table.

    name
        Its stage is ``ceph.stage.NAME``.
    plan
        Returns what it asks for.
    commands
        From what the plan tells (``cluster``) and what ``service_found`` finds, the ``ceph`` commands that are still
        to run, after its pools were made. What exists is never changed.
    on_master
        The SLS that the master's own host applies before the parts, which acts on the cluster; "" for none.
    parts
        The parts of its plan, in their order.
    in_turns
        Those of its parts that restart when they are told otherwise, while clients go on by another host: a host at a
        time.
    units
        By part, its daemons' systemd units, as globs: what a host still runs without the part is named.
    """

    name: str
    plan: Callable[[PlannedCluster], ServicePlan]
    commands: Callable[[Mapping, Mapping], Iterable[Command]] | None = None
    on_master: str = ""
    parts: tuple[str, ...] = ()
    in_turns: tuple[str, ...] = ()
    units: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
