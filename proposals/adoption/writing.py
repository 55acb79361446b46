"""What an adoption writes: the site's fragments, each host's record, a policy.cfg that changes nothing.

Below ``proposals``: ``adopted/`` holds what was found, in policy.cfg's own form: a first folder, then a target.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from proposals.adoption import conf, judging, serving
from proposals.adoption.found import Cluster, Host
from proposals.files.site import minion_file
from proposals.pillar import secrets
from proposals.pillar.generation import dump
from proposals.services import cephfs
from proposals.services.radosgw import gateways
from proposals.settings.kinds import is_name
from proposals.text.names import shown

CLUSTER = "adopted/stack/default/ceph/cluster.yml"
# An OSD writes it into its own section when it first starts: on another disk it is another (src/osd/OSD.cc)
MEASURED = re.compile(r"osd\.[0-9]+ (?P<option>osd_mclock_max_capacity_iops_(hdd|ssd))")
MODULE = "mgr/"  # an option of a manager's module: the module's own
CRASH = "client.crash"
RECLAIM = "auth_allow_insecure_global_id_reclaim"  # whether monitors take clients from before the fix of CVE-2021-20288


class Written(NamedTuple):
    """The files below ``proposals``, policy.cfg's lines, the fragments of ceph.conf, and what was left out of them."""

    files: dict[str, str]
    policy: list[str]
    fragments: dict[str, str]
    left: list[str]


def written(hosts: Sequence[Host], cluster: Cluster, master: str) -> Written:
    """Return all that taking a cluster in writes on the master, but for its keys.

    master
        The minion on the master's host.
    """
    members = judging.members(hosts, cluster)
    taken = [host for host in hosts if host.conf or any(host.minion in minions for minions in members.values())]
    options, left = central(cluster.config)
    left += [f"file system {shown(name)}: no name that stages know: left alone" for name in _odd(cluster)]
    lines = conf.fragments(cluster.conf)
    settings = _settings(cluster, options, taken_keys(hosts, cluster)) | _gateways(
        hosts, cluster, lines.texts.get("client", "")
    )
    files = {CLUSTER: dump(settings)}
    for host in taken:
        files[f"adopted/{minion_file(host.minion)}"] = dump(_record(host, cluster))
        if host.minion in members["storage"]:
            files[f"adopted/cluster/{host.minion}.sls"] = "roles:\n- storage\n"
    policy = _policy(members, sorted({host.minion for host in taken} | {master}), master)
    return Written(files, policy, lines.texts, [*left, *(f"ceph.conf {line}" for line in lines.left)])


def taken_keys(hosts: Sequence[Host], cluster: Cluster) -> dict[str, str]:
    """Return the keys that the master takes: those that deploy gives hosts. All others stay the cluster's alone."""
    managers = {f"mgr.{host.hostname}" for host in hosts if host.hostname in cluster.managers}
    serve, served = set(serving.servers(hosts, cluster)), serving.gateways(hosts, cluster)
    servers = {f"mds.{host.hostname}" for host in hosts if host.minion in serve}
    servers |= {f"client.rgw.{host.hostname}" for host in hosts if host.minion in served}
    ours = managers | servers | (secrets.CAPS.keys() - {"mgr."})
    return {name: key for name, key in sorted(cluster.keys.items()) if name in ours}


def central(rows: Sequence[Mapping[str, str]]) -> tuple[dict[str, dict[str, str]], list[str]]:
    """Return the central configuration as ``ceph_config`` has it, and a line for each option that is not written."""
    options: dict[str, dict[str, str]] = {}
    left = []
    for row in rows:
        section = "/".join(filter(None, (row["section"], row["mask"])))
        if found := MEASURED.fullmatch(f"{section} {row['name']}"):
            left.append(f"ceph config osd.* {found['option']}: OSDs measure it themselves: it stays as they say")
        elif why := _unwritten(row):
            left.append(f"ceph config {shown(section)} {shown(row['name'])}: {why}: it stays in the cluster as it is")
        else:
            options.setdefault(section, {})[row["name"]] = row["value"]
    return options, list(dict.fromkeys(left))


