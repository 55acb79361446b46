"""The table of kernel settings: pillar/ceph/tunings.sls, and what a site says in its form."""

from collections.abc import Mapping
from dataclasses import dataclass

from proposals.settings.kinds import NAME, Choice, Flag, Own, Read, Setting, Text, wrong
from proposals.settings.mappings import Forms, Group, Many, Named
from proposals.text.names import shown

WORDS = Text("a text", str.strip)
DEVICE = Text("vendor:device of a PCI device such as 15b3:1017", lambda text: len(text.split(":")) == 2, numbers=False)
VALUE = Setting(
    "value",
    Own("a text, a number, or true or false", lambda value: isinstance(value, str | int | float) and value != ""),
    "what the kernel or the hardware is told",
    required=True,
)
MORE = (
    Setting("id", NAME, "by which `ceph: tunings_allowed` and `tuning.check` name it", required=True),
    Setting("least", Flag(), "true: a host that has more keeps it", default=False),
    Setting("price", WORDS, "what it costs: it is applied only where `ceph: tunings_allowed` names its id"),
    Setting("meaning", WORDS, "what it does"),
    Setting("source", WORDS, "where it comes from"),
)


@dataclass(frozen=True)
class Tuning(Forms):
    """A row of the table: one of the forms, where a least value is a number."""

    def read(self, key: str, value: object) -> Read:
        key = f"{key}: {shown(value['id'])}" if isinstance(value, Mapping) and value.get("id") else key
        found, problems = super().read(key, value)
        if not problems and isinstance(found, dict) and found["least"] and not str(found.get("value")).isdecimal():
            return None, [wrong(f"{key}: value", found.get("value"), "a whole number, where least is true")]
        return found, problems


class Rows(Many):
    """Rows, in a list also where there is one alone."""

    expected = "a list of rows, as in pillar/ceph/tunings.sls"

    def read(self, key: str, value: object) -> Read:
        return (
            super().read(key, value)
            if value and isinstance(value, list)
            else (None, [wrong(key, value, self.expected)])
        )


def _form(key: str, kind: Text | Choice, meaning: str, *more: Setting) -> Group:
    return Group((Setting(key, kind, meaning), *more, *MORE))


TUNING = Tuning(
    (
        _form("sysctl", Text("a key of sysctl", str.strip), "a key below /proc/sys such as `vm.swappiness`", VALUE),
        _form("sysfs", Text("a path below /sys", lambda text: text.startswith("/sys/")), "a file below /sys", VALUE),
        _form(
            "port",
            Choice(("rps_cpus", "ring", "pause", "pci")),
            "of each port that the plan uses",
            Setting("devices", Many(DEVICE), "the ports that have this PCI register; the others are left alone"),
            VALUE,
        ),
        _form("disk", Choice(("scheduler", "read_ahead_kb", "drive")), "of each disk of an OSD", VALUE),
        _form("cmdline", WORDS, "words of the kernel's command line"),
    ),
    "a mapping of an id, one of sysctl, sysfs, port, disk, cmdline, and a value",
)
TUNINGS = Named(
    NAME,
    Group(
        (
            Setting("summary", WORDS, "for which hosts it is"),
            Setting("include", WORDS, "the profile of TuneD below it"),
            Setting(
                "settings",
                Rows(TUNING, filled=True),
                "its rows; a list of the site's takes the place of the shipped one",
            ),
        )
    ),
    "{ceph-latency: {settings: [{id: swappiness, sysctl: vm.swappiness, value: 10}]}}",
    word="PROFILE",
)
