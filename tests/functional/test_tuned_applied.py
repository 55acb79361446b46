"""What TuneD is told and keeps, over a tree of sysctls: ``tuned-adm`` is a program of this test, which sets and puts
back as TuneD does and knows the profiles of its own folder alone."""

import importlib.util
import resource
import sys
from pathlib import Path

import pytest
from saltfactories.utils.loader import LoaderModuleMock

STATE = Path(__file__).parents[2] / "salt/_states/tunings.py"
USED = ("tunings.wanted", "tunings.settings", "tunings.check", "tunings_hardware.real")
USED += tuple(f"tunings_tuned.{verb}" for verb in ("active", "boots", "files", "ours", "there", "apply", "remove"))
TUNED_ADM = """#!{python}
import configparser, json, pathlib, sys
home, proc = pathlib.Path({home!r}), pathlib.Path({proc!r})
runs, was = home / "runs", home / "was"
profiles = pathlib.Path((home / "reads").read_text())
verb, name = sys.argv[1], sys.argv[-1]
if verb == "active":
    sys.exit(print("Current active profile:", runs.read_text()) if runs.exists() else 1)
own = profiles / name / "tuned.conf"
if verb == "profile" and not own.exists() and name != "theirs":
    sys.exit(f"Requested profile '{{name}}' doesn't exist.")
if was.exists():
    for key, value in json.loads(was.read_text()).items():
        (proc / key).write_text(value)
    was.unlink()
runs.unlink(missing_ok=True)
if verb == "profile":
    runs.write_text(name)
    read = configparser.ConfigParser(delimiters="=")
    read.read(own)
    kept = {{}}
    for key, value in read.items("sysctl") if read.has_section("sysctl") else ():
        path = proc / key.replace(".", "/")
        now = path.read_text()
        if value.startswith(">") and int(now) >= int(value[1:]):
            continue
        kept[str(path.relative_to(proc))] = now
        path.write_text(value.lstrip(">"))
    was.write_text(json.dumps(kept))
"""


@pytest.fixture
def node(with_pillar, python_module, tmp_path, monkeypatch):
    """A node with the profile ceph-throughput; ``reads`` tells where its TuneD finds profiles."""
    for key, value in {"fs/aio-max-nr": "65536", "kernel/pid_max": "32768"}.items():
        (tmp_path / "proc/sys" / key).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "proc/sys" / key).write_text(value)
    for name in ("etc", "home", "programs"):
        (tmp_path / name).mkdir()
    (tmp_path / "reads").write_text(str(tmp_path / "etc"))
    told = {"python": sys.executable, "home": str(tmp_path), "proc": str(tmp_path / "proc/sys")}
    for name, text in {"tuned-adm": TUNED_ADM.format(**told), "systemctl": "#!/bin/sh\n"}.items():
        (tmp_path / "programs" / name).write_text(text)
        (tmp_path / "programs" / name).chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path / "programs"), prepend=":")
    for name in ("tunings", "tunings_hardware"):
        monkeypatch.setattr(python_module(name), "PROC", tmp_path / "proc")
        monkeypatch.setattr(python_module(name), "SYS", tmp_path / "none")
    for name in ("tunings", "tunings_tuned"):
        monkeypatch.setattr(python_module(name), "CONTAINER", tmp_path / "none")
    played = {"FOLDER": tmp_path / "etc", "HOME": tmp_path / "home", "MAIN": tmp_path / "etc/tuned-main.conf"}
    for name, path in {**played, "SHIPPED": tmp_path / "shipped"}.items():
        monkeypatch.setattr(python_module("tunings_tuned"), name, path, raising=False)
    with_pillar(ceph={"tuning": "ceph-throughput"})
    return tmp_path


@pytest.fixture
def applied(modules, node):
    """A function: the answer of the state ``tunings.applied`` on that node."""
    spec = importlib.util.spec_from_file_location("tunings_state", STATE)
    state = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(state)
    state.BEFORE = node / "home/values.json"

    def run(test=False):
        told = {"__salt__": {name: modules[name] for name in USED}, "__opts__": {"test": test}}
        with LoaderModuleMock({state: {**told, "__pillar__": modules.pack["__pillar__"]}}):
            return state.applied("tunings")

    return run


@pytest.mark.slow
@pytest.mark.parametrize("keys", [["fs/aio-max-nr"], ["fs/aio-max-nr", "kernel/pid_max"]], ids=["one", "all"])
def test_what_the_admin_raised_since_stays(node, applied, keys):
    assert applied()["result"] is True
    for key in keys:
        (node / "proc/sys" / key).write_text("8388608")
    again = applied()
    assert (again["result"], again["changes"]) == (True, {}), again
    assert "aio (this host has 8388608 already)" in again["comment"]
    assert [(node / "proc/sys" / key).read_text() for key in keys] == ["8388608"] * len(keys)


