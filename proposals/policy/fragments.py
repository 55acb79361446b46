"""The text of every file under ``proposals/``: plain YAML, one file an assignment, so that policy.cfg can choose.

The texts are written by hand: a library needs 130 microseconds a disk for them. What stands in them has
passed the patterns of ``names``, and everything that YAML could read otherwise is quoted."""

import hashlib
import json
import re
from collections.abc import Iterable, Mapping

from proposals.disks import losses
from proposals.disks.plan import DiskPlan, PlannedHost
from proposals.files.site import minion_file
from proposals.policy.roles import FOLDERS
from proposals.settings.cluster import NETWORKS
from proposals.text import names
from proposals.text.errors import ArgumentError
from proposals.text.notes import WARNING

_PLAIN = re.compile(r"/dev/[A-Za-z0-9/._-]+")


def profile(plan: DiskPlan, answer: Mapping) -> dict[str, dict[str, str]]:
    """Host -> the files of its part of the profile, by path relative to ``profile-NAME``.

    ``answer`` is the plan's JSON form."""
    texts = {}
    for planned in plan.hosts:
        host = answer["hosts"][planned.host.id]
        if host["osds"]:
            name = planned.host.id
            serials = {disk.id: disk for disk in planned.host.disks}
            texts[name] = {
                f"cluster/{name}.sls": "roles:\n- storage\n",
                minion_file(name): layout(host["osds"], serials),
            }
    return texts


def layout(osds: Iterable[Mapping], disks: Mapping) -> str:
    """The profile's layout of one host: its OSDs, and the size and serial of every disk they name."""
    lines = ["ceph:", "  storage:", "    osds:"]
    by_data: dict[str, list[Mapping]] = {}
    for osd in osds:
        by_data.setdefault(osd["data"], []).append(osd)
    named: set[str] = set()
    for data in sorted(by_data):
        lines += _osd(data, by_data[data], disks[data].cls)
        named.update((data, *(osd[key] for osd in by_data[data] for key in ("db", "wal") if osd[key])))
        named.update(to["to"] for osd in by_data[data] for to in osd.get("moves", {}).values() if to["to"])
    lines.append("    disks:")
    for id_ in sorted(named):
        if id_ not in disks:  # gone, and still named by what lay there: no disk that comes is taken for it
            lines.append(f"      {_key(id_)}: {{}}")
            continue
        serial = disks[id_].serial
        recorded = f", serial: {json.dumps(serial)}" if serial else ""
        lines.append(f"      {_key(id_)}: {{size: {disks[id_].size}{recorded}}}")
    return "\n".join(lines) + "\n"


def _osd(data: str, osds: list[Mapping], cls: str) -> list[str]:
    first = osds[0]
    lines = [f"      {_key(data)}:", f"        format: {first['format']}"]
    if all(osd["uuid"] for osd in osds):
        lines.append(f"        uuids: [{', '.join(osd['uuid'] for osd in osds)}]")
    filestore = first["format"] == "filestore"
    for key, word in (("db", "journal" if filestore else "db"), ("wal", "wal")):
        if first[key]:
            lines.append(f"        {word}: {_key(first[key])}")
            if first[f"{key}_size"]:
                lines.append(f"        {word}_size: {first[f'{key}_size']}")
    if moves := first.get("moves"):  # OSDs of one disk move alike
        lines.append("        moves:")
        for key, to in moves.items():
            place = f"to: {_key(to['to'])}, size: {to['size']}" if to["to"] else "to: null"
            lines.append(f"          {key}: {{{place}}}")
    if first["encryption"]:
        lines.append(f"        encryption: {first['encryption']}")
    if len(osds) > 1:
        lines.append(f"        osds_per_device: {len(osds)}")
    return lines


def _key(path: str) -> str:
    return path if _PLAIN.fullmatch(path) else json.dumps(path)


def stored(plan: DiskPlan, answer: Mapping, files: Mapping[str, str], kept: Mapping[str, Mapping]) -> str:
    """The text of proposal.json: the answer, what is known of each disk, and hashes of the files written.

    ``kept`` are hosts of the proposal before that this plan does not cover. What moved since then is not stored:
    populating again would change nothing and find nothing moved."""
    hosts = named(plan, answer)
    hosts |= {host: dict(planned) for host, planned in kept.items()}
    summary = losses.summary(hosts)
    if kept:  # what falls with a device is now a share of all of them
        for host in hosts.values():
            host["devices"] = [dict(device) for device in host.get("devices", ())]
            losses.shares(host, summary["raw_bytes"])
    head = json.dumps({"name": answer["name"], "arguments": answer["arguments"]})[:-1]
    rows = ",\n".join(f"{json.dumps(name)}: {_compact(hosts[name])}" for name in sorted(hosts))
    hashes = ",\n".join(f"{json.dumps(path)}: {json.dumps(files[path])}" for path in sorted(files))
    told = {"warnings": plan.lines(WARNING), "hints": answer["hints"], "summary": summary}
    tail = json.dumps(told)[1:-1]
    return f'{head}, "hosts": {{\n{rows}\n}}, {tail}, "files": {{\n{hashes}\n}}}}\n'


def named(plan: DiskPlan, answer: Mapping) -> dict[str, dict]:
    """The hosts of a plan's JSON form, with what is known of each disk beside its id, as proposal.json has them."""
    return {planned.host.id: _with_names(answer["hosts"][planned.host.id], planned) for planned in plan.hosts}


def _with_names(host: Mapping, planned: PlannedHost) -> dict:
    disks = []
    for entry, disk in zip(host["disks"], planned.host.disks, strict=True):
        told = {"device": disk.device, "serial": disk.serial, "wwn": disk.wwn}
        disks.append({**entry, **told, "vendor": disk.vendor, "model": disk.model, "path": disk.path})
    return {**host, "disks": disks}


def _compact(value: object) -> str:
    return json.dumps(value, separators=(",", ":"))


def digest(text: str) -> str:
    """How proposal.json records the content of a file that populate wrote."""
    return hashlib.sha256(text.encode("utf-8", "surrogateescape")).hexdigest()


def assignments(hosts: Iterable[str], roles: Iterable[str] = FOLDERS) -> dict[str, str]:
    """Cluster and role fragments of every host, by path relative to ``proposals/``."""
    wanted = tuple(roles)
    texts = {}
    for host in sorted(hosts):
        names.check_minion_id(host)
        texts[f"cluster-ceph/cluster/{host}.sls"] = "cluster: ceph\n"
        texts[f"cluster-unassigned/cluster/{host}.sls"] = "cluster: unassigned\n"
        for role in wanted:
            texts[f"role-{role}/cluster/{host}.sls"] = f"roles:\n- {role}\n"
    return texts


def config(fsid: str | None, networks: Mapping[str, str] | None, time_server: str | None) -> dict[str, str]:
    """The two config fragments; what is not known is left out."""
    cluster = {"fsid": fsid, **{key: (networks or {}).get(key) for key in NETWORKS}}
    return {
        "config/stack/default/global.yml": _mapping({"time_server": time_server}),
        "config/stack/default/ceph/cluster.yml": _mapping(cluster),
    }


def _mapping(values: Mapping[str, str | None]) -> str:
    known = {key: value for key, value in values.items() if value}
    for key, value in known.items():
        if not names.is_label(value):
            raise ArgumentError(f"{key} is not acceptable text: '{names.shown(value)}'")
    return "".join(f"{key}: {json.dumps(value)}\n" for key, value in known.items()) or "{}\n"
