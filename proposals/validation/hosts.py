"""Checks of hosts beside each other: clocks, names, versions, identity."""

import re
from collections import Counter
from collections.abc import Callable, Iterable
from typing import TypeVar

from proposals.validation.check import ERROR, HOSTS, WARNING, Check, Found, at
from proposals.validation.subject import Subject

Value = TypeVar("Value")
DRIFT = 0.05  # seconds; mon_clock_drift_allowed: from here on monitors warn (MON_CLOCK_SKEW)
LEASE = 5.0  # seconds; mon_lease: from here on a quorum cannot hold
OLDEST = 16  # Ceph's release (Pacific): monitors are made with --set-min-mon-release pacific
VERSION = re.compile(r"(?:\d+:)?((\d+)\.\d+(?:\.\d+)?)")  # 16.2.15+ds-0+deb12u1, 2:17.2.6-4.el9
NO_SERIAL = re.compile(r"(?i)[0 .x-]*|(not|to be|default|system|none|n/a|unknown|o\.e\.m|123456).*")


def odd(subject: Subject) -> Iterable[Found]:
    """Hosts that answer, but not what was asked."""
    yield from (at(minion, why=why) for minion, why in sorted(subject.failed.items()))


def silent(subject: Subject) -> Iterable[Found]:
    """Hosts that do not answer."""
    yield from (at(minion) for minion in sorted(subject.silent))


def generation(subject: Subject) -> Iterable[Found]:
    """Hosts that were told another generation than the master serves."""
    for minion, facts in sorted(subject.hosts.items()):
        if facts.generation != subject.generation:
            yield at(minion, found=facts.generation, expected=subject.generation)


def hostname(subject: Subject) -> Iterable[Found]:
    """Hosts that were renamed since discovery."""
    for minion, facts in sorted(subject.hosts.items()):
        if (seen := subject.hostnames.get(minion)) and seen != facts.hostname:
            yield at(minion, found=facts.hostname, seen=seen)


def nodename(subject: Subject) -> Iterable[Found]:
    """Hosts without a daemon that Salt and Ceph would call by two names: what one asks of, the other would not know."""
    yield from _two_names(subject, False)


def nodename_kept(subject: Subject) -> Iterable[Found]:
    """Hosts that have daemons under two names: to rename one is no small thing."""
    yield from _two_names(subject, True)


def _two_names(subject: Subject, daemons: bool) -> Iterable[Found]:
    for minion, facts in sorted(subject.hosts.items()):
        if facts.nodename != facts.hostname and (facts.osds or facts.monitor) is daemons:
            yield at(minion, found=facts.nodename, seen=facts.hostname)


def clock_far(subject: Subject) -> Iterable[Found]:
    """Clocks that a quorum cannot live with."""
    yield from (at(minion, off=_off(off)) for minion, off in _offsets(subject) if abs(off) >= LEASE)


def clock(subject: Subject) -> Iterable[Found]:
    """Clocks that monitors would warn of."""
    yield from (at(minion, off=_off(off)) for minion, off in _offsets(subject) if DRIFT <= abs(off) < LEASE)


def _offsets(subject: Subject) -> Iterable[tuple[str, float]]:
    """How far each clock is off for certain: what it showed lies before the question, or after the last answer."""
    for minion, facts in sorted(subject.hosts.items()):
        behind, ahead = -facts.clock[0], facts.clock[1] - subject.took.get(minion, 0.0)
        yield minion, -behind if behind > 0 else max(ahead, 0.0)


def _off(seconds: float) -> str:
    return f"{abs(seconds):.2f} s {'behind' if seconds < 0 else 'ahead of'} the master's clock"


def unsynchronised(subject: Subject) -> Iterable[Found]:
    """Hosts whose kernel says that its clock is not synchronised; containers cannot say."""
    yield from (at(minion) for minion, facts in sorted(subject.hosts.items()) if facts.synchronised is False)


def name_forward(subject: Subject) -> Iterable[Found]:
    """Names that lead to no address, or to another one than ours."""
    for minion, facts in sorted(subject.hosts.items()):
        for name, one in sorted(facts.names.items()):
            if one["expected"] not in one["addresses"]:
                yield at(minion, name=name, found=", ".join(one["addresses"]) or "nothing", expected=one["expected"])


