"""The install command: which Python a Salt runs in, what is ours and what is not, what an update keeps."""

import ast
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest


@pytest.fixture
def install(checkout, monkeypatch, tmp_path):
    """The command's modules, with its record under tmp_path."""
    monkeypatch.syspath_prepend(str(checkout / "srv" / "install"))
    import record
    import wanted

    monkeypatch.setattr(record, "LIBRARY", tmp_path / "lib" / "python")
    monkeypatch.setattr(record, "RECORD", tmp_path / "lib" / "installed.json")
    yield record, wanted
    for name in ("record", "wanted", "owned"):
        sys.modules.pop(name, None)


@pytest.fixture
def main(install, checkout):
    import importlib.util

    spec = importlib.util.spec_from_file_location("command", checkout / "srv" / "install" / "__main__.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def typed(install, main, checkout, monkeypatch, tmp_path):
    """The command as it is typed in a folder with a tree of its own, all of whose places are below tmp_path."""
    record, wanted = install
    home, config = tmp_path / "home", tmp_path / "etc"
    tree = tmp_path / "checkout"
    shutil.copytree(checkout / "srv", tree / "srv", ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("setup.cfg", "README.md"):
        shutil.copy(checkout / name, tree)
    (config / "master.d").mkdir(parents=True)
    for module in (wanted, main):
        monkeypatch.setattr(module, "HOME", home)
        monkeypatch.setattr(module, "LIBRARY", record.LIBRARY)
    monkeypatch.setattr(wanted, "SHARED", tmp_path / "share")
    monkeypatch.setattr(wanted, "LOGROTATE", str(tmp_path / "logrotate"))
    monkeypatch.setattr(wanted, "PACKAGED", str(tmp_path / "package"))
    monkeypatch.setattr(wanted.sysconfig, "get_path", lambda name: str(tmp_path / "purelib"))
    monkeypatch.setattr(main, "LOADS", "pass # {} {}")  # our drop-in names /srv/halocline

    def install_from(folder):
        for module in (wanted, main):
            monkeypatch.setattr(module, "CHECKOUT", folder)
        main.install(config, False)

    return install_from


@pytest.mark.slow
def test_an_update_says_whatever_has_read_the_code_from_before(typed, tmp_path, capsys):
    typed(tmp_path / "checkout")
    assert "\nnow: systemctl restart salt-master (to undo" in capsys.readouterr().out
    (tmp_path / "etc/master.d/halocline-page.conf").touch()
    typed(tmp_path / "checkout")
    assert "\nnow: systemctl restart salt-master salt-api (to undo" in capsys.readouterr().out


@pytest.mark.slow
def test_the_installed_tree_drops_nothing_that_it_cannot_bring_again(typed, install, tmp_path):
    record, _ = install
    checkout, home = tmp_path / "checkout", tmp_path / "home"
    typed(checkout)
    typed(home)  # what is whole stays
    (home / "README.md").unlink()
    (home / "setup.cfg").write_text((home / "setup.cfg").read_text() + "# edited\n")
    before = record.RECORD.read_text()
    with pytest.raises(record.InstallError, match="README.md, .*setup.cfg; move away what is edited") as refused:
        typed(home)
    assert f"then run 'python3 {checkout}/srv/install'" in str(refused.value)
    assert record.RECORD.read_text() == before
    (home / "setup.cfg").rename(tmp_path / "mine")
    typed(checkout)
    assert (home / "README.md").is_file() and (home / "setup.cfg").is_file()
    typed(home)
    (home / "README.md").unlink()
    shutil.rmtree(checkout)
    with pytest.raises(record.InstallError, match="then run srv/install of a checkout of Halocline"):
        typed(home)


@pytest.mark.slow
def test_an_update_that_does_not_load_takes_nothing_away(typed, main, install, tmp_path, monkeypatch):
    record, _ = install
    fails = "raise SystemExit('no such module') # {} {}"
    works, main.LOADS = main.LOADS, fails
    with pytest.raises(record.InstallError, match="all is taken away again: no such module"):
        typed(tmp_path / "checkout")
    assert not (tmp_path / "home").exists() and not record.RECORD.exists()
    main.LOADS = works
    typed(tmp_path / "checkout")
    main.LOADS = fails
    with pytest.raises(
        record.InstallError, match="in place, .*no such module; mend that and run this again, or .*--undo"
    ):
        typed(tmp_path / "checkout")
    assert (tmp_path / "home/README.md").is_file() and record.RECORD.exists()


@pytest.mark.slow
def test_libraries_that_another_python_was_given_are_fetched_anew(typed, install, tmp_path, monkeypatch):
    record, wanted = install
    (tmp_path / "checkout/setup.cfg").write_text("[options]\ninstall_requires =\n    no_such_library==1.0\n")
    fetched, python = [], tmp_path / "python-3.11"

    def fetch(pin, folder):
        fetched.append(pin)
        (Path(folder) / "no_such_library.py").write_text(f"open({str(python)!r})\n")
        (Path(folder) / "no_such_library-1.0.dist-info").mkdir()
        (Path(folder) / "no_such_library-1.0.dist-info/METADATA").touch()

    monkeypatch.setattr(wanted, "_fetch", fetch)
    python.touch()
    typed(tmp_path / "checkout")
    typed(tmp_path / "checkout")
    assert len(fetched) == 1
    python.unlink()
    python = tmp_path / "python-3.12"
    python.touch()
    typed(tmp_path / "checkout")
    assert len(fetched) == 2 and "python-3.12" in (record.LIBRARY / "no_such_library.py").read_text()


def test_the_labs_image_finds_the_same_packages(install, checkout):
    _, wanted = install
    image = (checkout / "lab/image/Dockerfile").read_text()
    assert tuple(re.findall(r"/srv/halocline/(\w+)", image)) == wanted.PACKAGES


# What this machine's own Salt brings along is not looked for.
OLD = """import runpy, shutil, sys
which = shutil.which
shutil.which = lambda name: None if name[0] == "/" else which(name)
sys.version_info, sys.argv = (3, 6, 15), sys.argv[1:]
sys.path.insert(0, sys.argv[0])
runpy.run_path(sys.argv[0], run_name="__main__")
"""


def in_an_old_python(checkout, folder, *more, **newer):
    """What the command prints in a Python that says that it is 3.6, where these programs are in the path too."""
    for name, text in newer.items():
        path = folder / name.replace("_", ".")
        path.write_text(f"#!/bin/sh\n{text}\n")
        path.chmod(0o755)
    words = [sys.executable, "-c", OLD, str(checkout / "srv/install"), "--help", "--config-dir=a b", *more]
    return subprocess.run(words, env={"PATH": str(folder)}, capture_output=True, text=True, check=False)


@pytest.mark.slow
def test_an_old_python_goes_on_in_a_newer_one(checkout, tmp_path):
    works = f'[ "$1" = -c ] && exec {sys.executable} "$@"; echo 3.12 "$@"'
    done = in_an_old_python(checkout, tmp_path, python3_13="echo not here >&2; exit 127", python3_12=works)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == f"3.12 {checkout}/srv/install --help --config-dir=a b\n"


@pytest.mark.slow
def test_salts_own_python_is_no_other_for_being_old(checkout, tmp_path):
    done = in_an_old_python(checkout, tmp_path, "--inside", python3_12=f'exec {sys.executable} "$@"')
    assert done.returncode == 1
    assert done.stderr == "error: Salt's Python is 3.6, expected 3.11 or newer: update Salt\n"


@pytest.mark.slow
def test_an_old_python_alone_says_what_to_type(checkout, tmp_path):
    done = in_an_old_python(checkout, tmp_path, python3_11="exit 1")
    assert done.returncode == 1 and done.stderr.startswith("error: this Python is 3.6, expected 3.11 or newer")
    assert "Traceback" not in done.stderr and "type Salt's own in place of python3" in done.stderr


def test_an_old_python_reads_the_file_that_says_so(checkout):
    ast.parse((checkout / "srv/install/__main__.py").read_text(), feature_version=(3, 6))


SHAPES = {
    "pip": ("salt-run", "#!{python}\n"),
    "env": ("salt-run", "#!/usr/bin/env {python}\n"),
    "bundled": ("onedir/salt-run", '#!/bin/sh\n"true" \'\'\'\'\n"exec" "$(dirname "$0")/bin/python3" "$0" "$@"\n'),
}


@pytest.mark.slow
@pytest.mark.parametrize("shape", SHAPES)
def test_salt_python_is_found(main, tmp_path, shape):
    name, text = SHAPES[shape]
    script = tmp_path / name
    python = script.parent / "bin" / "python3"
    python.parent.mkdir(parents=True)
    python.write_text(f'#!/bin/sh\nexec {sys.executable} "$@"\n')
    python.chmod(0o755)
    script.write_text(text.format(python=python))
    link = tmp_path / "usr-bin-salt-run"
    link.symlink_to(script)
    assert main.salt_python(str(link)) == str(python)


def test_a_python_without_salt_is_none(main, tmp_path):
    script = tmp_path / "salt-run"
    script.write_text("#!/bin/sh\n")
    with pytest.raises(Exception, match="name it with --python"):
        main.salt_python(str(script))


def test_only_what_is_ours_is_replaced_and_removed(install, tmp_path):
    record, _ = install
    theirs, ours, gone = (str(tmp_path / "etc" / name) for name in ("theirs", "ours", "gone"))
    (tmp_path / "etc").mkdir()
    (tmp_path / "etc/theirs").write_text("same")
    before = sorted(tmp_path.rglob("*"))
    record.Record().write({theirs: b"same", ours: b"first", gone: b"x", str(tmp_path / "a/b/link"): "-> ../x"})
    record.Record().write({theirs: b"same", ours: b"second", str(tmp_path / "a/b/link"): "-> ../y"})
    made = record.Record()
    assert record.found(ours) == b"second" and record.found(gone) is None
    assert record.found(tmp_path / "a/b/link") == "-> ../y"
    assert theirs not in made.paths and made.ours(ours)
    (tmp_path / "etc/ours").write_text("edited")
    assert record.Record().undo() == [ours]
    assert (tmp_path / "etc/ours").read_text() == "edited" and (tmp_path / "etc/theirs").read_text() == "same"
    (tmp_path / "etc/ours").unlink()
    assert sorted(tmp_path.rglob("*")) == before


@pytest.mark.parametrize("broken", ["", "{", "[]", "{}", "null"])
def test_a_record_that_cannot_be_read_is_named(install, main, broken):
    record, _ = install
    record.RECORD.parent.mkdir(parents=True)
    record.RECORD.write_text(broken)
    with pytest.raises(record.InstallError, match="is not as it was written"):
        main.Record()
    assert record.RECORD.read_text() == broken


def test_an_update_that_is_cut_off_can_be_repeated_and_undone(install, tmp_path, monkeypatch):
    record, _ = install
    files = {str(tmp_path / "etc" / name): b"1" for name in "abc"}
    record.Record().write(files)
    put = record._put
    monkeypatch.setattr(record, "_put", lambda path, *each: put(path, *each) if path.name != "b" else 1 / 0)
    with pytest.raises(ZeroDivisionError):
        record.Record().write(dict.fromkeys(files, b"2"))
    monkeypatch.setattr(record, "_put", put)
    assert all(record.Record().ours(path) for path in files)  # some old, some new
    record.Record().write(dict.fromkeys(files, b"2"))
    assert {record.found(path) for path in files} == {b"2"}
    assert record.Record().undo() == [] and not (tmp_path / "etc").exists()


def test_the_tree_is_what_a_master_needs(install):
    _, wanted = install
    names = set(wanted._tree())
    assert {"salt/_modules", "salt/ceph/stage/0.sls", "proposals/cli.py", "srv/install/__main__.py"} <= names
    assert not [
        name for name in names if "__pycache__" in name or name.startswith(("tests", "lab", ".", "salt/_modules/"))
    ]


def test_the_log_of_every_command_is_rotated_where_the_master_writes_it(install, checkout):
    _, wanted = install
    named = re.compile(r'stage_log\.note\((?:__opts__|opts), "([^"]+)"')
    commands = {name for path in (checkout / "runners").rglob("*.py") for name in named.findall(path.read_text())}
    assert {"disk.wipe", "osd.replace"} <= commands
    made = wanted._logrotate("/srv/their logs")
    rotated = set(re.findall(r'"/srv/their logs/([^"]+)\.jsonl"', made))
    assert commands <= rotated and made.count('"') == 2 * len(rotated)
    for noun, _, verb in (name.partition(".") for name in rotated):
        assert f"def {verb}(" in (checkout / f"runners/{noun}.py").read_text()
    assert "/var/log" not in made


def test_completions_and_man_page_are_put_in_place_by_the_installer_or_by_the_planners_packages(install, checkout):
    _, wanted = install
    folder = checkout / "srv/packages"
    packages = [
        (folder / "halocline.spec").read_text(),
        "".join(path.read_text() for path in (folder / "debian").glob("halocline-planner.*")),
    ]
    paths = [path for name in ("completions", "man") for path in (checkout / "srv" / name).rglob("*") if path.is_file()]
    made = {str(path.relative_to(checkout)) for path in paths}
    assert len(made) == 5 and wanted.SHELLS.keys() <= made
    planners = {name for name in made if not name.endswith("salt-run")}
    assert [name for name in planners for text in packages if name not in text] == []