MAIN = "daemon = 1\n# profile_dirs = /commented\n{}\n"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("shipped", "named", "reads"),
    [
        (True, "", "etc/profiles"),  # TuneD 2.23 and later: Debian 13, RHEL 10
        (False, "", "etc"),
        (True, "profile_dirs = /usr/lib/tuned,{}/etc", "etc"),
        (False, "profile_dirs=/usr/lib/tuned; {}/own", "own"),
    ],
)
def test_the_profile_lies_where_this_tuned_finds_it(node, applied, with_pillar, shipped, named, reads):
    (node / "home/before").write_text("theirs")
    (node / "etc/ceph-throughput").mkdir()  # as an older TuneD had it
    (node / "etc/ceph-throughput/tuned.conf").touch()
    (node / "etc/tuned-main.conf").write_text(MAIN.format(named.format(node)))
    (node / "reads").write_text(str(node / reads))
    if shipped:
        (node / "shipped").mkdir()
    answer = applied()
    assert answer["result"] is True, answer
    assert (node / "proc/sys/fs/aio-max-nr").read_text() == "1048576"
    assert [path.parent.parent for path in node.rglob("ceph-throughput/tuned.conf")] == [node / reads]
    assert applied()["changes"] == {}
    with_pillar(ceph={"tuning": None})
    assert applied()["changes"] and (node / "runs").read_text() == "theirs"
    assert not list(node.rglob("ceph-throughput"))


@pytest.mark.slow
def test_what_ran_before_is_not_forgotten_by_a_disk_that_was_full(node, applied, with_pillar):
    (node / "runs").write_text("theirs")
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, hard))  # a write fails after the file was made
    try:
        with pytest.raises(OSError, match="too large"):
            applied()
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert applied()["result"] is True
    with_pillar(ceph={"tuning": None})
    assert applied()["changes"] and (node / "runs").read_text() == "theirs"


@pytest.mark.slow
@pytest.mark.parametrize(("value", "kernel"), [(2097152, "2097152"), (True, "1"), (False, "0"), ("1  2", "1\t2")])
def test_a_value_of_a_sites_own_table_that_is_no_text_is_set_once(node, applied, with_pillar, value, kernel):
    """YAML reads 2097152 as a number and `yes` as a boolean; the kernel tells text, and blanks its own way."""
    row = {"id": "aio", "sysctl": "fs.aio-max-nr", "value": value}
    with_pillar(ceph_tunings={"ceph-throughput": {"summary": "ours", "settings": [row]}})
    assert applied()["result"] is True
    assert (node / "proc/sys/fs/aio-max-nr").read_text().split() == kernel.split()
    (node / "proc/sys/fs/aio-max-nr").write_text(f"{kernel}\n")
    again = applied()
    assert (again["result"], again["changes"]) == (True, {}), again


SYSTEMCTL = """#!/bin/sh
case $1 in
is-*) test -e {home}/unit.${{1#is-}} ;;
enable) touch {home}/unit.enabled {home}/unit.active ;;
disable) rm -f {home}/unit.enabled ;;
stop) rm -f {home}/unit.active ;;
esac
"""


@pytest.mark.slow
@pytest.mark.parametrize("before", [[], ["active"], ["enabled"], ["active", "enabled"]], ids="-".join)
def test_tuned_itself_is_after_our_profile_as_it_was_before(node, applied, with_pillar, before):
    (node / "programs/systemctl").write_text(SYSTEMCTL.format(home=node))
    for word in before:
        (node / f"unit.{word}").touch()
    for _ in range(2):
        assert applied()["result"] is True
        (node / "proc/sys/fs/aio-max-nr").write_text("1")  # is set again
    assert sorted(path.suffix for path in node.glob("unit.*")) == [".active", ".enabled"]
    with_pillar(ceph={"tuning": None})
    assert applied()["result"] is True
    assert sorted(path.suffix.lstrip(".") for path in node.glob("unit.*")) == before


@pytest.mark.slow
def test_tuned_that_would_not_start_at_the_next_boot_is_told_and_mended(node, applied):
    (node / "programs/systemctl").write_text(SYSTEMCTL.format(home=node))
    assert applied()["result"] is True
    (node / "unit.enabled").unlink()  # systemctl disable tuned: the settings hold until the next boot
    would = applied(test=True)
    assert would["result"] is None and would["changes"] and not (node / "unit.enabled").exists()
    told = applied()
    assert told["result"] is True and list(told["changes"]) == ["tuned"] and (node / "unit.enabled").exists()
    assert applied(test=True)["changes"] == {}


@pytest.mark.slow
def test_a_profile_of_the_sites_own_goes_with_its_row_of_the_table(node, applied, modules, with_pillar):
    """Whoever takes its choice out of the site's files takes its definition out too."""
    (node / "runs").write_text("theirs")
    row = {"id": "aio", "sysctl": "fs.aio-max-nr", "value": "2097152"}
    shipped = modules.pack["__pillar__"]["ceph_tunings"]
    own = {"summary": "ours", "settings": [row]}
    with_pillar(ceph={"tuning": "busy"}, ceph_tunings={**shipped, "busy": own})
    assert applied()["result"] is True and (node / "proc/sys/fs/aio-max-nr").read_text() == "2097152"
    with_pillar(ceph={"tuning": None}, ceph_tunings=shipped)
    assert applied(test=True)["result"] is None and (node / "runs").read_text() == "busy"
    told = applied()
    assert (told["result"], told["changes"]) == (True, {"profile": {"old": "busy", "new": None}}), told
    assert (node / "proc/sys/fs/aio-max-nr").read_text() == "65536"
    assert (node / "runs").read_text() == "theirs" and not (node / "etc/busy").exists()
    assert applied()["changes"] == {}  # theirs is left alone
