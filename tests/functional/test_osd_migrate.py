"""DB and WAL moved on a host: a disk, its tool and systemd are played, each moment is an interruption."""

import contextlib
import fcntl
import json
import shutil
import struct
import subprocess
import sys
from collections import Counter
from pathlib import Path
from types import SimpleNamespace

import halocline
import pytest
from salt.exceptions import CommandExecutionError
from saltfactories.utils.loader import LoaderModuleMock

FSID = "6b0c8f3e-0000-4000-8000-000000000001"
OLD, NEW, GIB = "/dev/old", "/dev/new", 1 << 30
TO_NEW = {"db": {"disk": NEW, "size": 4 * GIB}}
WAL, TO_WAL = {"disk": OLD, "size": 2 * GIB}, {"wal": {"disk": NEW, "size": 2 * GIB}}
BACK = {"db": None}
MOVES = {
    "a DB where none was": ({}, TO_NEW),
    "a DB to another device": ({"db": OLD}, TO_NEW),
    "a larger DB on the same device": ({"db": OLD}, {"db": {"disk": OLD, "size": 4 * GIB}}),
    "a DB back to the data disk": ({"db": OLD}, BACK),
    "a WAL beside a DB": ({"db": OLD}, {"db": WAL, **TO_WAL}),
    "a WAL alone": ({}, TO_WAL),
    "a WAL alone to another device": ({"wal": OLD}, TO_WAL),
    "a WAL to another device, its DB stays": ({"db": OLD, "wal": OLD}, {"db": WAL, **TO_WAL}),
    "a DB to another device, its WAL stays": ({"db": OLD, "wal": OLD}, {**TO_NEW, "wal": WAL}),
    "both to another device": ({"db": OLD, "wal": OLD}, {**TO_NEW, **TO_WAL}),
    "both where none was": ({}, {**TO_NEW, **TO_WAL}),
    "both into a DB": ({"db": OLD, "wal": OLD}, {**TO_NEW, "wal": None}),
    "both back to the data disk": ({"db": OLD, "wal": OLD}, {**BACK, "wal": None}),
    "a DB back, its WAL stays": ({"db": OLD, "wal": OLD}, {**BACK, "wal": WAL}),
}
REFUSED = {
    "a WAL into a DB that stays": ({"db": OLD, "wal": OLD}, {"wal": None}),
    "a WAL alone to the data disk": ({"wal": OLD}, {"wal": None}),
    "a DB beside a WAL that is alone": ({"wal": OLD}, {**TO_NEW, "wal": WAL}),
}


LINKS = {"db": "block.db", "wal": "block.wal"}


class Killed(BaseException):
    """The minion's process ends at this moment."""


