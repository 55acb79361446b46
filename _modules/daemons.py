"""This host's Ceph daemons: which run with another configuration than they would start with, and their restart.

A daemon is asked by its admin socket what it read at its start (``config diff``); ``ceph-conf`` says what it would
read now. So nothing has to be remembered, and a restart by hand is seen too.
"""

import re
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import halocline
import halocline_socket
from salt.exceptions import CommandExecutionError

LIMIT = 60  # seconds one command may take
AT_ONCE = 64  # daemons asked side by side: each that hangs takes all of its time
RESTART = 300  # seconds: a gateway ends what it was asked before (rgw_exit_timeout_secs is 120)
RUN = Path("/run/ceph")
WANTED = (Path("/etc/systemd/system"), Path("/run/systemd/system"))  # where links say what is started at boot
SOCKET = re.compile(r"ceph-(?P<name>(?P<type>mon|mgr|osd|mds|client)\.(?P<id>.+?))(\.\d+\.\d+)?\.asok")
# Where monitors are found at first: a daemon that runs has the monitors' own map.
BOOTSTRAP = {"mon_host", "mon_initial_members"}
# `config diff` tells a line of ceph.conf as it is written, and as `final` with what Ceph puts in, where no other level
# is above it; a process's own number is another in each (src/common/config.cc of Ceph).
ABOVE, OF_PROCESS = {"env", "cmdline", "override"}, re.compile(r"\$\{?(pid|cctid)\b")
UNITS = {"client": "ceph-radosgw"}  # unit's name by daemon's type, where it is not ceph-TYPE
FOLDERS = {"client": "radosgw"}  # its folder's below /var/lib/ceph, where it is not TYPE
GIVEN = ("keyring", "tls.pem", "tls.pem.key", "keystone-password")  # in it, what a daemon reads at its start alone


def running() -> dict[str, dict]:
    """Return this host's running daemons: ``{name: {type, id, unit, socket}}``, by their admin sockets.

    CLI Example:

    .. code-block:: bash

        salt 'osdnode1' daemons.running
    """
    sockets = [(path, part) for path in sorted(RUN.glob("*.asok")) if (part := SOCKET.fullmatch(path.name))]
    asked = [(path, "version", LIMIT) for path, _ in sockets]
    answers = halocline.side_by_side(halocline_socket.ask, asked, AT_ONCE)
    daemons = {}
    for path, part in (socket for socket, answer in zip(sockets, answers, strict=True) if answer is not None):
        unit = f"{UNITS.get(part['type'], 'ceph-' + part['type'])}@{part['id']}"
        if part["type"] == "client" and not __salt__["service.status"](unit):
            continue  # ceph-fuse, or a program with librados: no daemon of ours
        daemons[part["name"]] = {"type": part["type"], "id": part["id"], "unit": unit, "socket": str(path)}
    return daemons


def pending() -> dict[str, dict[str, list]]:
    """Return the daemons that a restart would change, with the options: ``{name: {option: [now, then]}}``; what
    monitors tell daemons is not among them.

    CLI Example:

    .. code-block:: bash

        salt 'osdnode1' daemons.pending
    """
    return {name: told["differs"] for name, told in settings().items() if told["differs"]}


def settings() -> dict[str, dict[str, Any]]:
    """Return what each running daemon has otherwise than it would start with, and what the monitors told it.

    ``{name: {differs: {option: [now, then]}, told: {option: value}, answers: bool}}``: whether what was told is what
    the monitors have now, they know (``proposals/cluster/restarts.py``). Of a daemon that does not answer at its admin
    socket nothing is known but its files and its program.

    CLI Example:

    .. code-block:: bash

        salt 'osdnode1' daemons.settings
    """
    sections, daemons = __salt__["host_ceph_conf.sections"](), running()
    units = [f"{daemon['unit']}.service" for daemon in daemons.values()]
    pids = {unit["Id"]: unit["MainPID"] for unit in _shown("Id,MainPID", units)} if units else {}
    found: dict[str, dict[str, Any]] = {}
    for name, daemon in daemons.items():
        answer = halocline_socket.ask(Path(daemon["socket"]), "config diff", LIMIT)
        diff = answer["diff"] if answer else {}
        differs = _differs(name, daemon, diff, sections) if answer else {}
        differs |= _newer_files(daemon) | _newer_program(pids.get(f"{daemon['unit']}.service", ""))
        told = {key: halocline.spelled(levels["mon"]) for key, levels in diff.items() if "mon" in levels}
        found[name] = {"differs": differs, "told": told, "answers": answer is not None}
    return found


