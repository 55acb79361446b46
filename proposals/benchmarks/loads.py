"""What a load generator is told to run: a place, a job and its options, as data that its module turns into words."""

from collections.abc import Mapping
from typing import Any

from proposals.benchmarks.suites import Job, Size, Suite

PREFILL = {"rw": "write", "bs": "4M", "iodepth": 16, "numjobs": 1}  # of benchmaster's prepit.prep, one job an image
SEED = 0  # benchmaster's randseed
MIB = 1 << 20
SLOWEST = 2 * MIB  # bytes a second that a load generator does at least
FILES = 50  # small files a second that a load generator does at least


def job(suite: Suite, size: Size, one: Job, place: Mapping[str, Any], image: int) -> dict[str, Any]:
    """Return one run as ``benchmark_load.run`` takes it.

    place
        Of ``places.plan``.
    image
        Bytes of an image, or of what the files of a load generator hold together.
    """
    options = {**size.options, **one.options}
    tool = options.pop("tool", suite.tool)
    if tool == "rados" and options["rw"] == "write":  # jobs and repeats share a pool's room
        writes = sum(each.options["rw"] == "write" for each in suite.jobs) * size.repeats
        options["most"] = place["room"] // writes
    return {"tool": tool, "place": dict(place), "options": options, "seconds": size.seconds, "bytes": part(size, image)}


def prefill(suite: Suite, size: Size, place: Mapping[str, Any], image: int) -> dict[str, Any] | None:
    """Return what writes images and files whole before they are measured; None where a tool needs nothing."""
    if suite.tool != "fio":
        return None
    most = image if place["kind"] == "rbd" else part(size, image)  # benchmaster: images whole, of files what is used
    return {"tool": "fio", "place": dict(place), "options": dict(PREFILL), "seconds": 0, "bytes": most}


def part(size: Size, image: int) -> int:
    """Return the bytes of an image that jobs go over; whole MiB where that is less than all."""
    return image if size.filesize == 1 else int(image * size.filesize) // MIB * MIB


def limit(one: Mapping[str, Any]) -> int:
    """Return the seconds after which a run counts as hanging: by its time and what it then waits for; of a prefill by
    its bytes, 2 MiB/s at least; of small files, which have no time but a number, by that.
    """
    options = one["options"]
    if one["seconds"] and ("bytes" in options or "engine" in options):
        return 600 + int(options["files"]) * int(options["numjobs"]) // FILES
    if one["seconds"]:
        return int(one["seconds"]) + int(options.get("ramp_time", 0)) + 180 + _under_way(options) // SLOWEST
    return 600 + int(one["bytes"]) // SLOWEST


def _under_way(options: Mapping[str, Any]) -> int:
    """Return the bytes that fio has asked for when its time is over; of blocks below a MiB they are next to none."""
    block = str(options.get("bs", ""))
    blocks = int(options.get("iodepth", 1)) * int(options.get("numjobs", 1))
    return int(block[:-1]) * MIB * blocks if block.endswith("M") else 0
