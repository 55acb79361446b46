"""A stored proposal for people who deploy with something else: cephadm, or ceph-volume by hand."""

import hashlib
import json
import re
from collections import Counter
from collections.abc import Callable, Mapping
from shlex import quote

from proposals.text.errors import ArgumentError
from proposals.text.names import nearest
from proposals.text.sizes import EXTENT

# The lines for one host: the proposal's name, the host, its new OSDs, how many OSDs each data disk has
Form = Callable[[str, str, list[Mapping], Mapping[str, int]], list[str]]
LONGEST = 48  # characters of a disk's name in its group's, as on hosts: device-mapper takes 127 for both names
# A device that carries OSDs already has a group, whoever made it: slots in it are taken from that one.
GROUP = """\
group() {  # NAME DEVICE: print the volume group on DEVICE; one called NAME is made where there is none
    set -- "$1" "$2" "$(pvs --noheadings -o vg_name "$2" 2>/dev/null | tr -d ' ')"
    [ -n "$3" ] || vgcreate "$1" "$2" >&2 && echo "${3:-$1}"
}"""


def text(stored: Mapping, form: str) -> str:
    """The new OSDs of a stored proposal (its proposal.json) as ``cephadm`` or ``ceph-volume`` want them.

    OSDs that exist already are left out. Raises ArgumentError for a form that is not known, or a proposal
    that the form cannot say.

    CLI: ``python -m proposals export ROOT apollo --as cephadm``"""
    if form not in FORMS:
        raise ArgumentError(f"--as {form} is not known{nearest(form, FORMS)}")
    lines = []
    for host in sorted(stored["hosts"]):
        listed = stored["hosts"][host]["osds"]
        if osds := [osd for osd in listed if not osd["existing"]]:
            lines += FORMS[form](stored["name"], host, osds, Counter(osd["data"] for osd in listed))
    return "\n".join(lines or [f"# proposal {stored['name']} has no new OSDs"]) + "\n"


def _groups(osds: list[Mapping], counts: Mapping[str, int]) -> dict[tuple, list[Mapping]]:
    """OSDs that share their devices and sizes: one service specification each, so that no disk changes its SSD.

    ``counts``: how many OSDs each data disk has, those that exist too."""
    groups: dict[tuple, list[Mapping]] = {}
    for osd in osds:
        key = (osd["db"], osd["wal"], osd["db_size"], osd["wal_size"], osd["encryption"], counts[osd["data"]])
        groups.setdefault(key, []).append(osd)
    return groups


def _cephadm(name: str, host: str, osds: list[Mapping], counts: Mapping[str, int]) -> list[str]:
    lines = []
    groups = _groups(osds, counts)
    for number, ((db, wal, db_size, wal_size, encryption, count), members) in enumerate(groups.items(), 1):
        if any(osd["format"] == "filestore" for osd in members):
            raise ArgumentError(
                "cephadm makes no filestore OSDs: export --as ceph-volume, or plan with format=bluestore"
            )
        lines += ["---", "service_type: osd", f"service_id: {name}-{host}-{number}"]
        lines += [f"placement: {{hosts: [{json.dumps(host)}]}}", "spec:"]
        lines += _paths("data_devices", sorted({osd["data"] for osd in members}))
        if db:
            lines += _paths("db_devices", [db])
            if wal == db:  # ceph-volume has no two volumes of one OSD on one device: a DB of both sizes holds the WAL
                lines.append(
                    f"  block_db_size: {db_size + wal_size}  # DB {db_size} and WAL {wal_size}: the WAL lies in it"
                )
            else:
                lines.append(f"  block_db_size: {db_size}")
        if wal and wal != db:
            lines += [*_paths("wal_devices", [wal]), f"  block_wal_size: {wal_size}"]
        if encryption:
            lines.append("  encrypted: true")
        if count > 1:
            lines.append(f"  osds_per_device: {count}")
    return lines


def _paths(key: str, paths: list[str]) -> list[str]:
    return [f"  {key}:", "    paths:", *(f"    - {json.dumps(path)}" for path in paths)]


def group_name(device: str) -> str:
    """The name of the volume group on a disk: after the disk, as ``osd_names.group`` names it on hosts."""
    name = re.sub(r"[^A-Za-z0-9+_.-]", "_", device.rpartition("/")[2])
    if len(name) > LONGEST:
        name = f"{name[: LONGEST - 9]}-{hashlib.sha256(device.encode()).hexdigest()[:8]}"
    return f"ceph-{name}"


def _ceph_volume(_: str, host: str, osds: list[Mapping], counts: Mapping[str, int]) -> list[str]:
    lines = [f"# on {host}", *GROUP.splitlines()]
    for osd in osds:
        lines += _prepare(osd, counts[osd["data"]])
    return lines


def _volume(variable: str, name: str, extents: str, device: str) -> str:
    """A line that makes the volume ``name`` on a device, and leaves its group's name in a shell variable."""
    found = f"{variable}=$(group {group_name(device)} {quote(device)})"
    return f'{found} && lvcreate -y -l {extents} -n {name} "${variable}"'


def _prepare(osd: Mapping, count: int) -> list[str]:
    lines, words = [], []
    filestore = osd["format"] == "filestore"
    for key, option in (("db", "--journal" if filestore else "--block.db"), ("wal", "--block.wal")):
        if osd[key]:
            name = f"osd-{key}-{osd['uuid']}"
            lines.append(_volume(key, name, str(-(-osd[f"{key}_size"] // EXTENT)), osd[key]))
            words.append(f'{option} "${key}/{name}"')
    data = quote(osd["data"])
    if count > 1:
        name = f"osd-block-{osd['uuid']}"
        lines.append(_volume("data", name, f"{100 // count}%VG", osd["data"]))
        data = f'"$data/{name}"'
    store = "--filestore" if filestore else "--bluestore"
    encrypted = " --dmcrypt" if osd["encryption"] else ""
    words = [f"--osd-fsid {osd['uuid']}", f"--data {data}", *words]
    return [*lines, f"ceph-volume lvm prepare {store}{encrypted} {' '.join(words)}"]


FORMS: dict[str, Form] = {"cephadm": _cephadm, "ceph-volume": _ceph_volume}
