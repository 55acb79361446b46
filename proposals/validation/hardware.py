"""Checks of machines before they matter: how they start, cores and memory, memory errors, RAID, firmware, cables."""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from fnmatch import fnmatchcase

from proposals.text.sizes import GIB
from proposals.validation.check import MACHINES, WARNING, Check, Found, at
from proposals.validation.resources import HARDWARE, TARGET
from proposals.validation.subject import Subject

# Threads and GiB that a daemon of each role asks for, beside the OSDs: one thread and a memory target each.
NEEDS = {"mon": (2, 2), "mgr": (2, 2), "mds": (2, 4), "rgw": (6, 32)}
NEEDED = f"{HARDWARE} (minimum); of gateways the SUSE Enterprise Storage guide for HPE Apollo 4510"
WELL = re.compile(r"(?i)opt(imal|l)|ok|not configured")  # a volume or battery; HPE: a controller without cache
ASLEEP = ("powersave", "conservative", "userspace")


def unknown(subject: Subject) -> Iterable[Found]:
    """Hosts of whose machine nothing is known, and vendors' tools that do not answer."""
    yield from (at(minion, why=why) for minion, why in sorted(subject.unknown.items()))
    yield from _each(subject, lambda machine: ({"why": why} for why in machine.failed))


def boot(subject: Subject) -> Iterable[Found]:
    """Hosts that start otherwise than the site says, or than most where it says nothing."""
    counts = Counter(machine.boot for machine in subject.hardware.values() if machine.boot)
    usual = subject.site["machines"]["boot"] or max(counts, key=lambda mode: (counts[mode], mode), default="")
    for minion, machine in sorted(subject.hardware.items()):
        if machine.boot not in ("", usual):
            yield at(minion, found=machine.boot, expected=usual)


def cores(subject: Subject) -> Iterable[Found]:
    """Hosts with fewer threads than their roles and OSDs ask for; a container's are not known."""
    for minion, machine in sorted(subject.hardware.items()):
        wants = _wants(subject, minion, 0) + subject.osds.get(minion, 0)
        if 0 < machine.threads < wants:
            yield at(minion, has=machine.threads, wants=wants)


