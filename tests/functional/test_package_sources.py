"""Package sources that do not answer, asked by Salt's own modules: apt itself, and dnf as a program of this test."""

import os
import shutil
import subprocess

import pytest
import salt.modules.aptpkg
import salt.modules.cmdmod
import salt.modules.yumpkg
from salt.exceptions import CommandExecutionError
from saltfactories.utils.loader import LoaderModuleMock

APT = """Dir "{folder}"; Dir::State::status "{folder}/status"; Dir::Bin::methods "/usr/lib/apt/methods";
Dir::Etc::trusted "/dev/null"; Acquire::http::Proxy "DIRECT"; Acquire::Retries "0";
"""
# A kernel as Debian and Ubuntu have it: a package of its own version, and one that needs the newest of these.
KERNEL = """Package: linux-image-{0}
Version: {0}
Architecture: all
Maintainer: nobody
Description: a kernel
{1}
Package: linux-image
Version: {0}
Architecture: all
Maintainer: nobody
Depends: linux-image-{0}
Description: the newest kernel
{1}
"""
DNF = """#!/bin/sh
case "$*" in
*clean*) ;;
*check-update*) {answer} ;;
*"list --upgrades"*) {lists} ;;
esac
"""
FAILS = "echo \"Error: Failed to download metadata for repo 'site'\" >&2; exit 1"
NEWER = "echo 'vim-minimal.x86_64  2:9.1-1.el9  baseos'"


@pytest.fixture
def asked(modules, python_module):
    """A function: what a host is due, by one of Salt's package modules."""

    def ask(package, family):
        updates, upgrade = python_module("host_updates"), python_module("daemons_upgrade")
        salted = {name: modules[name] for name in ("cmd.run_all", "config.get")}
        ours = {
            "pkg.refresh_db": package.refresh_db,
            "pkg.list_upgrades": package.list_upgrades,
            "pkg.version_cmp": lambda one, other: 0,
            "daemons_upgrade.packages": list,
            "daemons_upgrade.sources": upgrade.sources,
            "daemons_maintenance.units": dict,
        }
        grains = {**modules.pack["__grains__"], "os_family": family, "osarch": "x86_64"}
        told = {"__opts__": modules.opts, "__grains__": grains, "__context__": {}}
        played = {module: {"__salt__": ours, "__grains__": grains} for module in (updates, upgrade)}
        with LoaderModuleMock({package: {**told, "__salt__": salted}, **played}):
            return updates.inspect()["pending"]

    return ask


@pytest.fixture
def apt(tmp_path, monkeypatch):
    """The folder of an apt of its own."""
    for name in ("var/lib/apt/lists/partial", "var/cache/apt/archives/partial", "etc/apt", "var/lib/dpkg"):
        (tmp_path / name).mkdir(parents=True)
    (tmp_path / "status").touch()
    (tmp_path / "apt.conf").write_text(APT.format(folder=tmp_path))
    monkeypatch.setenv("APT_CONFIG", str(tmp_path / "apt.conf"))
    return tmp_path


@pytest.mark.slow
@pytest.mark.skipif(not shutil.which("apt-get"), reason="needs apt")
def test_a_kernel_of_another_name_is_an_update(asked, state_module, apt, monkeypatch):
    """apt-get's own upgrade keeps it back, as a package that is not there yet is to come."""
    (apt / "source").mkdir()
    (apt / "status").write_text(KERNEL.format(1, "Status: install ok installed\n"))
    (apt / "source/Packages").write_text(KERNEL.format(2, f"Filename: a.deb\nSize: 1\nSHA256: {'0' * 64}\n"))
    (apt / "etc/apt/sources.list").write_text(f"deb [trusted=yes] file:{apt}/source ./\n")
    assert asked(salt.modules.aptpkg, "Debian") == ["linux-image", "linux-image-2"]

    def uptodate(*_, **__):
        return subprocess.run(["apt-get", "--just-print", "upgrade"], capture_output=True, text=True, check=True).stdout

    monkeypatch.setattr("tempfile.tempdir", str(apt / "source"))
    state = state_module("host_updates")
    with LoaderModuleMock({state: {"__states__": {"pkg.uptodate": uptodate}}}):
        assert "Inst linux-image-2" in state.applied("x")
    assert os.environ["APT_CONFIG"] == str(apt / "apt.conf")
    assert [path.name for path in (apt / "source").iterdir()] == ["Packages"]


@pytest.mark.slow
@pytest.mark.skipif(not shutil.which("apt-get"), reason="needs apt")
def test_a_source_that_apt_does_not_reach_is_no_host_without_updates(asked, apt):
    (apt / "etc/apt/sources.list").write_text("deb http://127.0.0.1:9/debian bookworm main\n")
    with pytest.raises(
        CommandExecutionError, match=r"a package source .* http://127\.0\.0\.1:9/debian .*; mend it, or"
    ):
        asked(salt.modules.aptpkg, "Debian")
    (apt / "etc/apt/sources.list").write_text("")
    assert asked(salt.modules.aptpkg, "Debian") == []


@pytest.mark.slow
@pytest.mark.parametrize(
    ("answer", "lists", "pending"),
    [(FAILS, FAILS, None), ("exit 100", NEWER, ["vim-minimal"])],
    ids=["does not answer", "answers"],
)
def test_a_source_that_dnf_does_not_reach_is_no_host_without_updates(
    asked, tmp_path, monkeypatch, answer, lists, pending
):
    (tmp_path / "dnf").write_text(DNF.format(answer=answer, lists=lists))
    (tmp_path / "dnf").chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    if pending is None:
        with pytest.raises(CommandExecutionError, match="did not answer: 'dnf check-update' there says which"):
            asked(salt.modules.yumpkg, "RedHat")
    else:
        assert asked(salt.modules.yumpkg, "RedHat") == pending
