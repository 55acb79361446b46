"""What generations that were served named, host by host: only what stands here may leave (``ceph.stage.removal``).

``<pillar_root>/ceph/served.json``, written by configure before a generation is served; removal takes out what has left.
Where it is not there yet, the generations that are kept say the same.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from proposals.cluster.removal.items import Item, called, candidates, members
from proposals.files import atomic, documents
from proposals.files.site import MINIONS, Site, minion_file
from proposals.inventory import kept
from proposals.pillar import adopted, chosen, layouts, secrets
from proposals.text.errors import StoreError
from proposals.text.notes import by_host, counted

Hosts = dict[str, dict[str, Any]]  # by minion: {hostname, osds: [fsid], parts: {part: {daemons, keys, ...}}}
CRASHES = ("mds", "rgw", "rbd-mirror")  # parts with daemons of Ceph's, beside those of roles


def hosts(files: Mapping[str, Mapping], hostnames: Mapping[str, str], crashes: bool = True) -> Hosts:
    """Return what a generation names, of its files by path (``pillar.served``), or what was chosen.

    crashes
        Whether its hosts post what a crash of a daemon leaves.
    """
    osds = fsids(files)
    return {
        minion: {
            "hostname": hostnames.get(minion, minion),
            "osds": sorted(osds.get(minion, ())),
            "parts": _parts(roles, _services(files, minion), hostnames.get(minion, minion), crashes),
        }
        for minion, roles in chosen.roles(files).items()
    }


def fsids(files: Mapping[str, Mapping]) -> dict[str, set[str]]:
    """Return the OSDs that files name on each minion: those of layouts, and those that were adopted."""
    found = {minion: set(told) for minion, told in adopted.osds(files).items()}
    for minion, osds in chosen.osds(files).items():
        found.setdefault(minion, set()).update(fsid for osd in osds.values() for fsid in layouts.fsids(osd))
    return found


def merged(first: Mapping[str, Mapping], second: Mapping[str, Mapping]) -> Hosts:
    """Return what either names; of one thing the second's word counts."""
    both: Hosts = {minion: dict(host) for minion, host in first.items()}
    for minion, host in second.items():
        before = both.get(minion, {"osds": [], "parts": {}})
        parts = {part: _joined(before["parts"].get(part, {}), told) for part, told in host["parts"].items()}
        both[minion] = {
            "hostname": host["hostname"],
            "osds": sorted({*before["osds"], *host["osds"]}),
            "parts": {**before["parts"], **parts},
        }
    return both


def known(site: Site) -> Hosts:
    """Return all that generations that were served named. Raises StoreError."""
    if site.served.exists():
        try:
            told: Hosts = json.loads(atomic.read_text(site.served))
        except ValueError as err:
            raise StoreError(f"{site.served} is broken ({err}): put it back from a copy, or move it away") from err
        return told
    every: Hosts = {}
    for folder in sorted(site.generations.glob("[!.]*"), key=lambda folder: folder.stat().st_mtime):
        every = merged(every, hosts(_files(folder), hostnames(site)))
    return every


def note(site: Site, served: Mapping[str, Mapping]) -> None:
    """Remember what a generation names (``hosts``) that will be served."""
    _write(site, merged(known(site), served))


def forget(site: Site, items: Iterable[Item]) -> None:
    """Take out what has left. A host of which nothing is left is forgotten."""
    every = known(site)
    for item in items:
        if host := every.get(item.minion):
            host["osds"] = [fsid for fsid in host["osds"] if fsid != item.fsid]
            kept = host["parts"].pop(item.kind, {})
            key, names = members(kept)
            stay = sorted(set(names) - called(item))
            host["parts"] |= {item.kind: {**kept, key: stay}} if stay else {}
            if not host["osds"] and not host["parts"]:
                del every[item.minion]
    _write(site, every)


def leaves(every: Mapping[str, Mapping], chosen_files: Mapping[str, Mapping]) -> list[str]:
    """Return what ``every`` names and policy.cfg does not choose, a line a host: OSDs, and daemons of roles.

    chosen_files
        The merged content by target path, without what services add: of a host's other parts nothing is said while it
        has any role.
    """
    roles, lines = chosen.roles(chosen_files), []
    stay = {fsid for minion, own in fsids(chosen_files).items() if minion in roles for fsid in own}
    for minion, host in sorted(every.items()):
        lost = len(set(host["osds"]) - stay)
        parts = [part for part in sorted(host["parts"]) if not _stays(part, roles.get(minion, []))]
        if lost or parts:
            words = [*([counted(lost, "OSD")] if lost else []), *parts]
            lines.append(f"would leave: {minion}: {', '.join(words)}")
    return lines


