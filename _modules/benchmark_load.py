"""A load generator: runs one job of a benchmark at a moment that all hosts were told, and can be stopped from outside.

The program runs as a unit of systemd's under one name: whoever stops that unit stops the load, whatever became of the
process that asked for it, no second one runs beside it, and systemd ends it by itself after a limit.
"""

import json
import shutil
import time
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any

import halocline
from salt.exceptions import CommandExecutionError

UNIT = "halocline-benchmark.service"
FOLDER = Path("/run/halocline-benchmark")
KEYRING = Path("/etc/ceph/ceph.client.halocline-bench.keyring")
LIMIT = 60  # seconds for a short program
CACHES = Path("/proc/sys/vm/drop_caches")


def prepare(place: Mapping[str, Any]) -> bool:
    """Write the benchmark's key, which this host's pillar has for the time of the run, and mount its file system.

    place
        Of ``proposals/benchmarks/places.py``.

    CLI Example: for ``salt-run benchmark.run``.
    """
    key = __pillar__.get("ceph_secrets", {}).get("benchmark")
    if not key:
        raise CommandExecutionError("this host's pillar holds no key of a benchmark: run it again")
    FOLDER.mkdir(mode=0o700, exist_ok=True)
    KEYRING.touch(mode=0o600)
    halocline.write(KEYRING, f"[client.halocline-bench]\n\tkey = {key}\n", 0o600)
    if place["kind"] == "fs":
        _mount(place)
    return True


def run(job: Mapping[str, Any], start: float, limit: int) -> dict[str, Any]:
    """Run a job at a time; return ``{came, began, ended, printed, version}``: when this host had the job, when it
    began and ended by this host's clock, and the tool's JSON; of find ``{files, matched, seconds}``.

    job
        As ``benchmark_words.command`` takes it.
    start
        Seconds since 1970: when all hosts begin. One that gets it later begins at once, and says so by ``began``.
    limit
        Seconds after which it is ended.

    CLI Example: for ``salt-run benchmark.run``.
    """
    came = time.time()
    words = __salt__["benchmark_words.command"](__grains__["id"], job)
    FOLDER.mkdir(mode=0o700, exist_ok=True)
    out, err = FOLDER / "out", FOLDER / "err"
    for path in (out, err):
        path.unlink(missing_ok=True)  # systemd's "file:" writes over what is there, and leaves what is longer
    # Without --quiet it tells how the load ended, such as by "oom-kill", of which the tool itself says nothing.
    unit = ["systemd-run", f"--unit={UNIT}", "--collect", "--wait", f"--property=RuntimeMaxSec={int(limit)}"]
    unit += [f"--property=StandardOutput=file:{out}", f"--property=StandardError=file:{err}"]
    halocline.until(partial(_reached, start), max(0, start - time.time()) + 1, pause=0.005)
    began = time.time()
    try:
        halocline.run([*unit, *words], limit=limit + LIMIT)
    except CommandExecutionError as error:
        said = err.read_text(errors="replace") if err.exists() else ""
        raise CommandExecutionError(f"{error}; it said: {halocline.masked(said.strip()[-1000:])}") from error
    ended = time.time()
    printed = _found(out) if job["tool"] == "find" else _json(out)
    version = _version(str(job["tool"]))
    return {"came": came, "began": began, "ended": ended, "printed": printed, "version": version}


def stop() -> bool:
    """Stop the load that runs here, where one does.

    CLI Example:

    .. code-block:: bash

        salt 'client*' benchmark_load.stop
    """
    halocline.run(["systemctl", "stop", UNIT], ok=None, limit=LIMIT)
    return True


def tidy() -> bool:
    """Take away all that a benchmark left on this host: its load, mount, key and files.

    CLI Example:

    .. code-block:: bash

        salt 'client*' benchmark_load.tidy
    """
    stop()
    mount = FOLDER / "fs"
    if halocline.status(["mountpoint", "--quiet", str(mount)], limit=LIMIT) == 0:
        halocline.run(["umount", "--lazy", str(mount)], limit=LIMIT)
    KEYRING.unlink(missing_ok=True)
    try:
        mount.rmdir()  # an empty folder alone: never what a mount still shows
    except FileNotFoundError:
        pass
    except OSError as err:
        raise CommandExecutionError(f"{mount} is not taken away: {err.strerror}: look at it, and run it again") from err
    shutil.rmtree(FOLDER, ignore_errors=True)
    return True


def drop_caches() -> bool:
    """Drop this host's caches of files (drop_caches of kernel.org's sysctl/vm); false in a container, whose caches are
    the whole machine's. Raises CommandExecutionError where the kernel refuses.

    CLI Example:

    .. code-block:: bash

        salt 'osdnode*' benchmark_load.drop_caches
    """
    if halocline.status(["systemd-detect-virt", "--container", "--quiet"], limit=LIMIT) == 0:
        return False
    halocline.run(["sync"], limit=300)
    try:
        CACHES.write_text("3\n")
    except OSError as err:
        raise CommandExecutionError(f"{CACHES} cannot be written: {err.strerror}; nothing was dropped") from err
    return True


def _mount(place: Mapping[str, Any]) -> None:
    """Mount the benchmark's file system, and make this host's folder; a folder for EC gets its pool by an attribute."""
    mount = FOLDER / "fs"
    mount.mkdir(exist_ok=True)
    if halocline.status(["mountpoint", "--quiet", str(mount)], limit=LIMIT):
        words = ["ceph-fuse", "--id", "halocline-bench", "--client_fs", str(place["fs"]), str(mount)]
        halocline.run(words, limit=180)
    top = mount / str(place["folder"])
    top.mkdir(exist_ok=True)
    if place["pool"]:
        halocline.run(["setfattr", "-n", "ceph.dir.layout.pool", "-v", str(place["pool"]), str(top)], limit=LIMIT)
    (top / __grains__["id"]).mkdir(exist_ok=True)


def _reached(start: float) -> None:
    if time.time() < start:
        raise CommandExecutionError("not yet")


def _json(path: Path) -> dict:
    """The JSON that a tool printed; before it stand lines such as "hints = 1"."""
    text = path.read_text(errors="replace")
    try:
        printed: dict = json.loads(text[text.find("{") :])
    except ValueError as err:
        raise CommandExecutionError(f"the tool printed no JSON: {text.strip()[-500:]!r}: was it stopped?") from err
    return {key: value for key, value in printed.items() if key not in ("disk_util", "datas")}


def _found(path: Path) -> dict[str, float]:
    """What ``benchmark_words.FIND`` printed: when it began, a letter for each file, when it ended."""
    try:
        began, letters, ended = path.read_text(errors="replace").split("\n")[:3]
        seconds = (int(ended) - int(began)) / 1e9
    except ValueError as err:
        raise CommandExecutionError("find told not when it began and ended: was it stopped?") from err
    return {"files": len(letters), "matched": letters.count("m"), "seconds": seconds}


def _version(program: str) -> str:
    return halocline.run([program, "--version"], limit=LIMIT).splitlines()[0]