def _unwritten(row: Mapping[str, str]) -> str:
    if row["name"].startswith(MODULE):
        return "an option of a manager's module"
    if conf.SECRET.search(row["name"]):
        return "may be a secret, which no file here may hold"
    if any(mark in text for mark in conf.TEMPLATE for text in row.values()):
        return "holds what Salt would run as a template"
    return ""


def _settings(cluster: Cluster, options: Mapping[str, Mapping[str, str]], taken: Iterable[str]) -> dict[str, Any]:
    """The settings by which the stages leave the cluster as it was made."""
    known = [name for name in sorted(taken) if name in cluster.caps]
    caps = {name: dict(cluster.caps[name]) for name in known if _differ(name, cluster.caps[name])}
    settings: dict[str, Any] = {"ceph_config": {section: dict(options[section]) for section in sorted(options)}}
    settings |= {"adopted_caps": caps} if caps else {}
    if cluster.file_systems or cluster.servers:
        settings["adopted_file_systems"] = sorted(set(cluster.file_systems) - set(_odd(cluster)))
    settings |= {} if CRASH in cluster.keys else {"crash_reports": False}
    # What the product has for monitors of new clusters would shut such clients out of a new monitor of this one.
    settings |= {"ceph_health": {"mon": {RECLAIM: {"value": "true"}}}} if _takes_old_clients(cluster) else {}
    return settings | ({"ms_bind_msgr2": False} if judging.old_protocol(cluster) else {})


def _takes_old_clients(cluster: Cluster) -> bool:
    """As Ceph's own monitors do where nothing else is said."""
    told = conf.effective(cluster.conf, cluster.config, "mon", RECLAIM)
    return (told or "true").lower() not in ("false", "no", "off", "0")


def _gateways(hosts: Sequence[Host], cluster: Cluster, fragment: str) -> dict[str, Any]:
    """The settings by which the stages leave gateways and the zone's pools as they were made; deploy writes no second
    section of ceph.conf for those that have one in the fragment.
    """
    if not any(host.daemons.get("radosgw") for host in hosts):
        return {}
    taken = serving.gateways(hosts, cluster)
    own = [host.hostname for host in hosts if host.minion in taken]
    names = {"adopted_gateways": sorted(name for name in own if f"[client.rgw.{name}]\n" in fragment)}
    return names | ({"rgw_configurations": {"rgw": {"port": next(iter(taken.values()))}}} if taken else {})


def _odd(cluster: Cluster) -> list[str]:
    """File systems of names that no setting can have."""
    return [name for name in cluster.file_systems if not is_name(name)]


def _differ(name: str, caps: Mapping[str, str]) -> bool:
    kinds = {"mgr.": secrets.CAPS["mgr."], "mds.": cephfs.MDS_CAPS, "client.rgw.": gateways.CAPS}
    ours = next((kinds[kind] for kind in kinds if name.startswith(kind)), None) or secrets.CAPS[name]
    return dict(caps) != dict(ours)


def _record(host: Host, cluster: Cluster) -> dict[str, Any]:
    """What a host had: by this its ceph.conf and its OSDs are known again, and stay as they are."""
    osds = {
        osd.fsid: {"id": osd.id, "form": osd.form, "format": osd.format, "devices": dict(sorted(osd.devices.items()))}
        for osd in host.osds
        if osd.fsid in cluster.osds
    }
    record = {**({"ceph_conf": host.conf} if host.conf else {}), **({"osds": osds} if osds else {})}
    return {"ceph": {"adopted": record, "tuning": "none"}}


def _policy(members: Mapping[str, Sequence[str]], minions: Sequence[str], master: str) -> list[str]:
    """One line a host and role, so that nobody else is drawn in."""
    roles = {
        "master": [master],
        "admin": members["admin"],
        **{role: members[role] for role in ("mon", "mgr", "mds", "rgw")},
    }
    return [
        *(f"cluster-ceph/cluster/{minion}.sls" for minion in minions),
        *(f"role-{role}/cluster/{minion}.sls" for role, named in roles.items() for minion in named),
        "config/stack/default/global.yml",
        "config/stack/default/ceph/cluster.yml",
        *(["adopted/cluster/*.sls"] if members["storage"] else []),
        "adopted/stack/default/ceph/cluster.yml",
        "adopted/stack/default/ceph/minions/*.yml",
    ]
