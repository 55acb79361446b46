"""What stands against a choice, before a generation is made of it: one line each, with the next step."""

from collections.abc import Iterable, Mapping

from proposals.files.site import minion_file
from proposals.inventory import kept
from proposals.inventory.disk import is_silent
from proposals.networking import assigned_check
from proposals.pillar import chosen, layouts
from proposals.pillar.chosen import Chosen
from proposals.policy.roles import ROLES
from proposals.services import table
from proposals.settings import reader
from proposals.settings.cluster import NETWORKS
from proposals.text.names import shown

# Roles of hosts that run no daemon: what they are told does not hang on what discovery saw of them.
UNNAMED = {"master", "admin", "openattic", "benchmark", *(role for role in ROLES if role.startswith("client-"))}
NEEDED = ("master", "mon", "mgr", "storage")  # without one of each there is no cluster to deploy


def unreadable(choice: Chosen) -> list[str]:
    """Return what is of no form that anything else could be judged by: layouts, and what discovery stored."""
    hosts = {minion: choice.hosts[minion] for minion in sorted({*choice.roles, *choice.osds} & choice.hosts.keys())}
    return [
        *layouts.problems(choice.files),
        *(
            f"{minion}: inventory/{minion}.json is not what discovery stores: run ceph.stage.discovery again"
            for minion, host in hosts.items()
            if not kept.was_seen(host, minion in choice.osds)
        ),
    ]


def found(choice: Chosen) -> list[str]:
    """Return every problem of a choice, in the order in which one would mend them."""
    return [
        *_shared_disks(choice.contents),
        *(f"{path}: {line}" for path, line in misspelt(choice.own)),
        *_keys(choice.contents),
        *choice.settings.lines(),
        *_roles(choice),
        *_unseen(choice),
        *_disks(choice),
        *_carriers(choice),
        *_networks(choice.files),
        *_lacking(choice.written),
        *_twins(choice),
    ]


def misspelt(own: Mapping[str, Mapping]) -> list[tuple[str, str]]:
    """Return each key of the site's own files that is nearly a setting's, with its file: ``(path, line)``."""
    return [(path, line) for path, content in own.items() for line in reader.misspelt(content)]


def unread(own: Mapping[str, Mapping]) -> list[tuple[str, str]]:
    """Return each key there that looks like one of ours and is read by nothing, with its file."""
    return [(path, line) for path, content in own.items() for line in reader.unread(content)]


def _keys(contents: Mapping[str, Mapping[str, dict]]) -> Iterable[str]:
    """Keys of the settings that policy.cfg chooses that are no text, as YAML reads ``yes``."""
    for target in chosen.CHOSEN:
        for source, content in contents.get(target, {}).items():
            odd = [key for key in content if not isinstance(key, str)]
            yield from (f"{source}: the key {shown(key)}: expected text, the name of a setting" for key in odd)


def _shared_disks(contents: Mapping[str, Mapping[str, dict]]) -> Iterable[str]:
    """Disks that two profiles of one host name: merged, each would be planned twice."""
    for target, sources in sorted(contents.items()):
        by_disk: dict[tuple[str, str], list[str]] = {}
        for source, content in sources.items():
            for minion, osds in chosen.osds({target: content}).items():
                for disk in _named(osds):
                    by_disk.setdefault((minion, disk), []).append(source.partition("/")[0])
        for (minion, disk), folders in sorted(by_disk.items()):
            if len(folders) > 1:
                them = " and in ".join(folders)
                yield f"{minion}: {disk} is in {them}: let policy.cfg select one of them for this host"


def _named(osds: Mapping[str, Mapping]) -> set[str]:
    """Every disk that a host's OSDs lie on, or are to move to."""
    new = {to["to"] for osd in osds.values() for to in osd.get("moves", {}).values() if to["to"]}
    return {osd[part] for osd in osds.values() for part in layouts.CARRIED if osd.get(part)} | set(osds) | new


def _roles(choice: Chosen) -> Iterable[str]:
    """Roles that nothing acts on, and those that no cluster can be without."""
    known = {*ROLES, *table.roles(choice.settings)}
    for minion, has in sorted(choice.roles.items()):
        for role in has:
            if role not in known:
                yield f"{minion}: unknown role '{role}'; known are {', '.join(sorted(known))}"
    given = {role for has in choice.roles.values() for role in has}
    yield from (f"no minion has the role {role}: add a line to policy.cfg" for role in NEEDED if role not in given)


def _unseen(choice: Chosen) -> Iterable[str]:
    """Hosts of daemons, which are named after them, that discovery never saw; those of monitors and OSDs are told
    where their addresses and disks are."""
    unseen = {minion: set(has) for minion, has in choice.roles.items() if minion not in choice.hosts}
    for minion, has in sorted(unseen.items()):
        if has - UNNAMED and "mon" not in has and minion not in choice.osds:
            yield f"{minion}: no inventory of this host: start its minion, run ceph.stage.discovery again"