def keyrings(every: Mapping[str, Mapping], served: Mapping[str, Mapping]) -> list[str]:
    """Return lines on hosts that still have keyrings of clients that the served generation gives them no more."""
    lost = {minion: own["parts"].get("client-keys", {}) for minion, own in candidates(every, served).items()}
    text = "keyrings that ceph_keys gives it no more, left alone: {}; see 'salt-run stage.plan removal'"
    return by_host(
        (minion, text.format(", ".join(names)))
        for minion, known in sorted(lost.items())
        if (names := members(known)[1])
    )


def _stays(part: str, roles: Sequence[str]) -> bool:
    return part in roles if part in ("mon", "mgr", "mds") else bool(roles)


def hostnames(site: Site) -> dict[str, str]:
    """Return the host name of each minion that discovery saw. Raises InventoryError."""
    seen = kept.load_inventory(site.inventory)["hosts"]
    return {minion: host["hostname"] for minion, host in seen.items() if host.get("hostname")}


def entities(site: Site, master: str) -> list[str]:
    """Return every entity that the cluster is to know, by what the master's host is told to register, and the core's.

    Raises StoreError where that host is told nothing: then nobody knows which keys are wanted.
    """
    path = site.secrets / f"{master}.yml"
    told = documents.parse_yaml(atomic.read_text(path), str(path)) or {}
    keyring = told.get("ceph_secrets", {}).get("register")
    if not keyring:
        raise StoreError(f"{path} holds no keyring to register: run ceph.stage.configure again")
    names = [line.strip("[] ") for line in str(keyring).splitlines() if line.startswith("[")]
    return sorted({*names, *secrets.CAPS} - {"mgr."})


def made(site: Site) -> list[str]:
    """Return every entity whose key the master made or took over."""
    if not site.keys.exists():
        return []
    return [name for name in json.loads(atomic.read_text(site.keys)) if secrets.is_entity(name)]


def _write(site: Site, every: Hosts) -> None:
    text = json.dumps(every, indent=1, sort_keys=True)
    if not site.served.exists() or atomic.read_text(site.served) != text:
        atomic.write(site.served, text)


def _files(folder: Path) -> dict[str, Mapping]:
    """A generation's files of single minions."""
    return {
        f"{part}/{path.name}": documents.parse_yaml(atomic.read_text(path), str(path)) or {}
        for part in ("cluster", MINIONS)
        for path in sorted((folder / part).glob("*"))
    }


def _services(files: Mapping[str, Mapping], minion: str) -> Mapping[str, Mapping]:
    ceph = files.get(minion_file(minion), {}).get("ceph")
    told = ceph.get("services") if isinstance(ceph, Mapping) else None
    return told if isinstance(told, Mapping) else {}


def _parts(roles: Sequence[str], services: Mapping[str, Mapping], host: str, crashes: bool) -> dict[str, dict]:
    """What a host runs or holds beside OSDs: its daemons, by their names, and the entities that they are."""
    parts: dict[str, dict] = {part: _told(part, told) for part, told in services.items() if isinstance(told, Mapping)}
    parts |= {"mon": {"daemons": [host]}} if "mon" in roles else {}
    parts |= {"mgr": {"daemons": [host], "keys": [f"mgr.{host}"]}} if "mgr" in roles else {}
    parts |= {"bootstrap-osd": {}} if "storage" in roles else {}
    parts |= {"admin": {}} if {"admin", "master"} & set(roles) else {}
    return parts | ({"crash": {}} if crashes and {*secrets.DAEMONS, *CRASHES} & {*roles, *parts} else {})


def _told(part: str, told: Mapping) -> dict:
    match part:
        case "mds":
            return {"daemons": [told["name"]], "keys": [f"mds.{told['name']}"]}
        case "rgw":
            names = [gateway["name"] for gateway in told["gateways"]]
            return {"daemons": names, "keys": [f"client.{name}" for name in names]}
        case "ganesha":
            grace = {key: told[key] for key in ("user", "pool", "namespace")}
            return {"daemons": [told["name"]], "keys": [f"client.{told['user']}"], "grace": grace}
        case "igw":
            return {"keys": [told["client"]]}
        case "rbd-mirror" | "client-cephfs":
            return {"keys": [told["entity"]]}
        case "client-keys":  # several hosts may have one: its key is the cluster's own thing, and leaves by itself
            return {"clients": [keyring["use"].rpartition("/")[2] for keyring in told["keyrings"]]}
    return {}


def _joined(first: Mapping, second: Mapping) -> dict:
    """One part as two generations name it: the daemons of both."""
    lists = {key: sorted({*first.get(key, ()), *second.get(key, ())}) for key in ("daemons", "keys", "clients")}
    return {**first, **second, **{key: names for key, names in lists.items() if names}}
