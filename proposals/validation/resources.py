"""Checks of what a host has to give: memory, space, ports that nothing blocks or takes."""

import re
from collections.abc import Iterable, Mapping

from proposals.text.sizes import GIB
from proposals.validation.check import ERROR, HOSTS, WARNING, Check, Found, at
from proposals.validation.subject import Subject

TARGET = 4 * GIB  # osd_memory_target, Ceph's default
LEAST = 896 << 20  # its minimum (src/common/options/global.yaml.in)
SHARE = 0.8  # of memory: a fifth is for spikes and the rest of the host
SIZE = re.compile(r"(?P<number>[0-9]{1,15}) *(?P<unit>[KMGT]?)i?B?")  # as Ceph reads one (common/strtol.cc)
LOW, FULL = 0.30, 0.05  # mon_data_avail_warn, mon_data_avail_crit
STORE = 15 * GIB  # mon_data_size_warn: what a monitor's store may grow to before Ceph warns
HARDWARE = "docs.ceph.com, start/hardware-recommendations"


def memory(subject: Subject) -> Iterable[Found]:
    """Hosts whose planned OSDs want more than they have: with the osd_memory_target that fits."""
    target = _target(subject.settings)
    for minion, osds in sorted(subject.osds.items()):
        facts = subject.hosts.get(minion)
        if facts and osds * target > facts.memory * SHARE:
            fits = int(facts.memory * SHARE / osds)
            how = f"osd_memory_target = {fits}" if fits >= LEAST else f"plan fewer OSDs: each needs {LEAST >> 20} MiB"
            wants = {"wants": f"{osds * target / GIB:.4g}", "each": f"{target / GIB:.4g}"}
            yield at(minion, osds=osds, **wants, has=f"{facts.memory / GIB:.1f}", how=how)


def _target(settings: Mapping[str, object]) -> int:
    """The bytes that an OSD aims at: the site's ``ceph_config``, or Ceph's default."""
    config = settings.get("ceph_config")
    for section in ("osd", "global"):
        options = config.get(section) if isinstance(config, Mapping) else None
        given = options.get("osd_memory_target") if isinstance(options, Mapping) else None
        if found := SIZE.fullmatch(str(given)):
            return int(found["number"]) << 10 * " KMGT".index(found["unit"] or " ")
    return TARGET


def mon_full(subject: Subject) -> Iterable[Found]:
    """Monitors that would stop for lack of space."""
    for minion, space in _spaces(subject):
        if space["free"] < FULL * space["total"]:
            yield at(minion, **_space(space))


def mon_space(subject: Subject) -> Iterable[Found]:
    """Monitors with little space."""
    for minion, space in _spaces(subject):
        if space["free"] >= FULL * space["total"] and (space["free"] < LOW * space["total"] or space["free"] < STORE):
            yield at(minion, **_space(space))


def _spaces(subject: Subject) -> Iterable[tuple[str, Mapping]]:
    yield from ((minion, subject.hosts[minion].space) for minion in subject.members("mon") if minion in subject.hosts)


def _space(space: Mapping) -> dict:
    share = 100 * space["free"] // space["total"] if space["total"] > 0 else 0
    return {"path": space["path"], "free": f"{space['free'] / GIB:.1f}", "share": share}


def firewall(subject: Subject) -> Iterable[Found]:
    """Ports of a host's daemons that a rule blocks for certain."""
    yield from _blocked(subject, sure=True)


def firewall_unclear(subject: Subject) -> Iterable[Found]:
    """Ports that a rule blocks, after another that we cannot read and that may let them in."""
    yield from _blocked(subject, sure=False)


def _blocked(subject: Subject, sure: bool) -> Iterable[Found]:
    for minion, facts in sorted(subject.hosts.items()):
        rules: dict[str, tuple[set[int], set[str]]] = {}
        for one in facts.blocked:
            if one["sure"] is sure:
                ports, networks = rules.setdefault(one["rule"], (set(), set()))
                ports.add(one["port"])
                networks.add(one["network"])
        for rule, (ports, networks) in sorted(rules.items()):
            yield at(minion, ports=_list(ports), network=_list(networks), rule=rule)


def _list(values: Iterable) -> str:
    return ", ".join(map(str, sorted(values)))


def port_taken(subject: Subject) -> Iterable[Found]:
    """Ports of a host's daemons that another process holds."""
    for minion, facts in sorted(subject.hosts.items()):
        for one in facts.listening:
            if one["process"] != one["wanted"]:
                yield at(minion, port=one["port"], process=one["process"] or "another process", wanted=one["wanted"])


OPEN = (
    "open them there: TCP 3300 and 6789 for monitors, 6800-7300 for managers and OSDs ('firewall-cmd --permanent "
    "--add-service=ceph-mon --add-service=ceph && firewall-cmd --reload', or rules of your own)"
)
PORTS = "docs.ceph.com, rados/configuration/network-config-ref (IP tables)"
CHECKS = (
    Check(
        *("memory", WARNING, HOSTS, "four fifths of a host's memory hold its OSDs' memory targets"),
        "OSDs: {osds}, which aim at {wants} GiB ({each} GiB each); the host has {has} GiB",
        "what fits: {how} (section osd of the site's ceph_config), or more memory",
        memory,
        HARDWARE + " (memory)",
    ),
    Check(
        *("mon_full", ERROR, HOSTS, "monitors have the space that they run with"),
        "{free} GiB ({share} %) are free at {path}: a monitor stops below 5 %",
        "make room there, or give /var/lib/ceph a file system of its own",
        mon_full,
        "docs.ceph.com, rados/configuration/mon-config-ref (mon_data_avail_crit)",
    ),
    Check(
        *("mon_space", WARNING, HOSTS, "monitors have space to grow"),
        "{free} GiB ({share} %) are free at {path}: Ceph warns below 30 %, a monitor's store may grow to 15 GiB",
        "make room there, or give /var/lib/ceph a file system of its own",
        mon_space,
        "docs.ceph.com, rados/configuration/mon-config-ref (mon_data_avail_warn, mon_data_size_warn)",
    ),
    Check(
        *("firewall", ERROR, HOSTS, "no firewall blocks Ceph's ports"),
        "TCP {ports} from {network} are blocked by: {rule}",
        OPEN,
        firewall,
        PORTS,
    ),
    Check(
        *("firewall_unclear", WARNING, HOSTS, "no firewall may block Ceph's ports"),
        "TCP {ports} from {network} may be blocked by: {rule}; a rule before it is not understood",
        OPEN,
        firewall_unclear,
        PORTS,
    ),
    Check(
        *("port_taken", ERROR, HOSTS, "nothing else listens on Ceph's ports"),
        "{process} listens on TCP {port}, which {wanted} needs",
        "stop it: 'ss -tlnp sport = :{port}' there shows it",
        port_taken,
        PORTS,
    ),
)