class Host:
    """osd.3, its slots, its record and its unit. What must not be is asserted where it would happen.

    ``holds`` is what version of a part lies in which place; the OSD writes a new one each time that it runs."""

    def __init__(self, root, modules, method, lies, moves):
        self.root, self.moves, self.method = root, moves, method
        self.module, self.copy, self.record, self.way = modules
        self.folder, self.by = root / "osd/ceph-3", root / "by"
        for folder in (self.folder, self.by, root / "records"):
            folder.mkdir(parents=True)
        self.tags = {}
        (self.folder / "fsid").write_text(FSID)
        (root / "data").write_bytes(bytes(16384))
        (self.folder / "block").symlink_to(root / "data")
        self.slots, self.holds, self.version, self.running, self.spilled = {}, {}, 1, True, 0
        self.steps, self.kill, self.fails, self.log, self.away = 0, None, set(), [], False
        self.first = {role: f"{role}-1" for role in lies}
        for role, disk in lies.items():
            self.slot(self.first[role], disk, 2 * GIB)
        self.written(self.first)
        if method == "lvm":
            self.slot("data-1", "/dev/data", 9 * GIB)
            self.tags["data-1"] = {"ceph.osd_fsid": FSID, "ceph.osd_id": "3", "ceph.type": "block"}

    def written(self, names):
        """A daemon that runs writes both parts where its links lead, and nowhere else."""
        self.version += 1
        for role in ("db", "wal"):
            self.holds[role, self.place(role, names)] = self.version
        self.points(names)

    def points(self, names, base=None):
        """The superblock, beside the DB: it says where the log is, which is where a WAL would be."""
        base = base or (self.path(names["db"]) if "db" in names else self.root / "data")
        with base.open("r+b") as device:
            device.seek(4096)
            device.write(self.place("wal", names).ljust(4096).encode())

    def pointed(self, names):
        base = self.path(names["db"]) if "db" in names else self.root / "data"
        return base.read_bytes()[4096:8192].decode().strip()

    def slot(self, name, disk, size):
        path = self.path(name, disk)
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(bytes(16384))
        self.slots[name] = {"disk": disk, "size": size}
        self.tags[name] = {}

    def path(self, name, disk=None):
        return self.by / (f"ceph-{Path(disk or self.slots[name]['disk']).name}" if self.method == "lvm" else "") / name

    def lying(self):
        """What the OSD's record says, or the tags of its volumes."""
        return (self.record.lies() if self.method == "lvm" else self.record.read())[FSID]

    def names(self):
        """The slots of DB and WAL that are there."""
        return set(self.slots) - {"data-1"}

    def links(self):
        return {
            role: (self.folder / link).readlink().name
            for role, link in LINKS.items()
            if (self.folder / link).is_symlink()
        }

    def place(self, role, links):
        return links.get(role) or (links.get("db") if role == "wal" else None) or "data"

    def whole(self, links):
        newest = all(self.holds.get((role, self.place(role, links))) == self.version for role in ("db", "wal"))
        return newest and self.pointed(links) == self.place("wal", links)

    def step(self, what, function, *words):
        """One change, before which the process may be killed: as good as behind the one before."""
        self.steps += 1
        if self.steps == self.kill:
            raise Killed
        answer = function(*words)
        self.log.append(what)
        return answer

    # What the module asks.

    def osds(self):
        slots = self.first if self.away else self.lying()["slots"]  # as it lies, where its label can be read
        parts = {role: {**self.slots[name], "partuuid": name} for role, name in slots.items() if role != "data"}
        return [{"fsid": FSID, "method": self.method, "moves": self.moves, "parts": {"data": {"disk": "d"}, **parts}}]

    def run(self, command):
        verb = command[1]
        if verb == "stop":
            self.running = False
        elif verb == "start" and not self.running:
            record = self.lying()
            assert record["moving"] is None, "started while a part is between two places"
            links = self.links()
            assert links == {role: name for role, name in record["slots"].items() if role != "data"}
            assert self.whole(links), "started where its newest DB or WAL is not"
            self.running = True
            self.written(links)

    def tool(self, command):
        """As ``ceph-bluestore-tool`` does: it reads the sources, writes the target, last the superblock and a link."""
        assert not self.running and self.lying()["moving"] in ("db", "wal")
        words = [Path(word).name for word in command]
        kind = next(word for word in words if word.startswith(("bluefs", "fsck")))
        if kind in self.fails:
            self.fails.discard(kind)
            raise CommandExecutionError(f"{kind} failed")
        links = self.links()
        if kind == "fsck":
            assert self.whole(links), "fsck would find it broken"
        elif kind.startswith("bluefs-bdev-new-"):
            self.made(kind.rpartition("-")[2], Path(command[-1]), links)
        else:
            sources = [word for before, word in zip(words, words[1:], strict=False) if before == "--devs-source"]
            self.copied(sources, Path(command[-1]), links)

    def made(self, role, slot, links):
        assert role not in links and not (role == "db" and "wal" in links)
        self.fresh(slot)
        if role == "wal":
            self.holds["wal", slot.name] = self.version
        else:  # the log and all that is written from now on; what lies stays where it lies
            self.holds |= {("db", slot.name): "data", ("wal", slot.name): self.version}
        (self.folder / LINKS[role]).symlink_to(slot)
        self.points(self.links())

    def copied(self, sources, target, links):
        if sources == ["block"]:
            assert self.holds["db", links["db"]] == "data" and self.holds["db", "data"] == self.version
            self.holds["db", links["db"]] = self.version
            return
        roles = [{"block.db": "db", "block.wal": "wal"}[source] for source in sources]
        assert self.whole(links) and (target.name in self.slots or "db" in roles), "cannot begin again"
        assert "wal" in roles or "wal" not in links, "a log that stays is written over"
        first = roles[0]
        for source in sources:
            (self.folder / source).unlink()
        if target.name in self.slots:
            self.fresh(target)
            (self.folder / LINKS[first]).symlink_to(target)
        now = self.links()
        for each in ("db", "wal") if first == "db" else ("wal",):
            self.holds[each, self.place(each, now)] = self.holds[each, self.place(each, links)]
        self.points(now)

    def fresh(self, slot):
        assert slot.read_bytes()[:8192] == bytes(8192), "half a copy lies there"
        slot.write_bytes(b"label" + slot.read_bytes()[5:])

    def make(self, osds):
        for role, part in osds[0]["parts"].items():
            assert part["partuuid"] not in {*self.lying()["slots"].values()}
            if part["partuuid"] not in self.slots:
                self.slot(part["partuuid"], part["disk"], part["size"])
            assert role in self.moves
        return []

    def remove(self, disk, numbers):
        (name,) = (
            name for name in self.slots if name.endswith(f"-{numbers[0] % 10}") and self.number(name) == numbers[0]
        )
        self.gone(name)

    def gone(self, name):
        assert self.running and self.whole(self.links()) and name not in self.links().values()
        self.path(name).unlink()
        del self.slots[name]

    @staticmethod
    def number(name):
        role, _, which = name.partition("-")
        return {"db": 10, "wal": 20}[role] + int(which)

    def partitions(self, disk):
        own = [name for name, slot in self.slots.items() if slot["disk"] == disk]
        return {"partitions": [{"number": self.number(name), "uuid": name, "name": FSID} for name in own]}

    def daemon(self, command, limit=None):
        assert command == ["ceph", "daemon", "osd.3", "perf", "dump", "bluefs"] and self.running
        return json.dumps({"bluefs": {"slow_used_bytes": self.spilled}})

    # What LVM and ceph-volume are asked.

    def groups(self):
        found = {}
        for name, slot in self.slots.items():
            path, role = self.path(name), name.partition("-")[0]
            volume = {"name": name, "slot": name, "uuid": f"uuid-{name}", "path": str(path), "tags": self.tags[name]}
            group = found.setdefault(slot["disk"], {"group": path.parent.name, "volumes": []})
            group["volumes"].append({**volume, "role": role, "open": False})
        return found

    def lvm(self, command, limit=None):
        name = Path(command[-1]).name
        if command[0] == "lvchange":
            self.step("tag", self.tag, name, command[2:-1])
        elif command[0] == "lvremove":
            self.step("remove", self.gone, name)
        else:
            assert command == ["ceph-volume", "lvm", "activate", "--bluestore", "--no-systemd", "3", FSID]
            self.step("activate", self.activate)

    def tag(self, name, words):
        assert not self.running and self.lying()["moving"], "tags change while the OSD may start"
        tags = dict(self.tags[name])
        for word in words:
            verb, key, value = word.split("=", 2)
            assert verb == "--addtag" or tags.pop(key) == value
            tags |= {key: value} if verb == "--addtag" else {}
        self.tags[name] = tags

    def activate(self):
        """As ``ceph-volume lvm activate`` does: links by the data volume's tags, and the folder, if it is gone."""
        self.folder.mkdir(exist_ok=True)
        (self.folder / "fsid").write_text(FSID)
        if not (self.folder / "block").exists():
            (self.folder / "block").symlink_to(self.root / "data")
        own = {name: tags for name, tags in self.tags.items() if tags.get("ceph.osd_fsid") == FSID}
        for role, link in LINKS.items():
            (self.folder / link).unlink(missing_ok=True)
            if uuid := own["data-1"].get(f"ceph.{role}_uuid"):
                (name,) = (name for name, tags in own.items() if tags["ceph.type"] == role)
                assert uuid == f"uuid-{name}"
                (self.folder / link).symlink_to(self.path(name))


