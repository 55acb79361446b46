"""From what policy.cfg selects to one generation of the pillar: the files that Salt's ``stack`` will read.

Nothing here opens a file. A generation is named by its content: the same choice gives the same name.
"""

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import yaml

from proposals.files.site import minion_file, minion_of
from proposals.networking import assigned_check as network
from proposals.pillar import conf, secrets, tunings
from proposals.policy.roles import ROLES
from proposals.services import planning, table
from proposals.services.planning import ServicePlans
from proposals.services.service import Cluster
from proposals.settings import reader
from proposals.settings.cluster import NETWORKS
from proposals.settings.reader import SiteSettings
from proposals.text.errors import PolicyError

NEEDED = ("master", "mon", "mgr", "storage")  # without one of each there is no cluster to deploy
STAGES = ("all", "master", "admin", "mon", "mgr", "storage")
PARTS = ("db", "wal", "journal")  # what of an OSD may lie on another disk than its data
TEMPLATE = ("{{", "{%", "{#")


@dataclass(frozen=True)
class Generation:
    """One generation: its name, its files by path, and who is what."""

    name: str
    files: Mapping[str, str]
    members: Mapping[str, list[str]]
    roles: Mapping[str, list[str]]
    hostnames: Mapping[str, str]
    services: ServicePlans

    @property
    def entities(self) -> dict[str, Mapping[str, str]]:
        """The capabilities of every key that this generation needs."""
        return secrets.entities([self.hostnames[each] for each in self.members["mgr"]], self.services.whole.entities)

    def secrets(self, minion: str, keys: Mapping[str, str]) -> dict[str, str]:
        """What a minion may know, by use, of all keys, passwords and files by name."""
        host = self.hostnames.get(minion, minion)
        return secrets.minion(
            keys, self.entities, self.roles[minion], host, self.services.whole.secrets.get(minion, {})
        )


def build(
    chosen: Mapping[str, dict],
    inventory: Mapping[str, Mapping],
    orchestrator: str,
    known: Iterable[str] = (),
    own: Mapping[str, object] | None = None,
    given: frozenset[str] = frozenset(),
) -> Generation:
    """Return the generation that a choice makes.

    chosen
        The merged content by target path, as ``policy.resolve`` and ``pillar.merge`` give it.
    inventory
        The hosts as discovery stored them.
    orchestrator
        The id under which the master compiles its own pillar: it alone is told who has which role.
    known
        Problems that were found already, as ``shared_disks`` finds them.
    own
        The settings of the site's own layer, of which services read theirs.
    given
        The names of the certificates and passwords that the site gave.

    Raises PolicyError with every problem found, one line each.
    """
    roles = _roles(chosen)
    members = {role: sorted(each for each, has in roles.items() if role in has) for role in STAGES if role != "all"}
    members["all"] = sorted(roles)
    members["networks"] = sorted(set(_networks(chosen)) & set(roles))
    members["admin"] = sorted({*members["admin"], *members["master"]})
    written = reader.merged(_settings(chosen), own or {})
    settings = reader.read(written)
    problems = [*known, *settings.lines(), *_role_problems(roles, settings)]
    problems += _disk_problems(chosen, inventory) + _network_problems(chosen)
    told, absent = conf.derived(members["mon"], inventory, settings)
    problems += absent + [f"{key} is not set: select config/stack/default/ceph/cluster.yml" for key in _lacks(written)]
    hostnames = {each: inventory[each]["hostname"] for each in roles if each in inventory}
    problems += _twins(hostnames)
    osds = planned_osds(chosen)
    count = sum(len(osd.get("uuids", [])) for each in osds.values() for osd in each.values())
    planned = planning.plan(Cluster(roles, inventory, settings, given))
    problems += planned.whole.problems
    derived = {"ceph": {**told, "sections": planned.conf(), "expected_osds": count}}
    files = dict(chosen)
    for minion, tuning in tunings.chosen(roles, osds, inventory, table.roles(settings)).items():
        path = minion_file(minion)
        content = files.get(path, {})
        files[path] = {**content, "ceph": {"tuning": tuning, **content.get("ceph", {})}}
    for minion in roles:
        if services := _services(planned, roles[minion], minion):
            path = minion_file(minion)
            content = files.get(path, {})
            files[path] = {**content, "ceph": {**content.get("ceph", {}), "services": services}}
    files[minion_file(orchestrator)] = {"ceph": {"members": members, "services": planned.steps()}}
    texts = {path: _text(path, content, problems) for path, content in files.items()}
    name = hashlib.sha256(repr(sorted({**texts, "derived": dump(derived)}.items())).encode()).hexdigest()[:16]
    derived["ceph"]["generation"] = name
    texts["stack/default/ceph/derived.yml"] = dump(derived)
    if problems:
        raise PolicyError("policy.cfg cannot be configured, nothing was changed:\n" + "\n".join(problems))
    return Generation(name, texts, members, roles, hostnames, planned)


def _services(planned: ServicePlans, roles: list[str], minion: str) -> dict[str, Mapping]:
    """What a minion is told of services; the master's host also what is planned of the cluster itself."""
    cluster = {name: plan.cluster for name, plan in planned.plans.items() if plan.cluster and "master" in roles}
    return {**cluster, **planned.told(minion)}