def stopped() -> list[str]:
    """Return the units of Ceph's daemons that this host starts at its boot, and that do not run now.

    CLI Example:

    .. code-block:: bash

        salt 'osdnode1' daemons.stopped
    """
    enabled = sorted({path.name for folder in WANTED for path in folder.glob("*.wants/ceph-*@*") if _daemon(path.name)})
    if not enabled:
        return []
    # A line for each unit in their order; the exit status says whether all are active.
    states = halocline.run(["systemctl", "is-active", *enabled], ok=None, limit=LIMIT).split()
    return [unit for unit, state in zip(enabled, states, strict=True) if state not in ("active", "activating")]


def units(pattern: str) -> dict[str, str]:
    """Return the units that run, each with what systemd says of its start at boot (``enabled``, ``disabled`` ...).

    pattern
        Of their names. All are asked by one start of ``systemctl``, which takes more than its answer.

    CLI Example:

    .. code-block:: bash

        salt 'osdnode1' daemons.units 'ceph-osd@*'
    """
    shown = _shown("Id,ActiveState,UnitFileState", [pattern])
    return {unit["Id"]: unit["UnitFileState"] for unit in shown if unit["ActiveState"] == "active"}


def seen(unit: str, files: Sequence[str] = (), reloads: bool = False) -> dict[str, Any]:
    """Return whether a unit runs, what systemd says of its start at boot, and which files it cannot have read yet.

    ``{runs: bool, boots: enabled, newer: [file]}``, by one start of ``systemctl``. A file of the future, as a clock
    that was put back leaves it, is no newer one: no restart would change that.

    unit
        Its name.
    files
        What it reads at its start.
    reloads
        Whether a reload has it read them too: any change of its state counts, of which that is the last.

    CLI Example:

    .. code-block:: bash

        salt 'igw1' daemons.seen rbd-target-api '[/etc/ceph/iscsi-gateway.cfg]'
    """
    # Since boot: systemd's other form of a time has whole seconds, in the words of the host's time zone.
    stamp = "StateChangeTimestampMonotonic" if reloads else "InactiveExitTimestampMonotonic"
    (told,) = _shown(f"ActiveState,UnitFileState,{stamp}", [unit])
    now, runs = time.time(), told["ActiveState"] == "active"
    read = now - time.monotonic() + int(told[stamp]) / 1e6
    newer = [file for file in files if runs and Path(file).exists() and read < Path(file).stat().st_mtime <= now]
    return {"runs": runs, "boots": told["UnitFileState"], "newer": newer}


def _shown(properties: str, units: Sequence[str]) -> list[dict[str, str]]:
    """What systemd says of units, by one start of ``systemctl``."""
    told = halocline.run(["systemctl", "show", "--property", properties, *units], limit=LIMIT).strip()
    return [dict(line.split("=", 1) for line in unit.splitlines()) for unit in told.split("\n\n") if unit]


def _daemon(unit: str) -> bool:
    """Whether a unit is a daemon's; ``ceph-volume@`` ends when it has found its OSD."""
    return not unit.startswith("ceph-volume@")


