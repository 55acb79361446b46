"""Disks that the site keeps back as hot spares: planned for nobody, and offered where an OSD needs another disk."""

from collections.abc import Mapping, Sequence
from typing import Any

from proposals.inventory.disk import RESERVED
from proposals.settings import reader
from proposals.text.errors import PolicyError
from proposals.text.names import matched, shown
from proposals.text.notes import several
from proposals.text.sizes import both

KEY = "hot_spares"
BY_ID = "/dev/disk/by-id/"
REASON = f"{RESERVED}hot spare"


def wanted(written: object) -> dict[str, list[str]]:
    """Return the setting, read; PolicyError where it is not understood."""
    found, problems = reader.only(KEY, written)
    if problems:
        raise PolicyError("\n".join(problems))
    return found


def reserve(hosts: Mapping[str, Mapping], spares: Mapping[str, Sequence[str]]) -> dict[str, Any]:
    """Return hosts of an inventory whose spares have that reason, so that they get no role; nothing else differs.

    hosts
        By minion, as discovery stored them.
    spares
        Disks by minion or glob, each by its serial, WWN or stable name.
    """
    named = _named(hosts, spares)
    return {minion: _reserved(host, _meant(named.get(minion, ()), host)) for minion, host in hosts.items()}


def notes(hosts: Mapping[str, Mapping], spares: Mapping[str, Sequence[str]]) -> list[str]:
    """Return a line for each spare that no host has, or that carries an OSD; arguments as for ``reserve``."""
    lines = []
    for pattern, named in sorted(spares.items()):
        among = {minion: _disks(hosts[minion]) for minion in sorted(matched(hosts, pattern))}
        for name in named:
            meant = {minion: _meant([name], hosts[minion]) for minion in among}
            found = [
                (minion, disk) for minion, disks in among.items() for disk in disks if meant[minion] & _called(disk)
            ]
            if not found:
                where = several(list(among)) if among else f"no host is called {shown(pattern)}"
                lines.append(f"{KEY}: discovery saw no disk {shown(name)} ({where})")
            lines += [
                f"{KEY}: {shown(name)} of {minion} carries an OSD, which stays: it is no spare before that is gone"
                for minion, disk in found
                if disk.get("osds")
            ]
    return lines


def offered(minion: str, host: Mapping, spares: Mapping[str, Sequence[str]]) -> list[str]:
    """Return a line for each spare of a host that nothing lies on."""
    names = _meant(_named({minion: host}, spares).get(minion, ()), host)
    return [
        f"  {disk['id']} ({both(disk.get('size') or 0)}, {'rotating' if disk.get('rotational') else 'flash'}, "
        f"serial {disk.get('serial') or 'unknown'})"
        for disk in _disks(host)
        if names & _called(disk) and not disk.get("osds") and not disk.get("in_use")
    ]


def _named(hosts: Mapping[str, Mapping], spares: Mapping[str, Sequence[str]]) -> dict[str, list[str]]:
    """The disks that the site names of each host, as it calls them."""
    named: dict[str, list[str]] = {}
    for pattern, listed in spares.items():
        for minion in matched(hosts, pattern):
            named.setdefault(minion, []).extend(listed)
    return named


def _meant(named: Sequence[str], host: Mapping) -> set[str]:
    """Names of disks, and for those that discovery did not keep the serials and WWNs in them: udev makes several."""
    others = {name for name in named if name.startswith(BY_ID)}
    others -= {str(disk.get("id")) for disk in _disks(host)} if others else set()
    return {*named, *(part for name in others for part in _parts(name.removeprefix(BY_ID)))}


def _parts(name: str) -> set[str]:
    """What may be a serial or WWN in a name of udev's (rules.d/60-persistent-storage): MODEL_SERIAL, with a namespace's
    number behind, where there is one; a WWN behind ``wwn-``, ``nvme-`` and, without its 0x, ``scsi-3``."""
    kind, _, told = name.partition("-")
    ends = [told, *([told.rpartition("_")[0]] if kind == "nvme" else [])]
    parts = {end.split("_", cut)[-1] for end in ends for cut in range(end.count("_") + 1)}
    return {*parts, *([f"0x{told[1:]}"] if kind == "scsi" else [])} - {""}


def _disks(host: Mapping) -> list[Mapping]:
    """Its disks as far as they are understood: a minion may have said anything."""
    listed = host.get("ceph_disks")
    return [disk for disk in listed if isinstance(disk, Mapping)] if isinstance(listed, list) else []


def _called(disk: Mapping) -> set[str]:
    """What a disk may be called by; never the kernel's name, which another one has after the next boot."""
    names = {str(disk[key]) for key in ("id", "serial", "wwn") if disk.get(key)}
    return names | {name.replace(" ", "_") for name in names}  # as udev writes a serial in a name


def _reserved(host: Mapping, names: set[str]) -> Mapping:
    if not names:
        return host
    kept = [
        {**disk, "in_use": [*_listed(disk), REASON]} if isinstance(disk, Mapping) and names & _called(disk) else disk
        for disk in host.get("ceph_disks") or ()
    ]
    return {**host, "ceph_disks": kept}


def _listed(disk: Mapping) -> list:
    said = disk.get("in_use") or []
    return [each for each in (said if isinstance(said, list) else [said]) if each != REASON]