@pytest.fixture(params=["raw", "lvm"])
def host(python_module, tmp_path, monkeypatch, request):
    """A function: a host whose OSD lies so, and is to lie so; on partitions and on logical volumes."""
    method = request.param
    modules = tuple(python_module(name) for name in ("osd_migrate", "osd_copy", "osd_record", f"osd_{method}_slots"))
    module, copy, record, way = modules
    clear, keep, put_back, attach = copy._clear, copy._keep, copy._put_back, way.attach
    mocks = []

    def make(lies, moves):
        root = tmp_path / str(len(mocks))
        for place, name, path in (
            (module, "DATA_DIR", "osd"),
            (copy, "DATA_DIR", "osd"),
            (way, "DATA_DIR", "osd"),
            (way, "DEV" if method == "lvm" else "BY_PARTUUID", "by"),
            (record, "RECORDS", "records"),
            (copy, "RECORDS", "records"),
        ):
            monkeypatch.setattr(place, name, root / path)
        made = Host(root, modules, method, lies, moves)
        asks = {
            "osd_record.read": record.read,
            "osd_record.lies": record.lies,
            "osd_record.drop": lambda osd_id: made.step("write", record.drop, osd_id),
            "osd_record.write": lambda *words: made.step("write", record.write, *words),
            "osd_copy.part": copy.part,
            "osd_copy.settle": copy.settle,
            **{f"osd_{method}_slots.{name}": getattr(way, name) for name in ("node", "on", "attached")},
            **{f"osd_{method}_slots.{name}": getattr(way, name) for name in ("free", "settle")},
            f"osd_{method}_slots.attach": attach
            if method == "lvm"
            else lambda *words: made.step("attach", attach, *words),
            "osd_plan.osds": made.osds,
            "osd_names.slots": lambda fsid, role: [f"{role}-1", f"{role}-2"],
            "osd_names.volume": lambda fsid, role, slot: slot,
            "osd_names.group": lambda disk: f"ceph-{Path(disk).name}",
            "osd_names.owner": lambda name, slot: (name.partition("-")[0], FSID),
            "osd_guard.problem": lambda *words: None,
            f"osd_{method}_parts.make": lambda osds: made.step("make", made.make, osds),
            "osd_raw_parts.remove": lambda disk, numbers: made.step("remove", made.remove, disk, numbers),
            "disks_lvm.groups": made.groups,
            "disks_kernel.in_use": dict,
            "disks_kernel.size": lambda node: made.slots[Path(node).name]["size"],
            "disks_kernel.holder": lambda node: made.slots[Path(node).name]["disk"],
            "disks.partitions": made.partitions,
            "daemons.forgive": lambda units: None,
            "service.status": lambda unit: made.running,
        }
        own = {
            "__salt__": asks,
            "__pillar__": {"ceph": {"storage": {}}},
            "_run": lambda command: made.step(command[1], made.run, command),
            "halocline": SimpleNamespace(run=made.daemon, locked=halocline.locked, side_by_side=halocline.side_by_side),
        }
        copying = {
            "__salt__": asks,
            "_tool": lambda command: made.step("tool", made.tool, command),
            "_clear": lambda slot: made.step("clear", clear, slot),
            "_keep": lambda *words: made.step("keep", keep, *words),
            "_put_back": lambda *words: made.step("put back", put_back, *words),
        }
        runs = SimpleNamespace(run=made.lvm, unused=halocline.unused)
        naming = {"__salt__": asks, **({"halocline": runs} if method == "lvm" else {})}
        mock = LoaderModuleMock({module: own, copy: copying, record: {"__salt__": asks}, way: naming})
        mock.__enter__()
        mocks.append(mock)
        made.asks = asks
        slots, running = {"data": "data-1", **made.first}, made.running
        made.running, made.step = False, lambda what, function, *words: function(*words)
        record.write(3, FSID, slots, "db")
        attach(3, FSID, slots)
        way.settle(3, FSID, slots)
        del made.step
        made.running = running
        return made

    yield make
    for mock in mocks:
        mock.__exit__(None, None, None)


