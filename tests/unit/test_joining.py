"""The line by which a host becomes a minion does that on each family, and no name is a command in it."""

import shlex
import subprocess

import pytest
import yaml

from proposals.text import joining
from proposals.text.errors import ArgumentError

FINGER = ":".join(["0a"] * 32)
HAS = {"debian": "apt-get", "suse": "zypper", "redhat": "dnf"}


def host(folder, *programs):
    """Programs that tell how they were called; nothing else is found."""
    (folder / "bin").mkdir()
    for name in programs:
        (folder / "bin" / name).write_text(f'#!/bin/sh\necho {name} "$@" >> {folder}/called\n')
        (folder / "bin" / name).chmod(0o755)
    for name in ("mkdir", "rm"):
        (folder / "bin" / name).symlink_to(f"/bin/{name}")
    return {"PATH": str(folder / "bin")}


@pytest.mark.parametrize("family", HAS)
def test_it_installs_configures_and_starts(tmp_path, family):
    typed = joining.line("salt.example.com", FINGER, str(tmp_path / "minion.d"))
    found = host(tmp_path, HAS[family], "systemctl", "salt-call")
    done = subprocess.run(["/bin/sh", "-c", typed], env=found, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done
    settings = yaml.load((tmp_path / "minion.d/halocline.conf").read_text(), yaml.CSafeLoader)
    assert settings == {"master": "salt.example.com", "master_finger": FINGER, "state_queue": True}
    called = (tmp_path / "called").read_text().splitlines()
    assert any("install" in each and "salt-minion" in each for each in called)
    assert called[-3:] == [
        "systemctl enable salt-minion",
        "systemctl restart salt-minion",
        "salt-call --local key.finger",
    ]


def test_salt_that_is_there_is_not_installed_again(tmp_path):
    found = host(tmp_path, "apt-get", "salt-minion", "systemctl", "salt-call")
    typed = joining.line("salt", FINGER, str(tmp_path / "minion.d"))
    subprocess.run(["/bin/sh", "-c", typed], env=found, check=True, capture_output=True)
    assert "apt-get" not in (tmp_path / "called").read_text()


def test_a_host_that_asked_another_master_forgets_its_key(tmp_path):
    """A minion refuses a master with another key than the one before; the fingerprint says which is right."""
    found, known = host(tmp_path, "salt-minion", "systemctl", "salt-call"), tmp_path / "minion_master.pub"
    known.write_text("the key of a master that is lost")
    typed = joining.line("salt", FINGER, str(tmp_path / "minion.d"), str(known))
    for _ in range(2):  # also where there is none
        subprocess.run(["/bin/sh", "-c", typed], env=found, check=True, capture_output=True)
        assert not known.exists()


def test_where_nothing_can_be_installed_it_fails_and_starts_nothing(tmp_path):
    typed = joining.line("salt", FINGER, str(tmp_path / "minion.d"))
    done = subprocess.run(["/bin/sh", "-c", typed], env=host(tmp_path, "systemctl"), capture_output=True, check=False)
    assert done.returncode != 0 and not (tmp_path / "called").exists()


def test_salt_ssh_is_told_the_same_line():
    typed = joining.line("10.0.0.1", FINGER)
    (over,) = [each for each in joining.text(typed).splitlines() if "salt-ssh" in each]
    assert shlex.split(over) == ["salt-ssh", "--raw-shell", "*", typed]


@pytest.mark.parametrize("name", ["", "a b", "a;reboot", "$(reboot)", "`x`", "a\nb", "-a", "a'b", "x" * 300, 7, None])
def test_what_is_no_address_is_refused(name):
    with pytest.raises(ArgumentError, match="a name or address by which hosts reach the master"):
        joining.line(name, FINGER)