def shared_disks(contents: Mapping[str, Mapping[str, dict]]) -> list[str]:
    """Return a problem for each disk that two profiles of one host name: merged, it would be planned twice.

    contents
        ``{target: {source: content}}`` of the minions' fragments before they are merged.
    """
    problems = []
    for target, sources in sorted(contents.items()):
        by_disk: dict[str, list[str]] = {}
        for source, content in sources.items():
            for disk in _disks(content):
                by_disk.setdefault(disk, []).append(source.partition("/")[0])
        minion = target.rpartition("/")[2].removesuffix(".yml")
        problems += [
            f"{minion}: {disk} is in {' and in '.join(names)}: let policy.cfg select one of them for this host"
            for disk, names in sorted(by_disk.items())
            if len(names) > 1
        ]
    return problems


def _disks(content: Mapping) -> set[str]:
    """Every disk that one fragment gives a role."""
    return _named(content.get("ceph", {}).get("storage", {}).get("osds", {}))


def _named(osds: Mapping[str, Mapping]) -> set[str]:
    """Every disk that a host's OSDs lie on."""
    return {osd[key] for osd in osds.values() for key in PARTS if osd.get(key)} | set(osds)


def _roles(chosen: Mapping[str, dict]) -> dict[str, list[str]]:
    """The roles of each minion that policy.cfg gives to the cluster."""
    found = {}
    for target, content in chosen.items():
        folder, _, file = target.partition("/")
        if folder == "cluster" and file.endswith(".sls") and content.get("cluster") != "unassigned":
            found[file.removesuffix(".sls")] = list(content.get("roles", []))
    return found


def _settings(chosen: Mapping[str, dict]) -> dict:
    settings: dict = {}
    for target in ("stack/default/global.yml", "stack/default/ceph/cluster.yml"):
        settings |= chosen.get(target, {})
    return settings


def _lacks(settings: Mapping) -> list[str]:
    return [key for key in ("fsid", *NETWORKS) if not settings.get(key)]


def _role_problems(roles: Mapping[str, list[str]], settings: SiteSettings) -> list[str]:
    known = set(ROLES) | set(table.roles(settings))
    wrong = [
        f"{minion}: unknown role '{role}'; known are {', '.join(sorted(known))}"
        for minion, has in sorted(roles.items())
        for role in has
        if role not in known
    ]
    given = {role for has in roles.values() for role in has}
    lacking = [f"no minion has the role {role}: add a line to policy.cfg" for role in NEEDED if role not in given]
    return wrong + lacking


def planned_osds(chosen: Mapping[str, dict]) -> dict[str, dict]:
    """Return the planned OSDs of each minion that has any: ``{minion: {data disk: what}}``.

    chosen
        ``{target: content}``, of which ``stack/default/ceph/minions/ID.yml`` counts.
    """
    return {
        minion: content["ceph"]["storage"].get("osds", {})
        for target, content in chosen.items()
        if (minion := minion_of(target)) and content.get("ceph", {}).get("storage")
    }


def _disk_problems(chosen: Mapping[str, dict], inventory: Mapping[str, Mapping]) -> list[str]:
    """Disks that a profile names and discovery saw otherwise, or not at all."""
    problems = []
    for minion, osds in sorted(planned_osds(chosen).items()):
        seen = {disk["id"]: disk for disk in inventory.get(minion, {}).get("ceph_disks", [])}
        recorded = chosen[minion_file(minion)]["ceph"]["storage"].get("disks", {})
        for disk in sorted(_named(osds)):
            if disk not in seen:
                problems.append(f"{minion}: {disk} is not in the inventory: run ceph.stage.discovery again")
            elif disk not in recorded:
                problems.append(f"{minion}: {disk} has no size and serial in its profile: run proposal.populate again")
            elif seen[disk]["in_use"] and not seen[disk]["osds"] and not _half_made(seen[disk]):
                why = ", ".join(seen[disk]["in_use"])
                problems.append(f"{minion}: {disk} is not free ({why}): take it out of the profile")
    return problems


def _networks(chosen: Mapping[str, dict]) -> dict[str, object]:
    """What each minion is told of its network, where a network proposal was chosen for it."""
    found = {minion_of(target): network.of(content) for target, content in chosen.items()}
    return {minion: one for minion, one in found.items() if minion and one is not None}


def _network_problems(chosen: Mapping[str, dict]) -> list[str]:
    return [f"{minion}: {line}" for minion, one in sorted(_networks(chosen).items()) for line in network.problems(one)]


def _half_made(disk: Mapping) -> bool:
    """Partitions or volumes alone may be our own of an interrupted run: deploy looks closely before it writes."""
    reasons = set(disk["in_use"])
    volumes = {reason for reason in reasons if reason.startswith("LVM member of ceph-")}
    return reasons == {"has partitions"} or (bool(volumes) and reasons <= {*volumes, "holds LVM2_member"})


def _twins(hostnames: Mapping[str, str]) -> list[str]:
    """Daemons are named after hosts: two hosts of one name would be one daemon."""
    by_name: dict[str, list[str]] = {}
    for minion, name in sorted(hostnames.items()):
        by_name.setdefault(name, []).append(minion)
    return [f"{' and '.join(each)} share the host name {name}" for name, each in by_name.items() if len(each) > 1]


def _text(path: str, content: Mapping, problems: list[str]) -> str:
    """One file's text; what Salt would render as a template is refused."""
    text = dump(content)
    problems += [f"{path}: holds '{mark}', which Salt would run as a template" for mark in TEMPLATE if mark in text]
    return text


def dump(content: Mapping) -> str:
    """Return a mapping as the plain YAML that a generation consists of."""
    return yaml.safe_dump(dict(content), default_flow_style=False, allow_unicode=False, width=1000)
