"""Which packets this host's nftables (also firewalld's) would not let in."""

import ipaddress
import json
import shutil
from collections.abc import Mapping, Sequence
from fnmatch import fnmatchcase
from typing import Any

import halocline
from salt.exceptions import CommandExecutionError

Tables = dict[tuple[str, str], tuple[dict, dict]]  # by family and name: chains, named sets

LIMIT = 10  # seconds one command may take
COMMAND = ["nft", "--json", "list", "ruleset"]
ENDS = ("accept", "drop", "reject")
PASSES = ("counter", "log", "comment", "mangle", "notrack", "meter")
UNKNOWN = object()


def blocks(packets: Sequence[Mapping]) -> list[dict | None]:
    """Return for each packet the rule that blocks it, ``{rule, sure}``, or None.

    packets
        ``[{source, destination, interface, port}]``: the first packet of a TCP connection.

    CLI Example:

    .. code-block:: bash

        salt 'monnode1' host_nft.blocks '[{source: 10.0.0.2, destination: 10.0.0.1, interface: eth0, port: 3300}]'
    """
    if not packets or not shutil.which("nft"):
        return [None] * len(packets)
    out = halocline.run(COMMAND, ok=None, limit=LIMIT)
    try:
        rules = json.loads(out or "{}")
    except ValueError as err:
        raise CommandExecutionError(f"'{' '.join(COMMAND)}' printed no JSON: {err}") from err
    return [verdict(rules, packet) for packet in packets]


def verdict(ruleset: Mapping, packet: Mapping) -> dict | None:
    """Return the rule of ``nft --json list ruleset`` that blocks a packet, ``{rule, sure}``, or None.

    Every chain that hooks input decides. Not sure: a rule before it, which we do not understand whole, may let
    the packet in. Tables that iptables made are left to ``host_iptables``.

    CLI Example:

    .. code-block:: bash

        salt 'monnode1' host_nft.verdict '{nftables: []}' '{source: 10.0.0.2, destination: 10.0.0.1, port: 22}'
    """
    tables = _tables(ruleset)
    for (family, table), (chains, sets) in tables.items():
        if family not in ("inet", "ip6" if ":" in packet["destination"] else "ip"):
            continue
        for name, chain in sorted(chains.items()):
            if chain.get("hook") != "input" or (name == "INPUT" and family in ("ip", "ip6")):
                continue
            unclear: list[Mapping] = []
            end, rule = _walk(name, chains, sets, packet, unclear)
            end, rule = (end, rule) if end else (chain.get("policy", "accept"), f"policy {chain.get('policy')}")
            if end in ("drop", "reject"):
                return {"rule": f"table {family} {table}, chain {name}: {rule}", "sure": not unclear}
    return None


def _tables(ruleset: Mapping) -> Tables:
    """Chains with their rules, and named sets, of each table."""
    tables: Tables = {}
    for entry in ruleset.get("nftables", []):
        kind, content = next(iter(entry.items()))
        if kind not in ("chain", "rule", "set"):
            continue
        chains, sets = tables.setdefault((content["family"], content["table"]), ({}, {}))
        if kind == "chain":
            chains[content["name"]] = {**content, "rules": []}
        elif kind == "rule":
            chains[content["chain"]]["rules"].append(content)
        else:
            sets[content["name"]] = content.get("elem", [])
    return tables


def _walk(name: str, chains: Mapping, sets: Mapping, packet: Mapping, unclear: list) -> tuple[str | None, str | None]:
    """How a packet leaves a chain, and by which rule; None where it only passes."""
    for rule in chains.get(name, {}).get("rules", []):
        matches, end = _rule(rule["expr"], sets, packet)
        if matches is False or end is None:
            continue
        kind, target = next(iter(end.items()))
        if matches is None:  # understood in part: it may let the packet in, or send it elsewhere
            if kind not in ("drop", "reject"):
                unclear.append(rule)
            continue
        if kind == "return":
            return None, None
        if kind in ENDS:
            return kind, rule.get("comment") or f"{kind} (handle {rule.get('handle')})"
        ended, line = _walk(target["target"], chains, sets, packet, unclear)
        if ended or kind == "goto":
            return ended, line
    return None, None


