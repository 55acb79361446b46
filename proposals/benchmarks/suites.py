"""Suites: what is measured, as YAML files beside this one; each has the parameters and printed values of a document."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from proposals.files import tree
from proposals.text import names, sizes
from proposals.text.errors import ArgumentError
from proposals.text.notes import counted

FOLDER = Path(__file__).parent / "suites"
SIZES = ("quick", "paper")
TOOLS = ("fio", "rados", "find")
SETTLE = {"quick": 3, "paper": 30}  # seconds between two jobs; 30 are benchmaster's
# Seconds from asking load generators to the common start: every one has the job by then. The first time; and at least,
# once it is known how long the slowest takes.
LEAD, LEAST = 15, 3
# What a suite may run on. Each is made for it and taken away after it; none is a pool that exists.
TARGETS: Mapping[str, str] = {
    "rbd": "RBD images, replicated",
    "rbd-ec": "RBD images, data in an erasure coded pool (2+2)",
    "cephfs": "a file system, replicated",
    "cephfs-ec": "a file system, data in an erasure coded pool (2+2)",
    "hosts": "a pool for each storage host, which lies on this host's OSDs alone",
}
DIRECTIONS = ("read", "write")
SCORED = ("bandwidth", "rate")  # what a score is made of


@dataclass(frozen=True)
class Job:
    """One run of a tool. ``rows``: the table's row of each direction that is reported; ``options`` as the tool's."""

    name: str
    rows: Mapping[str, str]
    options: Mapping[str, Any]
    figure: str = ""


@dataclass(frozen=True)
class Size:
    """How large a run is: ``options`` of every job; ``image`` bytes (0: a ``share`` of the free space), ``images`` a
    load generator, ``repeats`` of each job; the ``drop`` highest and lowest of these are dropped; ``groups``:
    placement groups an OSD that the document asks for (0: none); ``settle``: seconds between two jobs;
    ``filesize``: the share of an image, or of what files hold, that jobs go over.
    """

    options: Mapping[str, Any]
    seconds: int
    image: int
    share: float
    images: int
    repeats: int
    drop: int
    groups: int = 0
    settle: int = 0
    filesize: float = 1.0


@dataclass(frozen=True)
class Suite:
    """A table or figure of a document. ``printed``: by target or label, then by row, a value a column.

    ``score``: which rows' bandwidths and rates make one number of the whole, and those that the document prints.
    ``links``: what it prints of a link, lowest and highest Mb/s by label. ``clients``: how many hosts made its load; 0
    where it does not say.
    """

    name: str
    title: str
    source: str
    note: str
    tool: str
    targets: tuple[str, ...]
    columns: tuple[str, ...]
    jobs: tuple[Job, ...]
    sizes: Mapping[str, Size]
    printed: Mapping[str, Mapping[str, tuple]]
    plots: tuple[Mapping[str, Any], ...]
    score: Mapping[str, Any]
    links: Mapping[str, tuple[int, ...]]
    clients: int

    @property
    def rows(self) -> list[str]:
        """The rows of its table, in order."""
        return [row for job in self.jobs for row in job.rows.values()]


def known() -> list[str]:
    """Return the names of all suites."""
    return sorted(path.stem for path in FOLDER.glob("*.yaml"))


def read(name: object) -> Suite:
    """Return a suite; ArgumentError where there is none of that name."""
    if name not in known():
        typed = "no suite is named" if name is None else f"{names.shown(name)}: there is no such suite"
        raise ArgumentError(f"{typed}{names.nearest(str(name), known())}")
    return parse(str(name), tree.read_yaml(FOLDER / f"{name}.yaml"))


def parse(name: str, data: Mapping[str, Any]) -> Suite:
    """Return a suite of its file's data."""
    return Suite(
        name,
        data["title"],
        data["source"],
        data.get("note", ""),
        data["tool"],
        tuple(data["targets"]),
        tuple(data["columns"]),
        tuple(job for entry in data["jobs"] for job in _jobs(entry)),
        {size: _size(data["sizes"][size], SETTLE[size]) for size in SIZES},
        {where: {row: tuple(cells) for row, cells in rows.items()} for where, rows in data.get("printed", {}).items()},
        tuple({**plot, "rows": _beginnings(plot["rows"])} for plot in data.get("plots", ())),
        {**data["score"], **{key: _beginnings(data["score"][key]) for key in SCORED}} if "score" in data else {},
        {label: tuple(rates) for label, rates in data.get("links", {}).items()},
        int(data.get("clients", 0)),
    )


def targets(suite: Suite, typed: object) -> tuple[str, ...]:
    """Return what a suite is to run on, as typed with commas between; without, all that it is for."""
    if typed is None:
        return suite.targets
    asked = tuple(word.strip() for word in str(typed).split(",") if word.strip())
    for word in asked:
        if word not in suite.targets:
            raise ArgumentError(
                f"target={names.shown(word)}: {suite.name} runs on {', '.join(suite.targets)}, which it makes and "
                "takes away again; no benchmark runs on a pool that exists"
            )
    if not asked:
        raise ArgumentError(
            f"target={names.shown(typed)}: expected some of {', '.join(suite.targets)}; leave it out for all"
        )
    return asked


def size(suite: Suite, typed: object) -> Size:
    """Return the size that was typed."""
    if typed not in SIZES:
        raise ArgumentError(f"size={names.shown(typed)}: expected {' or '.join(SIZES)}")
    return suite.sizes[str(typed)]


def clients(suite: Suite, generators: int) -> list[str]:
    """Return a line where another number of hosts makes load than made the document's."""
    if suite.clients in (0, generators):
        return []
    return [f"load from {counted(generators, 'host')}, where the document had {suite.clients}"]


def seconds(suite: Suite, chosen: Size, places: int) -> int:
    """Return about how long a run takes on so many places: its jobs, with the time between them and the prefill."""
    each = chosen.seconds + int(chosen.options.get("ramp_time", 0)) + 2 * LEAST + chosen.settle
    return places * (each * len(suite.jobs) * chosen.repeats + 2 * each)


def _jobs(entry: Mapping[str, Any]) -> Iterator[Job]:
    """A job, or one for each block size where there are several: ``bs: {4k: {latency_target: 10ms}, 1M: {}}``."""
    options = {key: value for key, value in entry.items() if key not in ("name", "rows", "figure", "bs")}
    blocks = entry.get("bs", "")
    many = blocks if isinstance(blocks, Mapping) else {str(blocks): {}}
    for block, more in many.items():
        name = f"{entry['name']} {block}" if isinstance(blocks, Mapping) else entry["name"]
        rows = entry.get("rows", "write")
        each = {rows: name} if isinstance(rows, str) else {way: f"{name}, {said}" for way, said in rows.items()}
        yield Job(name, each, {**options, **({"bs": block} if block else {}), **more}, str(entry.get("figure", "")))


def _beginnings(typed: str | list[str]) -> tuple[str, ...]:
    """What the names of some rows begin with."""
    return (typed,) if isinstance(typed, str) else tuple(typed)


def _size(data: Mapping[str, Any], settle: int) -> Size:
    return Size(
        dict(data.get("options", {})),
        int(data["seconds"]),
        sizes.parse_size("image", data["image"]) if "image" in data else 0,
        float(data.get("share", 0)),
        int(data.get("images", 1)),
        int(data.get("repeats", 1)),
        int(data.get("drop", 0)),
        int(data.get("groups", 0)),
        settle,
        float(data.get("filesize", 1)),
    )