def name_back(subject: Subject) -> Iterable[Found]:
    """Addresses that have no name, or one that leads elsewhere."""
    for minion, facts in sorted(subject.hosts.items()):
        for one in facts.names.values():
            if one["expected"] in one["addresses"] and one["expected"] not in one["back_addresses"]:
                leads = f"the name {one['back']}, which leads elsewhere" if one["back"] else "no name"
                yield at(minion, address=one["expected"], leads=leads)


def machine_twice(subject: Subject) -> Iterable[Found]:
    """Machine ids that several hosts have: clones."""
    yield from _shared(subject, lambda facts: facts.machine_id)


def serial_twice(subject: Subject) -> Iterable[Found]:
    """Serial numbers that several hosts have; what makers fill in for none does not count."""
    yield from _shared(subject, lambda facts: "" if NO_SERIAL.fullmatch(facts.serial) else facts.serial)


def _shared(subject: Subject, of: Callable) -> Iterable[Found]:
    owners: dict[str, list[str]] = {}
    for minion, facts in sorted(subject.hosts.items()):
        if value := of(facts):
            owners.setdefault(value, []).append(minion)
    yield from (at(*who, value=value) for value, who in owners.items() if len(who) > 1)


def salt_version(subject: Subject) -> Iterable[Found]:
    """Minions of another version than the master."""
    for minion, facts in sorted(subject.hosts.items()):
        if subject.salt and facts.salt != subject.salt:
            yield at(minion, found=facts.salt, master=subject.salt)


def ceph_old(subject: Subject) -> Iterable[Found]:
    """Ceph from before what the product deploys."""
    yield from (at(minion, found=found) for minion, found, release in _ceph(subject) if release < OLDEST)


def ceph_release(subject: Subject) -> Iterable[Found]:
    """Hosts of another release of Ceph than most."""
    most = _most(release for _, _, release in _ceph(subject))
    yield from (at(minion, found=found, most=most) for minion, found, release in _ceph(subject) if release != most)


def ceph_version(subject: Subject) -> Iterable[Found]:
    """Hosts of the same release, but of another version than most."""
    seen = list(_ceph(subject))
    usual, most = _most(release for _, _, release in seen), _most(found for _, found, _ in seen)
    yield from (at(minion, found=found, most=most) for minion, found, rel in seen if found != most and rel == usual)


def _ceph(subject: Subject) -> Iterable[tuple[str, str, int]]:
    """Each version of a Ceph package that is installed: minion, version, release."""
    for minion, facts in sorted(subject.hosts.items()):
        for text in sorted(set(facts.ceph.values())):
            if found := VERSION.match(text):
                yield minion, found[1], int(found[2])


def _most(values: Iterable[Value]) -> Value | None:
    counts = Counter(values)
    return max(counts, key=lambda value: (counts[value], str(value)), default=None)