def migrate(host):
    """What ``salt-run osd.migrate`` asks a host, in its order."""
    for osd in host.module.inspect():
        host.module.prepare(osd["fsid"])
        host.module.together([osd["fsid"]], [osd["fsid"]])
        host.module.free(osd["fsid"])


def there(host):
    """Whether all is where it is to be, and nothing is left."""
    slots = {role: name for role, name in host.lying()["slots"].items() if role != "data"}
    assert host.running and host.whole(host.links()) and host.links() == slots
    assert host.names() == set(slots.values()), "a slot is left, or lost"
    assert [path.name for path in (host.root / "records").glob("*.superblock")] == []
    for role, to in host.moves.items():
        assert (role in slots) == bool(to)
        assert to is None or host.slots[slots[role]] == to
    return host.module.inspect() == []


@pytest.mark.parametrize(("lies", "moves"), MOVES.values(), ids=MOVES)
def test_it_lies_where_it_was_planned_and_a_second_run_does_nothing(host, lies, moves):
    osd = host(lies, moves)
    migrate(osd)
    assert there(osd)
    steps = osd.steps
    migrate(osd)
    assert osd.steps == steps and osd.module.prepare(FSID) == [] and osd.module.free(FSID) == []


@pytest.mark.parametrize("lies", [{}, {"db": OLD}])
def test_a_new_slot_that_is_gone_again_is_not_mistaken_for_the_data_disk(host, lies):
    """Its device was pulled, or udev has taken its name away for a moment, between prepare and the copy."""
    osd = host(lies, TO_NEW)
    osd.module.prepare(FSID)
    (new,) = osd.names() - set(osd.first.values())
    path = osd.path(new)
    path.rename(path.with_name("away"))
    with pytest.raises(CommandExecutionError, match="runs where it lay, its db was not moved: .* is not on this host"):
        osd.module.together([FSID], [FSID])
    assert osd.running and osd.whole(osd.links()) and osd.links() == osd.first and "tool" not in osd.log
    path.with_name("away").rename(path)
    migrate(osd)
    assert there(osd)


