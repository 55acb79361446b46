"""The words of fio, rados bench and find for one job of a benchmark. Only known options get into them, and only places
of the benchmark's own: no file, pool or device of anybody else can be named.
"""

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from salt.exceptions import CommandExecutionError

PREFIX = "halocline-bench"
USER = PREFIX
MOUNT = Path("/run/halocline-benchmark/fs")
VALUE = re.compile(r"[A-Za-z0-9.:_-]+")
FIO = ("rw", "rwmixread", "bs", "iodepth", "ramp_time", "latency_target", "rate_iops")  # taken over as they are
BLOCK = 512  # bytes of a disk's block
MOST = 10**9  # objects of rados bench, which counts them in an int (ObjBencher::write_bench, src/common)
EASY = "easy"  # how names of empty files begin
METADATA = ("filecreate", "filestat", "filedelete")  # engines of fio 3.x
# benchmaster's: a second with more than 0.00001 % of slower operations lowers fio's queue depth.
TARGET = ["--latency_window=5s", "--latency_percentile=99.99999"]
# GNU find over a folder: a letter for each file, m where IO500's conditions hold (github.com/IO500/io500,
# src/phase_find.c); nanoseconds before and after it. Its words are the script's arguments, which no shell reads.
# systemd-run takes ``${`` and ``$$`` alone for its own.
FIND = (
    "set -e; date +%s%N; "
    r"""find "$1" -type f \( -newer "$2" -size "$3c" -name '*01*' -printf m -o -printf . \); echo; date +%s%N"""
)
COMMON = ["--random_generator=lfsr", "--randseed=0", "--refill_buffers=1", "--group_reporting=1"]


def command(host: str, job: Mapping[str, Any]) -> list[str]:
    """Return the words of a job for this host; raise CommandExecutionError where a part of it is not known.

    host
        The minion's id.
    job
        ``{tool, place, options, seconds, bytes}``, as ``proposals/benchmarks/loads.py`` writes it.

    CLI Example: for ``salt-run benchmark.run``.
    """
    for value in (*_texts(job["place"]), *_texts(job["options"])):
        if not VALUE.fullmatch(value):
            raise CommandExecutionError(f"{value!r} is nothing that a benchmark's job may hold")
    tools = {"fio": _fio, "rados": _rados, "find": _find}
    if job["tool"] not in tools:
        raise CommandExecutionError(f"{job['tool']!r} is no tool of a benchmark: expected {', '.join(tools)}")
    return tools[job["tool"]](host, job)


def _fio(host: str, job: Mapping[str, Any]) -> list[str]:
    options, place, seconds = job["options"], job["place"], int(job["seconds"])
    if "bytes" in options or options.get("engine") in METADATA:
        return ["fio", "--output-format=json+", "--group_reporting=1", *_metadata(host, job)]
    direct = 0 if _bytes(str(options["bs"])) % BLOCK else 1  # past caches only whole blocks are written
    words = ["fio", "--output-format=json+", *COMMON, f"--direct={direct}", f"--size={_part(job)}"]
    words += [f"--{key}={options[key]}" for key in FIO if key in options]
    words += TARGET if "latency_target" in options else []
    words += ["--time_based=1", f"--runtime={seconds}", "--norandommap"] if seconds else []
    return [*words, *(_images(host, job) if place["kind"] == "rbd" else _files(host, job))]


def _part(job: Mapping[str, Any]) -> int:
    """The bytes that one of fio's jobs goes over: its own part of an image, or all of it."""
    own = bool(job["options"].get("own"))
    return int(job["bytes"]) // (int(job["options"].get("numjobs", 1)) if own else 1)


def _images(host: str, job: Mapping[str, Any]) -> list[str]:
    """A job of fio's for each of ``numjobs``, over the host's images in turn; a prefill: one for each image."""
    place, options = job["place"], job["options"]
    pool, images = _ours(place["pool"]), place["images"][host]
    count = int(options.get("numjobs", 1)) if job["seconds"] else len(images)
    words = ["--ioengine=rbd", f"--clientname={USER}", f"--pool={pool}"]
    for at in range(count):
        words += [f"--name=job{at}", f"--rbdname={images[at % len(images)]}"]
        words += [f"--offset={_part(job) * (at // len(images))}"] if options.get("own") else []
    return words