def role_memory(subject: Subject) -> Iterable[Found]:
    """Hosts whose roles beside OSDs ask for more memory than OSDs leave; a container's is not its own."""
    for minion, machine in sorted(subject.hardware.items()):
        wants = _wants(subject, minion, 1) * GIB
        if machine.threads and wants and minion in subject.hosts:
            osds, has = subject.osds.get(minion, 0) * TARGET, subject.hosts[minion].memory
            if wants + osds > has:
                yield at(minion, wants=wants // GIB, osds=osds // GIB, has=f"{has / GIB:.1f}")


def _wants(subject: Subject, minion: str, what: int) -> int:
    return sum(NEEDS[role][what] for role in subject.roles.get(minion, ()) if role in NEEDS)


def governor(subject: Subject) -> Iterable[Found]:
    """Hosts of daemons whose cores are slow to wake."""
    for minion, machine in sorted(subject.hardware.items()):
        asleep = [name for name in machine.governors if name in ASLEEP]
        if asleep and {*NEEDS, "storage"} & set(subject.roles.get(minion, ())):
            yield at(minion, found=", ".join(asleep))


def memory_uncorrected(subject: Subject) -> Iterable[Found]:
    """Memory that gave wrong data since the host started."""
    yield from _each(subject, lambda machine: filter(lambda one: one["uncorrected"] > 0, machine.memory_errors))


def memory_corrected(subject: Subject) -> Iterable[Found]:
    """Memory whose errors were corrected since the host started, and none that were not."""
    yield from _each(
        subject,
        lambda machine: (one for one in machine.memory_errors if one["corrected"] > 0 >= one["uncorrected"]),
    )


def raid_volume(subject: Subject) -> Iterable[Found]:
    """RAID volumes that are not whole."""
    yield from _each(subject, lambda machine: _unwell(machine.raid, "volumes"))


def raid_battery(subject: Subject) -> Iterable[Found]:
    """Batteries and capacitors of RAID caches that are not well."""
    yield from _each(subject, lambda machine: _unwell(machine.raid, "batteries"))


def _unwell(controllers: Iterable[Mapping], what: str) -> Iterable[Mapping]:
    for one in controllers:
        for part in one[what]:
            if not WELL.fullmatch(part["state"]):
                yield {"tool": one["tool"], "model": one["model"], **part}


def firmware(subject: Subject) -> Iterable[Found]:
    """Parts whose firmware is none of those that the site's table names for their model."""
    table = subject.site["machines"]["firmware"]
    for minion, machine in sorted(subject.hardware.items()):
        for part in machine.firmware:
            levels = (table or {}).get(part["kind"], {})
            named = [right for model, right in levels.items() if fnmatchcase(part["model"], model)]
            if named and part["version"] not in (right := [version for each in named for version in each]):
                yield at(minion, **part, right=", ".join(right))


def one_switch(subject: Subject) -> Iterable[Found]:
    """Bonds whose ports all lead to one switch, where most hosts' bonds lead to several."""
    led = {
        (minion, bond): {one["switch"] for one in machine.neighbours if one["port"] in ports}
        for minion, machine in subject.hardware.items()
        for bond, ports in machine.bonds.items()
        if len([one for one in machine.neighbours if one["port"] in ports and one["switch"]]) > 1
    }
    several = sum(len(switches) > 1 for switches in led.values())
    for (minion, bond), switches in sorted(led.items()):
        if len(switches) == 1 and 2 * several > len(led):
            yield at(minion, bond=bond, switch=next(iter(switches)))


def _each(subject: Subject, look: Callable) -> Iterable[Found]:
    """What a look at each machine finds."""
    for minion, machine in sorted(subject.hardware.items()):
        yield from (at(minion, **values) for values in look(machine))


CHECKS = (
    Check(
        *("machine", WARNING, MACHINES, "every host tells what its machine is"),
        "{why}",
        "run ceph.stage.prep, which brings the module; of a vendor's tool: run it there by hand",
        unknown,
    ),
    Check(
        *("boot", WARNING, MACHINES, "hosts start as the site says, or else all the same way, by UEFI or BIOS"),
        "starts by {found}, expected {expected}",
        "change it in the machine's setup before anything is installed there, or say machines: boot",
        boot,
        "the SUSE Enterprise Storage guide for HPE Apollo 4510 (UEFI on all nodes)",
    ),
    Check(
        *("cores", WARNING, MACHINES, "hosts have the threads that their roles and OSDs ask for"),
        "threads: {has}; its roles and OSDs ask for {wants}",
        "plan fewer OSDs or roles there, or a machine with more cores",
        cores,
        NEEDED,
        size=True,
    ),
    Check(
        *("role_memory", WARNING, MACHINES, "hosts have the memory that their roles beside OSDs ask for"),
        "its roles ask for {wants} GiB beside {osds} GiB of OSDs; the host has {has} GiB",
        "give some of its roles to another host, or more memory",
        role_memory,
        NEEDED,
        size=True,
    ),
    Check(
        *("governor", WARNING, MACHINES, "cores of daemons' hosts run at their full clock"),
        "the governor of its cores is {found}",
        "'cpupower frequency-set -g performance' there, kept by a TuneD profile ([cpu] governor=performance)",
        governor,
        "kernel.org, admin-guide/pm/cpufreq (scaling governors)",
    ),
    Check(
        *("memory_uncorrected", WARNING, MACHINES, "no memory gave wrong data"),
        "errors of memory that could not be corrected: {uncorrected} ({where})",
        "replace the module before the host holds data: 'ras-mc-ctl --errors' and the machine's own log name it",
        memory_uncorrected,
        "kernel.org, admin-guide/RAS (ue_count)",
    ),
    Check(
        *("memory_corrected", WARNING, MACHINES, "memory has no errors that had to be corrected"),
        "errors of memory that were corrected: {corrected} ({where})",
        "see whether they get more ('ras-mc-ctl --error-count'): the module may fail",
        memory_corrected,
        "kernel.org, admin-guide/RAS (ce_count)",
    ),
    Check(
        *("raid_volume", WARNING, MACHINES, "RAID volumes are whole, as the vendor's tool says"),
        "{model}: volume {name} is {state}",
        "look with {tool} there which disk it lacks, and replace that",
        raid_volume,
        "StorCLI Reference Manual (Optl); HPE Smart Storage Administrator User Guide",
    ),
    Check(
        *("raid_battery", WARNING, MACHINES, "batteries of RAID caches are well, as the vendor's tool says"),
        "{model}: {name} is {state}: its cache may not write back, or lose data with the power",
        "replace the battery or capacitor ({tool} there tells more)",
        raid_battery,
        "StorCLI Reference Manual (Optimal); HPE Smart Storage Administrator User Guide",
    ),
    Check(
        *("firmware", WARNING, MACHINES, "firmware is what the site's table names for the model"),
        "{kind} {model} has firmware {version}, the site names {right}",
        "bring it to that level, or change machines: firmware",
        firmware,
    ),
    Check(
        *("one_switch", WARNING, MACHINES, "a bond's ports lead to as many switches as most hosts' do (LLDP)"),
        "all ports of {bond} lead to {switch}, other hosts' bonds to several switches",
        "move a cable, or see 'salt-run networks.cables'",
        one_switch,
        "IEEE 802.1AB",
    ),
)