@pytest.mark.slow
@pytest.mark.parametrize(("lies", "moves"), MOVES.values(), ids=MOVES)
def test_killed_between_any_two_steps_the_same_command_goes_on(host, lies, moves):
    kills = Counter()
    for at in range(1, 60):
        osd = host(lies, moves)
        osd.kill = at
        try:
            migrate(osd)
        except Killed:
            kills[osd.log[-1] if osd.log else "none"] += 1
        else:
            break
        osd.kill = None
        for role in ("db", "wal"):
            assert osd.version in [osd.holds[key] for key in osd.holds if key[0] == role], f"its newest {role} is lost"
        old = {f"{role}-1" for role in lies if role in moves and osd.slots.get(f"{role}-1") != moves[role]}
        if not osd.running:
            assert old <= osd.names(), "a slot was freed before its OSD ran elsewhere"
        migrate(osd)
        assert there(osd)
    assert sum(kills.values()) > 5 and at < 59


@pytest.mark.parametrize("fails", ["bluefs-bdev-migrate", "bluefs-bdev-new-db", "fsck"])
def test_a_copy_that_fails_leaves_the_osd_running_where_it_lay(host, fails):
    lies, moves = MOVES["a DB where none was" if "new" in fails else "a DB to another device"]
    osd = host(lies, moves)
    osd.fails = {fails}
    with pytest.raises(CommandExecutionError, match=f"osd.3 runs where it lay, its db was not moved: {fails} failed"):
        migrate(osd)
    assert osd.running and set(osd.links()) == set(lies) and osd.whole(osd.links())
    assert osd.lying()["moving"] is None
    migrate(osd)
    assert there(osd)


def test_a_new_device_that_cannot_be_written_leaves_the_osd_where_it_lay(host):
    osd = host(*MOVES["a DB where none was"])
    whole = osd.copy._clear

    def clear(slot):
        raise OSError(5, "Input/output error")

    osd.copy._clear = clear
    try:
        with pytest.raises(
            CommandExecutionError, match="runs where it lay, its db was not moved: .*Input/output error"
        ):
            migrate(osd)
    finally:
        osd.copy._clear = whole
    assert osd.running and osd.links() == {} and osd.lying()["moving"] is None
    migrate(osd)
    assert there(osd)


@pytest.mark.parametrize(("lies", "moves"), REFUSED.values(), ids=REFUSED)
def test_what_could_not_begin_again_is_refused_before_anything_is_changed(host, lies, moves):
    osd = host(lies, moves)
    for function, *more in ((osd.module.prepare,), (osd.module.move, True), (osd.module.free,)):
        with pytest.raises(CommandExecutionError, match="osd.3 is not moved: it"):
            function(FSID, *more)
    assert osd.steps == 0 and osd.running and [bool(each["refused"]) for each in osd.module.inspect()] == [True]


def test_nothing_is_freed_while_the_osd_is_down_or_lies_otherwise_than_recorded(host):
    osd = host(*MOVES["a DB to another device"])
    osd.module.prepare(FSID)
    assert osd.module.free(FSID) == [] and osd.names() == {"db-1", "db-2"}
    osd.module.move(FSID, True)
    osd.running = False
    with pytest.raises(CommandExecutionError, match="the old ones are kept"):
        osd.module.free(FSID)
    osd.running = True
    link = osd.folder / "block.db"
    link.unlink()
    link.symlink_to(osd.path("db-1"))
    with pytest.raises(CommandExecutionError, match="the old ones are kept"):
        osd.module.free(FSID)
    assert osd.names() == {"db-1", "db-2"}


