"""ceph.conf of a cluster that others made, taken apart into the site's fragments. Nothing here opens a file.

The form of the file is Ceph's (docs.ceph.com, rados/configuration/ceph-conf): sections, ``option = value``, comments
after ``#`` or ``;``, blanks and dashes in an option's name are underscores.
"""

import re
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from proposals.text.names import shown

# What deploy writes into [global] by itself.
OURS = {
    *("fsid", "mon_initial_members", "mon_host", "public_network", "cluster_network"),
    *("ms_bind_msgr2", "ms_bind_ipv4", "ms_bind_ipv6"),
}
# What is of one host alone: another that got it would listen, or its OSDs would stand, where that one does.
ONE_HOST = {
    *("host", "addr", "mon_addr", "public_addr", "public_bind_addr", "cluster_addr"),
    *("crush_location", "osd_crush_location"),
}
FRAGMENTS = ("global", "mon", "mgr", "osd", "mds", "client")
# Where keys lie, as Proxmox has it below /etc/pve: stages put those that they give where Ceph looks by itself.
KEYS = {"keyring", "keyfile"}
GIVEN = (*FRAGMENTS, "client.admin", "client.crash")  # sections of daemons and clients that stages give keys
SECRET = re.compile(r"(^|_)(password|passwd|secret|token|private|keys?)(_|$)")  # in an option's name
TEMPLATE = ("{{", "{%", "{#")  # what Salt would run


class Fragments(NamedTuple):
    """The fragments' texts by name, and the lines that could not be kept, each with its reason."""

    texts: dict[str, str]
    left: list[str]


def fragments(text: str) -> Fragments:
    """Return the lines of a ceph.conf that are the site's own, as the fragments of ``ceph.conf.d``."""
    sections, left = _read(text)
    texts: dict[str, list[str]] = {}
    for name in sorted(sections, key=lambda name: (name not in FRAGMENTS, name)):  # a kind's own lines before headers
        kind = name.partition(".")[0]
        if kind not in FRAGMENTS or (kind == "global" and name != kind):
            left.append(f"[{shown(name)}]: Ceph knows no section of this name")
            continue
        lines = []
        for option, value in sections[name].items():
            if why := _unwritten(name, option, value):
                left.append(f"[{shown(name)}] {shown(option)}: {why}")
            elif name != "global" or option not in OURS:
                lines.append(f"{option} = {value}")
        if lines:
            texts.setdefault(kind, []).extend([*([] if name in FRAGMENTS else [f"[{name}]"]), *lines])
    return Fragments({kind: "\n".join(lines) + "\n" for kind, lines in texts.items()}, left)


def effective(text: str, rows: Sequence[Mapping[str, str]], kind: str, option: str) -> str | None:
    """Return what all daemons of a kind start with, None for Ceph's own: ceph.conf has the last word, and a kind's own
    section before the global one.

    text
        Of ceph.conf.
    rows
        The central configuration.
    """
    sections, _ = _read(text)
    central = {row["section"]: row["value"] for row in rows if row["name"] == option and not row["mask"]}
    said = [sections.get(section, {}).get(option) for section in (kind, "global")]
    value = next((value for value in (*said, central.get(kind), central.get("global")) if value is not None), None)
    return None if value is None else value.strip("\"'")


def _read(text: str) -> tuple[dict[str, dict[str, str]], list[str]]:
    """The options of each section, and a line for each line that is none."""
    sections: dict[str, dict[str, str]] = {}
    left, section, whole = [], "global", ""
    for raw in text.splitlines():
        line = whole + re.sub(r"(^|\s)[#;].*", "", raw)  # a comment does not go on
        whole = ""
        if line.endswith("\\"):  # goes on in the next
            whole = line[:-1].rstrip() + " "
            continue
        line = line.strip()
        if found := re.match(r"\[\s*([^\]]+?)\s*\]", line):
            section = found[1]
        elif "=" in line:
            option, _, value = line.partition("=")
            sections.setdefault(section, {})[re.sub(r"[ -]+", "_", option.strip())] = value.strip()
        elif line:
            left.append(f"[{shown(section)}] '{shown(line)}': is no line of ceph.conf")
    return sections, left


def _unwritten(section: str, option: str, value: str) -> str:
    if any(mark in text for mark in TEMPLATE for text in (section, option, value)):
        return "holds what Salt would run as a template"
    if SECRET.search(option):
        return "may be a secret, which no file here may hold"
    if section in GIVEN and option in KEYS:
        return "says where keys lie on hosts that have them: it stays there, and on new hosts they lie where Ceph looks"
    if section in FRAGMENTS and option in ONE_HOST:
        return "is of one host alone: it stays where it is, and new hosts get none (crush_locations: where they stand)"
    return ""


def differing(hashes: Mapping[str, str | None], asked: str) -> list[str]:
    """Return the minions whose ceph.conf is another one than that of the minion that was asked.

    hashes
        Of each minion's, None where it has none.
    """
    return sorted(minion for minion, digest in hashes.items() if digest and digest != hashes.get(asked))
