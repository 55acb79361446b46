"""Guests on processors with AMX: what User Mode Linux 6.1 is started with there (``xstate.c`` says why)."""

import hashlib
import os
from pathlib import Path

from lab import daemon
from lab.commands import run
from lab.store import CACHE

SOURCE = Path(__file__).with_suffix(".c")
PROCESSORS = Path("/proc/cpuinfo")


def environment() -> dict[str, str]:
    """What is added to a guest's environment; where the processors have no AMX nothing, and no compiler is needed."""
    if " amx_tile" not in PROCESSORS.read_text():
        return {}
    library = CACHE / f"xstate-{hashlib.sha256(SOURCE.read_bytes()).hexdigest()[:12]}.so"
    if not library.exists():
        daemon.install_missing({"gcc": "gcc"})
        draft = library.with_suffix(f".{os.getpid()}")
        CACHE.mkdir(parents=True, exist_ok=True)
        run("gcc", "-O2", "-shared", "-fPIC", "-nostdlib", "-o", draft, SOURCE)
        draft.rename(library)
    return {"LD_PRELOAD": str(library)}
