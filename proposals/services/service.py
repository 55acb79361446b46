"""One service: a row of the table. What it is planned from, and what its plan says."""

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field

from proposals.text import addresses
from proposals.text.names import PROFILE, nearest, shown

Command = list[str]  # words of a ``ceph`` command, without a secret among them


@dataclass(frozen=True)
class Cluster:
    """What services are planned from.

    roles
        The roles of each minion.
    hosts
        The hosts as discovery stored them, by minion.
    settings
        The site's: what policy.cfg chose of ``cluster.yml``, and its own layer ``stack/ceph/cluster.yml``.
    given
        Names of the files that the site put into ``<pillar_root>/ceph/keys/given``: certificates, passwords.
    """

    roles: Mapping[str, list[str]]
    hosts: Mapping[str, Mapping]
    settings: Mapping[str, object]
    given: frozenset[str] = frozenset()

    def members(self, *roles: str) -> list[str]:
        """The minions that have any of these roles, sorted."""
        return sorted(minion for minion, has in self.roles.items() if set(has) & set(roles))

    def hostname(self, minion: str) -> str:
        """A minion's host name, which its daemons carry."""
        return str(self.hosts.get(minion, {}).get("hostname", minion))

    def address(self, minion: str) -> str | None:
        """A minion's address in the public network; None where it has none there."""
        public = addresses.network(self.settings.get("public_network"))
        return next(iter(addresses.inside(self.hosts.get(minion, {}).get("addresses", ()), public)), None)

    def target(self, minion: str, port: int) -> str:
        """``HOST:PORT`` by which others reach a minion: its address, else its host name."""
        host = self.address(minion) or self.hostname(minion)
        return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"

    def names(self, minions: Iterable[str]) -> str:
        """Whom a certificate of these minions is for, as openssl's x509v3_config(5) writes subjectAltName."""
        hosts = dict.fromkeys(name for minion in minions for name in (self.hostname(minion), minion))
        ips = filter(None, map(self.address, minions))
        return ", ".join([*(f"DNS:{name}" for name in hosts), *(f"IP:{each}" for each in ips)])