def test_a_slot_that_is_in_use_is_not_freed(host, tmp_path):
    osd = host(*MOVES["a DB to another device"])
    osd.module.prepare(FSID)
    osd.module.move(FSID, True)
    with osd.path("db-1").open("rb") as device:
        fcntl.flock(device, fcntl.LOCK_EX)
        with pytest.raises(CommandExecutionError, match="db-1 is in use"):
            osd.module.free(FSID)
    with osd.path("db-1").open(
        "r+b"
    ) as device:  # as Ceph 16 does: struct flock of the whole file, owned by its opening
        fcntl.fcntl(device, fcntl.F_OFD_SETLK, struct.pack("hhqqi4x", fcntl.F_WRLCK, 0, 0, 0, 0))
        with pytest.raises(CommandExecutionError, match="db-1 is in use"):
            osd.module.free(FSID)
    (freed,) = osd.module.free(FSID)
    assert freed == f"partition 11 of {OLD}" if osd.method == "raw" else freed.startswith("volume ")


def test_a_disk_that_must_not_be_touched_is_refused_while_the_osd_runs(host):
    osd = host(*MOVES["a DB to another device"])
    osd.asks["osd_guard.problem"] = lambda disk, *_: f"carries partition 1 (x), on {disk}"
    with pytest.raises(CommandExecutionError, match="osd.3 is not moved, /dev/new carries partition 1"):
        migrate(osd)
    assert osd.running and osd.steps == 0


def test_a_slot_that_was_made_for_another_place_goes_first(host):
    osd = host(*MOVES["a DB to another device"])
    osd.module.prepare(FSID)
    osd.moves = {"db": {"disk": "/dev/third", "size": 4 * GIB}}
    osd.module.prepare(FSID)
    assert osd.slots["db-2"] == {"disk": "/dev/third", "size": 4 * GIB} and osd.log == ["make", "remove", "make"]
    migrate(osd)
    assert there(osd)


def test_two_runs_at_once_do_not_meet(host):
    osd = host(*MOVES["a DB to another device"])
    osd.module.prepare(FSID)
    with (osd.folder / "migrating").open("a") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        with pytest.raises(CommandExecutionError, match="osd.3 is being moved by another run"):
            osd.module.move(FSID, True)
    assert osd.running and osd.links() == {"db": "db-1"}
    migrate(osd)
    assert there(osd)


@pytest.mark.slow
def test_what_is_left_of_a_run_that_still_copies_is_waited_for(host):
    """The minion was killed, its tool was not: another process holds the OSD's fsid."""
    osd = host(*MOVES["a DB to another device"])
    osd.module.prepare(FSID)
    holds = "f = open(sys.argv[1], 'r+b'); fcntl.lockf(f, fcntl.LOCK_EX); print('held', flush=True); sys.stdin.read()"
    command = [sys.executable, "-c", f"import fcntl, sys; {holds}", str(osd.folder / "fsid")]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as tool:
        assert tool.stdout.readline() == "held\n"
        with pytest.raises(CommandExecutionError, match="something still works on it"):
            osd.module.move(FSID, True)
        assert osd.lying()["moving"] is None and "clear" not in osd.log
        tool.stdin.close()
    migrate(osd)
    assert there(osd)


def test_a_move_that_is_called_off_goes_back(host):
    osd = host(*MOVES["a DB to another device"])
    osd.kill = osd.steps + 7
    with pytest.raises(Killed):
        migrate(osd)
    assert osd.lying()["moving"] == "db" and not osd.running
    osd.kill, osd.moves = None, {}
    migrate(osd)
    assert osd.running and osd.links() == {"db": "db-1"} and osd.names() == {"db-1"}


@pytest.mark.parametrize("host", ["lvm"], indirect=True)
@pytest.mark.parametrize("at", range(1, 30))
def test_a_host_that_restarts_in_between_has_its_folders_in_memory_anew(host, at):
    """On logical volumes: nothing starts it that is between two places, all else starts by itself."""
    osd = host(*MOVES["a DB where none was"])
    osd.kill = at + 1
    with contextlib.suppress(Killed):
        migrate(osd)
    osd.kill, osd.running = None, False
    shutil.rmtree(osd.folder)
    if osd.lying()["moving"] is None:
        osd.activate()
        osd.run(["systemctl", "start", "ceph-osd@3"])
    migrate(osd)
    assert there(osd)