def gone(choice: Chosen) -> dict[str, list[str]]:
    """Return the disks that a profile recorded and discovery did not see, or found silent, by minion: pulled, or dead.

    They hold back nothing: their OSDs stay planned, and deploy leaves out what is not there.
    """
    found = {minion: _gone(choice, minion) for minion in sorted(choice.osds)}
    return {minion: disks for minion, disks in found.items() if disks}


def unnamed(choice: Chosen) -> dict[str, list[str]]:
    """Return the disks of which a layout names no fsid, as DeepSea's profiles do, by minion: no OSD is made of them."""
    found = {
        minion: sorted(disk for disk, osd in osds.items() if not osd.get("uuids"))
        for minion, osds in choice.osds.items()
    }
    return {minion: disks for minion, disks in sorted(found.items()) if disks}


def _gone(choice: Chosen, minion: str) -> list[str]:
    """Of one minion; nothing where discovery never saw it."""
    listed = choice.hosts.get(minion, {}).get("ceph_disks", [])
    seen = {disk.get("id") for disk in listed if not _silent(disk)}
    recorded = chosen.recorded(choice.files[minion_file(minion)])
    return sorted(disk for disk in _named(choice.osds[minion]) if listed and disk not in seen and disk in recorded)


def _silent(disk: Mapping) -> bool:
    """Whether discovery could read nothing of a disk."""
    return not disk.get("osds") and (disk.get("size") == 0 or is_silent("; ".join(disk.get("in_use") or ())))


def _disks(choice: Chosen) -> Iterable[str]:
    """Disks that a profile names and discovery saw otherwise; or never, where the profile does not know them either."""
    for minion, osds in sorted(choice.osds.items()):
        if minion not in choice.hosts:
            yield f"{minion}: no inventory of this storage host: start its minion, run ceph.stage.discovery again"
            continue
        seen = {disk.get("id"): disk for disk in choice.hosts[minion].get("ceph_disks", [])}
        recorded = chosen.recorded(choice.files[minion_file(minion)])
        for disk in sorted(_named(osds).difference(_gone(choice, minion))):
            if disk not in seen:
                yield f"{minion}: {disk} is not in the inventory: run ceph.stage.discovery again"
            elif disk not in recorded:
                yield f"{minion}: {disk} has no size and serial in its profile: run proposal.populate again"
            elif seen[disk]["in_use"] and not seen[disk]["osds"] and not _half_made(seen[disk]):
                yield f"{minion}: {disk} is not free ({', '.join(seen[disk]['in_use'])}): take it out of the profile"


def _carriers(choice: Chosen) -> Iterable[str]:
    """Disks that a profile gives to an OSD whole, and to another one's DB; but for OSDs that lie so already."""
    for minion, osds in sorted(choice.osds.items()):
        seen = {disk.get("id"): disk.get("osds") or () for disk in choice.hosts.get(minion, {}).get("ceph_disks", [])}
        named = [(disk, part, osd[part]) for disk, osd in osds.items() for part in layouts.CARRIED if osd.get(part)]
        for disk, part, data in sorted(named):
            if data == disk or data not in osds or _lies(seen.get(data, ()), osds[data]):
                continue
            yield f"{minion} {data}: is planned as an OSD's own disk, and as {part} of that on {disk}: choose one"


def _lies(seen: Iterable[Mapping], osd: Mapping) -> bool:
    return bool({each.get("fsid") for each in seen} & set(layouts.fsids(osd)))


def _half_made(disk: Mapping) -> bool:
    """Partitions or volumes alone may be our own of an interrupted run: deploy looks closely before it writes."""
    reasons = set(disk["in_use"])
    volumes = {reason for reason in reasons if reason.startswith("LVM member of ceph-")}
    return reasons == {"has partitions"} or (bool(volumes) and reasons <= {*volumes, "holds LVM2_member"})


def _networks(files: Mapping[str, Mapping]) -> Iterable[str]:
    for minion, network in sorted(chosen.networks(files).items()):
        yield from (f"{minion}: {line}" for line in assigned_check.problems(network))


def _lacking(written: Mapping[str, object]) -> Iterable[str]:
    for key in ("fsid", *NETWORKS):
        if not written.get(key):
            yield f"{key} is not set: select config/stack/default/ceph/cluster.yml"


def _twins(choice: Chosen) -> Iterable[str]:
    """Daemons are named after hosts: two hosts of one name would be one daemon."""
    by_name: dict[str, list[str]] = {}
    for minion in sorted(choice.roles):
        if minion in choice.hosts:
            by_name.setdefault(choice.hosts[minion]["hostname"], []).append(minion)
    for name, minions in by_name.items():
        if len(minions) > 1:
            yield f"{' and '.join(minions)} share the host name {name}"