def _rule(expressions: Sequence[Mapping], sets: Mapping, packet: Mapping) -> tuple[bool | None, Mapping | None]:
    """Whether a rule matches (None: not understood), and its verdict."""
    matches: bool | None = True
    end: Mapping | None = None
    for expression in expressions:
        kind, content = next(iter(expression.items()))
        if kind in (*ENDS, "return", "jump", "goto"):
            end = expression
        elif kind == "match":
            matches = _both(matches, _match(content, sets, packet))
        elif kind == "vmap":
            holds, end = _mapped(content, packet)
            matches = _both(matches, holds)
        elif kind not in PASSES:
            matches = _both(matches, None)
    return matches, end


def _both(left: bool | None, right: bool | None) -> bool | None:
    """Both are true; None where one is not understood."""
    if left is False or right is False:
        return False
    return None if left is None or right is None else True


def _mapped(vmap: Mapping, packet: Mapping) -> tuple[bool | None, Mapping | None]:
    """Whether a map of verdicts holds a packet (None: not understood), and its verdict."""
    value, data = _left(vmap["key"], packet), vmap["data"]
    if value is UNKNOWN or not isinstance(data, dict):
        return None, {"jump": {}}
    return next(((True, end) for key, end in data.get("set", []) if _holds(value, key)), (False, None))


def _match(match: Mapping, sets: Mapping, packet: Mapping) -> bool | None:
    """Whether one comparison holds; None where it is not understood. What is of another protocol never does."""
    value = _left(match["left"], packet)
    if value is UNKNOWN or value is None:
        return None if value is UNKNOWN else False
    right = match["right"]
    if isinstance(right, str) and right.startswith("@"):
        right = {"set": sets.get(right[1:], [])}
    holds = _holds(value, right)
    return None if holds is None else holds != (match["op"] == "!=")


def _left(left: Mapping, packet: Mapping) -> Any:
    """The value of a packet that is compared; None of another protocol's, UNKNOWN where we do not know it."""
    if "payload" in left:
        field = (left["payload"].get("protocol"), left["payload"].get("field"))
        keys = {("tcp", "dport"): "port", ("th", "dport"): "port"}
        version = "ip6" if ":" in packet["destination"] else "ip"
        keys |= {(version, "saddr"): "source", (version, "daddr"): "destination"}
        if field in keys:
            return packet[keys[field]]
        return None if field[0] in ("udp", "icmp", "icmpv6", "ip6" if version == "ip" else "ip") else UNKNOWN
    if "ct" in left:
        # The first packet of a connection that nothing has translated.
        return {"state": "new", "status": ""}.get(left["ct"].get("key"), UNKNOWN)
    meta = {"iifname": packet.get("interface", ""), "iif": packet.get("interface", ""), "l4proto": "tcp"}
    meta["nfproto"] = "ipv6" if ":" in packet["destination"] else "ipv4"
    return meta.get(left.get("meta", {}).get("key"), UNKNOWN)


def _holds(value: Any, right: Any) -> bool | None:
    """Whether a value is, or is in, the right side; ``value`` None is of another protocol."""
    if value is None:
        return False
    if isinstance(right, dict) and "set" in right:
        right = right["set"]
    if isinstance(right, list):
        answers = [_holds(value, element) for element in right]
        if True in answers:
            return True
        return None if None in answers else False
    if isinstance(right, dict) and "elem" in right:
        return _holds(value, right["elem"].get("val"))
    if isinstance(right, dict) and "range" in right:
        low, high = right["range"]
        return low <= value <= high if isinstance(value, int) else int(_ip(low)) <= int(_ip(value)) <= int(_ip(high))
    if isinstance(right, dict) and "prefix" in right:
        network = f"{right['prefix']['addr']}/{right['prefix']['len']}"
        return _ip(value) in ipaddress.ip_network(network, strict=False)
    if isinstance(right, int | str):
        return value == right if isinstance(value, int) else fnmatchcase(value, str(right))
    return None


def _ip(text: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address:
    return ipaddress.ip_address(text)