def _files(host: str, job: Mapping[str, Any]) -> list[str]:
    """Files in a folder of the host's: one that all jobs share, or one for each."""
    options, folder = job["options"], MOUNT / _folder(job["place"]) / host
    jobs = [f"--numjobs={int(options.get('numjobs', 1))}", "--fallocate=none", f"--directory={folder}"]
    own = ["--name=own"] if options.get("own") else ["--name=shared", "--filename=0.fil"]
    return ["--ioengine=psync", *jobs, *own]


def _metadata(host: str, job: Mapping[str, Any]) -> list[str]:
    """Phases of small files: so many for each of ``numjobs``, each made, looked at, written, read or removed once.

    Names are the same in each phase: ``easy.JOB.NUMBER`` of empty files, ``hard.JOB.NUMBER`` of those with bytes.
    """
    options, folder = job["options"], MOUNT / _folder(job["place"]) / host
    size = int(options.get("bytes", 1))  # of fio, no file is empty; it makes one file for each block
    engine = options["engine"] if options.get("engine") in METADATA else "psync"
    name = "hard" if "bytes" in options else EASY
    words = [f"--ioengine={engine}", f"--directory={folder}", f"--name={name}"]
    words += [f"--rw={options['rw']}", "--file_service_type=sequential"] if engine == "psync" else []
    words += [f"--numjobs={int(options.get('numjobs', 1))}", f"--nrfiles={int(options.get('files', 100))}"]
    return [*words, f"--filesize={size}", f"--bs={size}", "--openfiles=1", "--fallocate=none", "--create_on_open=1"]


def _find(host: str, job: Mapping[str, Any]) -> list[str]:
    """Look at all files of the host's: which are newer than the first empty one, of so many bytes, named ``*01*``.

    IO500 touches a file after the easy phases; here the first that they made stands for it.
    """
    folder = MOUNT / _folder(job["place"]) / host
    return ["sh", "-c", FIND, "find", str(folder), f"{folder}/{EASY}.0.0", str(int(job["options"]["bytes"]))]


def _rados(host: str, job: Mapping[str, Any]) -> list[str]:
    options, kind = job["options"], str(job["options"]["rw"])
    if kind not in ("write", "seq", "rand"):
        raise CommandExecutionError(f"{kind!r} is no kind of rados bench: expected write, seq or rand")
    words = ["rados", "--id", USER, "--pool", _ours(job["place"]["pool"]), "--format", "json", "bench"]
    words += [str(int(job["seconds"])), kind, "-t", str(int(options.get("threads", 16)))]
    words += ["--run-name", f"{host}-{options['bs']}"]
    if kind != "write":
        return words
    size = _bytes(str(options["bs"]))
    most = min(MOST, max(1, int(options["most"]) // size))  # of objects, rados(8): the disks are never filled
    return [*words, "-b", str(size), "--no-cleanup", "--max-objects", str(most)]


def _bytes(text: str) -> int:
    """``4k`` as bytes: rados takes no letters."""
    units = {"k": 1 << 10, "M": 1 << 20, "G": 1 << 30}
    return int(text[:-1]) * units[text[-1]] if text[-1] in units else int(text)


def _ours(pool: str) -> str:
    if not str(pool).startswith(f"{PREFIX}-"):
        raise CommandExecutionError(f"pool {pool} is not a benchmark's own: its name begins with {PREFIX}-")
    return str(pool)


def _folder(place: Mapping[str, Any]) -> str:
    if place["folder"] not in ("cephfs", "cephfs-ec"):
        raise CommandExecutionError(f"{place['folder']!r} is no folder of a benchmark")
    return str(place["folder"])


def _texts(value: Any) -> list[str]:
    """Every text and number in some data, keys aside."""
    if isinstance(value, Mapping):
        return [text for each in value.values() for text in _texts(each)]
    if isinstance(value, list | tuple):
        return [text for each in value for text in _texts(each)]
    return [str(value)] if value != "" else []