@dataclass
class Plan:
    """What one service asks for. Only what its roles and settings ask for is in it.

    parts
        Who runs which part and what it is told for it, at ``ceph:services:PART`` of its pillar:
        ``{part: {minion: {...}}}``. ``salt/ceph/service/PART`` is what the minion applies.
    cluster
        What is planned of the cluster itself: told to the master's own host alone, at ``ceph:services:NAME``.
    entities
        The cephx keys that it needs, with their capabilities: ``{entity: {mon: "allow r", ...}}``.
    passwords
        Names of passwords that the master makes once, where the site gave none.
    secrets
        What a minion may know: ``{minion: {use: what}}``, at ``ceph_secrets:USE`` of its pillar. A list of entities
        makes a keyring, a text names a password or a file that the site gave.
    pools
        The pools that it needs, as a site writes ``pools``.
    conf
        Sections of ceph.conf that its daemons read: ``{client.rgw.node1: {fragment: rgw, options: {...}}}``; the
        fragment of that name is the site's own (``ceph.conf.d/rgw.conf``), and has the last word.
    ports
        TCP ports that it listens on, with the process that shall: ``{minion: {8080: radosgw}}``.
    problems
        Why it cannot be, one line each.
    """

    parts: dict[str, dict[str, dict]] = field(default_factory=dict)
    cluster: dict = field(default_factory=dict)
    entities: dict[str, dict[str, str]] = field(default_factory=dict)
    passwords: set[str] = field(default_factory=set)
    secrets: dict[str, dict[str, list[str] | str]] = field(default_factory=dict)
    pools: dict[str, dict] = field(default_factory=dict)
    conf: dict[str, dict] = field(default_factory=dict)
    ports: dict[str, dict[int, str]] = field(default_factory=dict)
    problems: list[str] = field(default_factory=list)

    def run(self, part: str, minion: str, **told: object) -> None:
        """Let a minion run a part, and tell it what it needs to know."""
        self.parts.setdefault(part, {})[minion] = told

    def tell(self, minion: str, **uses: list[str] | str) -> None:
        """Let a minion know secrets, by use."""
        self.secrets.setdefault(minion, {}).update(uses)

    def wrong(self, key: str, found: object, expected: str) -> None:
        """Note a setting that is not understood."""
        self.problems.append(f"{key} is {shown(found)}: expected {expected}")

    def settings(self, key: str, said: object, known: Collection[str] | None = None) -> dict:
        """Return what a site says at a key, a mapping of known words, or of any; note everything else."""
        if said is None:
            return {}
        if not isinstance(said, Mapping):
            self.wrong(key, said, "a mapping" + (f" with keys of {', '.join(known)}" if known else ""))
            return {}
        if known is None:
            return {str(word): value for word, value in said.items()}
        for word in sorted(set(map(str, said)) - set(known)):
            self.wrong(key, word, f"keys of {', '.join(known)}{nearest(word, known)}")
        return {word: value for word, value in said.items() if word in known}

    def port(self, key: str, said: object, default: int) -> int:
        """Return a TCP port; the default where a site says nothing, or something else, which is noted."""
        if said is None:
            return default
        if type(said) is not int or not 0 < said < 65536:
            self.wrong(key, said, "a TCP port, 1 to 65535")
            return default
        return said

    def certificate(self, name: str, cluster: Cluster) -> list[str]:
        """Return the files of a certificate and its key that the site gave, NAME.crt and NAME.key; none where a host
        is to make them. One without the other is a problem.
        """
        wanted = [f"{name}.crt", f"{name}.key"]
        given = [each for each in wanted if each in cluster.given]
        if len(given) == 1:
            (lacks,) = set(wanted) - set(given)
            self.problems.append(
                f"{name}: {given[0]} is given and {lacks} is not: put it, as PEM, into <pillar_root>/ceph/keys/given, "
                "or take the other one away to have a certificate made"
            )
        return given

    def number(self, key: str, said: object, low: int, high: int) -> int:
        """Return a whole number; the least one where a site says something else, which is noted."""
        if type(said) is int and low <= said <= high:
            return said
        self.wrong(key, said, f"a whole number from {low} to {high}")
        return low

    def given(self, key: str, name: object, cluster: Cluster, form: str) -> str | None:
        """Return the name of a file that the site must give; None where it is missing, which is noted.

        form
            What is to stand in it.
        """
        if not PROFILE.fullmatch(str(name)):
            self.wrong(key, name, "a file's name of letters, digits, '.', '_', '-'")
        elif name not in cluster.given:
            self.problems.append(f"{key}: {name} is missing: write {form} to <pillar_root>/ceph/keys/given/{name}")
        else:
            return str(name)
        return None

    def tls(self, key: str, name: object, cluster: Cluster) -> dict[str, str]:
        """Return the files of a certificate that the site must give, by the names that they get on a host; none where
        they are missing, which is noted.
        """
        if not PROFILE.fullmatch(str(name)):
            self.wrong(key, name, "a certificate's name of letters, digits, '.', '_', '-'")
            return {}
        noted = len(self.problems)
        if not self.certificate(str(name), cluster) and len(self.problems) == noted:
            self.problems.append(
                f"{key}: {name}.crt and {name}.key are missing: write the certificate, followed by those that it was "
                "signed with, and its key, in PEM, into <pillar_root>/ceph/keys/given"
            )
        return {"tls.pem": f"{name}.crt", "tls.pem.key": f"{name}.key"} if len(self.problems) == noted else {}


@dataclass(frozen=True)
class Service:
    """A row of the table.

    name
        Its stage is ``ceph.stage.NAME``.
    settings
        The keys of the site's settings that it reads.
    plan
        Fills a Plan.
    commands
        From what the plan tells (``cluster``) and what ``service_found`` finds, the ``ceph`` commands that are still
        to run, after its pools were made. What exists is never changed.
    on_master
        The SLS that the master's own host applies before the parts, which acts on the cluster; "" for none.
    parts
        The parts of its plan, in their order.
    units
        By part, its daemons' systemd units, as globs: what a host still runs without the part is named.
    """

    name: str
    settings: tuple[str, ...]
    plan: Callable[[Cluster, Plan], None]
    commands: Callable[[Mapping, Mapping], Iterable[Command]] | None = None
    on_master: str = ""
    parts: tuple[str, ...] = ()
    units: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