@pytest.mark.parametrize("host", ["lvm"], indirect=True)
def test_an_encrypted_osd_is_told_and_not_touched(host):
    osd = host(*MOVES["a DB to another device"])
    osd.tags["data-1"]["ceph.encrypted"] = "1"
    assert [each["refused"] for each in osd.module.inspect()] == ["it is encrypted"]
    for function, *more in ((osd.module.prepare,), (osd.module.move, True), (osd.module.free,)):
        with pytest.raises(CommandExecutionError, match="osd.3 is not moved: it is encrypted"):
            function(FSID, *more)
    assert osd.steps == 0


@pytest.mark.parametrize("host", ["lvm"], indirect=True)
def test_an_osd_of_which_two_disks_carry_a_part_is_not_touched(host):
    """The device that died is back in the host: an interrupted copy would begin again from either."""
    osd, back = host(*MOVES["a DB to another device"]), Path("/dev/ceph-back/db-1")
    volume = {"name": "db-1", "slot": "db-1", "uuid": "u", "path": str(back), "tags": osd.tags["db-1"], "open": False}
    osd.asks["disks_lvm.groups"] = lambda: {**osd.groups(), "/dev/back": {"group": "ceph-back", "volumes": [volume]}}
    says = "/dev/old and /dev/back carry its db: take the one that was away out"
    assert [each["refused"] for each in osd.module.inspect()] == [says]
    for function, *more in ((osd.module.prepare,), (osd.module.move, True), (osd.module.free,)):
        with pytest.raises(CommandExecutionError, match=f"osd.3 is not moved: {says}"):
            function(FSID, *more)
    assert osd.running and osd.steps == 0


def test_where_its_data_disk_is_away_no_slot_is_touched(host):
    """Then the plan has it where it lay before it moved: its DB would be cleared as an empty target, or freed."""
    osd = host(*MOVES["a DB to another device"])
    osd.module.prepare(FSID)
    osd.module.move(FSID, True)
    osd.away, osd.running, steps = True, False, osd.steps
    assert [each["refused"] for each in osd.module.inspect()] == ["its data disk cannot be read: bring that back first"]
    for function, *more in ((osd.module.prepare,), (osd.module.move, True), (osd.module.free,)):
        with pytest.raises(CommandExecutionError, match="osd.3 is not moved: its data disk cannot be read"):
            function(FSID, *more)
    assert osd.steps == steps and osd.whole(osd.links())
    osd.away, osd.running = False, True
    migrate(osd)
    assert there(osd)


def test_one_that_came_up_meanwhile_is_not_stopped(host):
    osd = host(*MOVES["a DB to another device"])
    osd.module.prepare(FSID)
    with pytest.raises(CommandExecutionError, match="osd.3 was down and runs by now: nothing was changed"):
        osd.module.together([FSID], [])
    assert osd.running and osd.links() == osd.first


@pytest.mark.slow
def test_a_db_that_has_spilled_over_stays(host):
    """A file on both devices could be written over on the way: the OSD runs on, untouched."""
    osd = host(*MOVES["a DB back to the data disk"])
    osd.spilled = 65536
    with pytest.raises(
        CommandExecutionError, match="osd.3 runs on: 65536 bytes of its DB lie on the data disk already"
    ):
        migrate(osd)
    assert osd.running and osd.steps == 0 and osd.links() == {"db": "db-1"}
    osd.spilled = 0
    migrate(osd)
    assert there(osd)


@pytest.mark.parametrize("copying", [False, True])
def test_a_db_that_has_spilled_over_stays_also_where_another_move_was_begun(host, copying):
    """It was stopped for that one, which does not ask: it is started where it lies, and asked."""
    for at in range(1, 30):
        osd = host(*MOVES["a DB to another device"])
        osd.kill = osd.steps + at
        with pytest.raises(Killed):
            migrate(osd)
        if not osd.running and bool(osd.lying()["moving"]) == copying:
            break
    osd.kill, osd.moves, osd.spilled = None, BACK, 65536
    with pytest.raises(CommandExecutionError, match="osd.3 runs where it lay: it was stopped for another move"):
        migrate(osd)
    with pytest.raises(CommandExecutionError, match="65536 bytes of its DB lie on the data disk already"):
        migrate(osd)
    assert osd.running and osd.links() == {"db": "db-1"} and not osd.lying()["moving"]
    osd.spilled = 0
    migrate(osd)
    assert there(osd)
