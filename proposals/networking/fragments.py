"""The text of every file of a network proposal: plain YAML, one file a host, so that policy.cfg can choose."""

import json
from collections.abc import Mapping
from functools import partial

import yaml

from proposals.files.site import minion_file
from proposals.networking.hostplan import HostNetwork, Link
from proposals.networking.plan import NetworkPlan
from proposals.policy.populate_decision import Wanted
from proposals.settings.cluster import NETWORKS

Dumper = getattr(yaml, "CSafeDumper", yaml.SafeDumper)
CLUSTER = "stack/default/ceph/cluster.yml"


def wanted(plan: NetworkPlan) -> Wanted:
    """The files that a plan asks for, by path relative to ``network-NAME``."""
    answer = plan.as_dict()
    networks = {key: answer["networks"][key] for key in NETWORKS if answer["networks"][key]}
    files = {CLUSTER: _text(networks)} if networks else {}
    for planned in plan.hosts:
        if planned.links:
            files[minion_file(planned.host.id)] = _text({"ceph": {"network": network(planned, plan)}})
    return Wanted(
        plan.arguments.name, frozenset(planned.host.id for planned in plan.hosts), files, partial(_stored, answer)
    )


def network(planned: HostNetwork, plan: NetworkPlan) -> dict:
    """What one host is told: its links, where each port must sit, its gateway."""
    links = {link.name: _link(link, plan) for link in planned.links}
    ports = {port for link in planned.links for port in link.ports or ((link.name,) if link.kind == "ethernet" else ())}
    return {"links": links, "ports": {name: planned.host.nics[name].path for name in sorted(ports)}}


def _link(link: Link, plan: NetworkPlan) -> dict:
    wanted = plan.arguments
    assigned: dict = {"kind": link.kind, "mtu": link.mtu, "addresses": list(link.addresses)}
    if link.kind == "vlan":
        assigned |= {"lower": link.lower, "id": link.id}
    if link.kind == "bond":
        assigned |= {"ports": list(link.ports), "mode": wanted.mode, "miimon": 100}
        if wanted.mode == "802.3ad":
            assigned |= {"lacp_rate": wanted.lacp_rate, "xmit_hash_policy": wanted.hash, "min_links": 1}
    return assigned | ({"gateway": link.gateway} if link.gateway else {})


def _text(content: Mapping) -> str:
    return yaml.dump(content, Dumper=Dumper, sort_keys=False, default_flow_style=None, width=200)


def _stored(answer: Mapping, files: Mapping[str, str], kept: Mapping[str, Mapping]) -> str:
    """The text of proposal.json: the answer, one line a host, and hashes of the files written."""
    hosts = {**answer["hosts"], **kept}
    rows = ",\n".join(f"{json.dumps(name)}: {json.dumps(hosts[name])}" for name in sorted(hosts))
    hashes = ",\n".join(f"{json.dumps(path)}: {json.dumps(files[path])}" for path in sorted(files))
    head = ", ".join(f"{json.dumps(key)}: {json.dumps(answer[key])}" for key in ("name", "arguments", "networks"))
    tail = ", ".join(f"{json.dumps(key)}: {json.dumps(answer[key])}" for key in ("warnings", "hints", "summary"))
    return f'{{{head}, "hosts": {{\n{rows}\n}}, {tail}, "files": {{\n{hashes}\n}}}}\n'