RESOLVE = "every host and the name service (/etc/hosts or DNS) shall give it the same: 'getent hosts {}' there"
CHECKS = (
    Check(
        *("facts", ERROR, HOSTS, "every host that answers says what it is"),
        "{why}",
        "run ceph.stage.prep, or take the host out of policy.cfg",
        odd,
    ),
    Check(
        *("silent", WARNING, HOSTS, "every host answers"),
        "does not answer: stages go on without it",
        "start its salt-minion ('salt-run manage.status'), or take the host out of policy.cfg",
        silent,
    ),
    Check(
        *("generation", ERROR, HOSTS, "every minion's pillar is the generation that the master serves"),
        "was told generation {found}, the master serves {expected}",
        "run ceph.stage.configure again",
        generation,
    ),
    Check(
        *("hostname", ERROR, HOSTS, "host names are those that discovery saw"),
        "is named {found} now, discovery saw {seen}: daemons carry the host's name",
        "rename it back ('hostnamectl set-hostname {seen}'), or run discovery and configure again",
        hostname,
    ),
    Check(
        *("nodename", ERROR, HOSTS, "a host's name is the same to the kernel and to the resolver"),
        "Ceph would call it {found}, as the kernel does, and Salt calls it {seen}, as the resolver does",
        "make 'hostname' and the first name of its address in /etc/hosts equal, then run discovery and configure again",
        nodename,
        "Ceph's src/crush/CrushLocation.cc; Salt's grain host",
    ),
    Check(
        *("nodename_kept", WARNING, HOSTS, "a host that has daemons has one name, to the kernel and to the resolver"),
        "the kernel, and so Ceph's map of OSDs, calls it {found}, and Salt {seen}: noout, ok-to-stop, crush.place do "
        "not find its OSDs there",
        "of a host of OSDs alone let /etc/hosts name it {found} first, run discovery and configure; another name of "
        "the kernel moves its OSDs' data at their next start; a monitor or manager carries Salt's name: move it first",
        nodename_kept,
        "Ceph's src/crush/CrushLocation.cc; Salt's grain host",
    ),
    Check(
        *("clock_far", ERROR, HOSTS, f"clocks are less than {LEASE:.0f} s apart"),
        "its clock is at least {off}: monitors could hold no quorum",
        "set its clock ('chronyc makestep' there) and look at 'chronyc sources'",
        clock_far,
        "docs.ceph.com, rados/configuration/mon-config-ref (mon_lease)",
    ),
    Check(
        *("clock", WARNING, HOSTS, f"clocks are less than {DRIFT} s apart, as far as a Salt job can tell"),
        "its clock is at least {off}: monitors warn from 0.05 s on",
        "look at 'chronyc tracking' there",
        clock,
        "docs.ceph.com, rados/configuration/mon-config-ref (mon_clock_drift_allowed)",
    ),
    Check(
        *("unsynchronised", WARNING, HOSTS, "a time service sets every clock"),
        "its clock is not synchronised",
        "run ceph.stage.prep, which sets up chrony, and look at 'chronyc sources' there",
        unsynchronised,
        "docs.ceph.com, install/get-packages (time synchronisation)",
    ),
    Check(
        *(
            "name_forward",
            WARNING,
            HOSTS,
            "names of the host itself, the monitors and the master lead to their addresses",
        ),
        "{name} leads to {found}, expected {expected}",
        RESOLVE.format("{name}"),
        name_forward,
    ),
    Check(
        *("name_back", WARNING, HOSTS, "these addresses lead back to names that lead to them"),
        "{address} has {leads}",
        RESOLVE.format("{address}"),
        name_back,
    ),
    Check(
        *("machine_id", WARNING, HOSTS, "every host has a machine id of its own"),
        "have the same machine id {value}, as clones of one image do: DHCP may give them one address",
        "on all but one: 'rm -f /etc/machine-id /var/lib/dbus/machine-id && systemd-machine-id-setup', then reboot",
        machine_twice,
        "machine-id(5)",
    ),
    Check(
        *("serial", WARNING, HOSTS, "every machine has a serial number of its own"),
        "have the same serial number {value}: one machine under several ids?",
        "look at 'dmidecode -s system-serial-number' there; take the id that is too many out of policy.cfg",
        serial_twice,
    ),
    Check(
        *("salt_version", WARNING, HOSTS, "minions run the master's version of Salt"),
        "runs Salt {found}, the master {master}",
        "install the master's version there",
        salt_version,
        "docs.saltproject.io, ref/releases (a master is to be as new as its minions)",
    ),
    Check(
        *("ceph_old", ERROR, HOSTS, f"Ceph is of release {OLDEST} or newer"),
        f"has Ceph {{found}}, expected {OLDEST} or newer",
        "give the host a package source of a newer release and run ceph.stage.prep",
        ceph_old,
    ),
    Check(
        *("ceph_release", ERROR, HOSTS, "Ceph is of one release everywhere"),
        "has Ceph {found}, most hosts have release {most}",
        "use the same package sources on all hosts and run ceph.stage.prep",
        ceph_release,
    ),
    Check(
        *("ceph_version", WARNING, HOSTS, "Ceph is of one version everywhere"),
        "has Ceph {found}, most hosts have {most}",
        "update the packages of the older ones",
        ceph_version,
    ),
)