def restart_own(names: Mapping[str, Sequence[str]]) -> dict[str, list[str]]:
    """Restart this host's of the daemons of several hosts, in one job to all of them.

    names
        Lists as of ``restart``, by minion id.

    CLI Example:

    .. code-block:: bash

        salt -L 'osdnode1,osdnode2' daemons.restart_own '{osdnode1: [osd.3], osdnode2: [osd.7]}'
    """
    return restart(names[__opts__["id"]])


def restart(names: Sequence[str]) -> dict[str, list[str]]:
    """Restart daemons of this host, by their names as ``running`` gives them.

    names
        A list such as ``[osd.3, osd.4]``.

    CLI Example:

    .. code-block:: bash

        salt 'osdnode1' daemons.restart '[osd.3]'
    """
    daemons = running()
    if strange := [name for name in names if name not in daemons]:
        raise CommandExecutionError(f"{', '.join(strange)}: not running on this host; there are {', '.join(daemons)}")
    units = [daemons[name]["unit"] for name in names]
    forgive(units)  # else a restart may stop a daemon and not start it again
    halocline.run(["systemctl", "restart", *units], limit=RESTART)
    return {"restarted": sorted(names)}


def forgive(units: Sequence[str]) -> None:
    """Let systemd forget how often it started units: Ceph's it starts only 3 or 5 times in half an hour.

    units
        Their names; of one that systemd does not know, nothing is said.

    CLI Example:

    .. code-block:: bash

        salt 'osdnode1' daemons.forgive '[ceph-osd@3]'
    """
    halocline.run(["systemctl", "reset-failed", *units], ok=(0, 1), limit=LIMIT)


def _differs(name: str, daemon: Mapping, diff: Mapping, sections: Mapping[str, Mapping]) -> dict[str, list]:
    """The options of ceph.conf that one daemon has otherwise than it would start with."""
    written = {key: text for part in ("global", daemon["type"], name) for key, text in sections.get(part, {}).items()}
    read = {key for key, levels in diff.items() if "file" in levels}
    named = (written.keys() | read) - BOOTSTRAP
    # ceph-conf is asked only of what does not stand in the file as the daemon read it: it takes more than all the rest.
    other = sorted(key for key in named if not _same(diff.get(key, {}).get("file"), written.get(key)))
    would = __salt__["host_ceph_conf.options"](name) if other else {}
    unset = __salt__["host_ceph_conf.options"](name, "/dev/null") if any(not diff.get(key) for key in other) else {}
    differs = {}
    for key in other:
        levels = diff.get(key, {})
        now, then = levels.get("file"), would.get(key) if key in written else None
        if not levels:  # the daemon has the default, and the file says so at most
            now = unset.get(key)
        elif "$" in str(now):
            now = then if ABOVE & levels.keys() or OF_PROCESS.search(now) else levels["final"]
        if not _same(now, then):
            differs[key] = [now, then]
    return differs


def _newer_files(daemon: Mapping) -> dict[str, list[str]]:
    """Keys and certificates that were written after a daemon began: it goes on with those that it read then."""
    folder = Path(f"/var/lib/ceph/{FOLDERS.get(daemon['type'], daemon['type'])}/ceph-{daemon['id']}")
    began = Path(daemon["socket"]).stat().st_mtime
    newer = [path.name for path in folder.glob("*") if path.name in GIVEN and path.stat().st_mtime > began]
    return {name: ["that of its start", "a newer one"] for name in sorted(newer)}


def _newer_program(pid: str) -> dict[str, list[str]]:
    """Whether the program of a daemon's process was replaced since it began, as a package's update does (proc(5))."""
    try:
        gone = str(Path(f"/proc/{pid}/exe").readlink()).endswith(" (deleted)")
    except OSError:
        return {}
    return {"program": ["the one of its start", "a newer one"]} if gone else {}


def _same(now: object, then: object) -> bool:
    """Whether two spellings of a value are the same; that nothing is set is another value."""
    return (now is None) is (then is None) and halocline.spelled(now) == halocline.spelled(then)
