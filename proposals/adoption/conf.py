"""ceph.conf of a cluster that others made, taken apart into the site's fragments. Nothing here opens a file.

The form of the file is Ceph's (docs.ceph.com, rados/configuration/ceph-conf): sections, ``option = value``, comments
after ``#`` or ``;``, blanks and dashes in an option's name are underscores.
"""

import re
from collections.abc import Mapping
from typing import NamedTuple

from proposals.text.names import shown

# What deploy writes into [global] by itself.
OURS = {
    *("fsid", "mon_initial_members", "mon_host", "public_network", "cluster_network"),
    *("ms_bind_msgr2", "ms_bind_ipv4", "ms_bind_ipv6"),
}
FRAGMENTS = ("global", "mon", "mgr", "osd", "mds", "client")
SECRET = re.compile(r"(^|_)(password|passwd|secret|token|private|key)(_|$)")  # in an option's name
TEMPLATE = ("{{", "{%", "{#")  # what Salt would run


class Fragments(NamedTuple):
    """The fragments' texts by name, and the lines that could not be kept, each with its reason."""

    texts: dict[str, str]
    left: list[str]


def fragments(text: str) -> Fragments:
    """Return the lines of a ceph.conf that are the site's own, as the fragments of ``ceph.conf.d``."""
    sections: dict[str, dict[str, str]] = {}
    left, section, whole = [], "global", ""
    for raw in text.splitlines():
        line = whole + raw
        whole = ""
        if line.endswith("\\"):  # goes on in the next
            whole = line[:-1].rstrip() + " "
            continue
        line = re.sub(r"(^|\s)[#;].*", "", line).strip()
        if found := re.fullmatch(r"\[\s*(\S+)\s*\]", line):
            section = found[1]
        elif "=" in line:
            option, _, value = line.partition("=")
            option = re.sub(r"[ -]+", "_", option.strip())
            if any(mark in line for mark in TEMPLATE):
                left.append(f"[{shown(section)}] {shown(option)}: holds what Salt would run as a template")
            elif SECRET.search(option):
                left.append(f"[{shown(section)}] {shown(option)}: may be a secret, which no file here may hold")
            elif section != "global" or option not in OURS:
                sections.setdefault(section, {})[option] = value.strip()
        elif line:
            left.append(f"[{shown(section)}] '{shown(line)}': is no line of ceph.conf")
    texts: dict[str, list[str]] = {}
    for name in sorted(sections, key=lambda name: (name not in FRAGMENTS, name)):  # a kind's own lines before headers
        kind = name.partition(".")[0]
        if kind not in FRAGMENTS or (kind == "global" and name != kind):
            left.append(f"[{shown(name)}]: Ceph knows no section of this name")
            continue
        header = [] if name in FRAGMENTS else [f"[{name}]"]
        lines = [f"{option} = {value}" for option, value in sections[name].items()]
        texts.setdefault(kind, []).extend([*header, *lines])
    return Fragments({kind: "\n".join(lines) + "\n" for kind, lines in texts.items()}, left)


def differing(hashes: Mapping[str, str | None], asked: str) -> list[str]:
    """Return the minions whose ceph.conf is another one than that of the minion that was asked.

    hashes
        Of each minion's, None where it has none.
    """
    return sorted(minion for minion, digest in hashes.items() if digest and digest != hashes.get(asked))
