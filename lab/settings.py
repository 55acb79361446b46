"""The machine's own kernel settings, before and after: a lab changes none of them."""

import fnmatch
from pathlib import Path

from lab import limits

# Not namespaced: written in a container they are written for all. Below net/ each node has its own.
SHARED = ("vm", "fs", "kernel", "dev")
# Counters, what the kernel tunes by itself, and those that lab/limits.py raises and puts back, saying so.
ALIVE = (
    *("fs/*-nr", "fs/*-state", "fs/quota/*", *limits.NEEDED),
    *("kernel/random/*", "kernel/ns_last_pid", "kernel/perf_*", "kernel/pty/nr", "*/stat*"),
)


def snapshot(root: Path = Path("/proc/sys")) -> dict[str, str]:
    """Every shared setting that can be read and does not change by itself: path below /proc/sys -> value."""
    values = {}
    for path in (path for folder in SHARED for path in (root / folder).rglob("*")):
        name = str(path.relative_to(root))
        if any(fnmatch.fnmatch(name, pattern) for pattern in ALIVE) or not path.is_file():
            continue
        try:
            values[name] = path.read_text(errors="replace").strip()
        except OSError:  # written only, or not for this kernel
            continue
    return values


def changes(before: dict[str, str], after: dict[str, str]) -> list[str]:
    """What differs, one line each."""
    return [
        f"{name}: {before[name]} -> {after[name]}" for name in before if after.get(name, before[name]) != before[name]
    ]
