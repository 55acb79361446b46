"""What `make packages` makes: installed from a local source, upgraded, removed, beside pip's Salt and the vendor's.

The master is a plain container, as in test_install. The vendor's layout is played: the same Salt in the vendor's place.
"""

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from test_install import NAME, RESTART, WHAT_IS_THERE, Plain, plain

from lab.store import CHECKOUT

__all__ = ["plain"]  # a fixture
pytestmark = pytest.mark.big
APOLLO = "peek reference:apollo ratio=9 wal=740-770 db=740-770 'target=osd*' db-size=40g wal-size=5g"
# What a newer commit changes: a file that the tree has, one that it has not yet.
NEWER = """
set -e
git clone -q {checkout} {here}
cd {here}
git config user.name test; git config user.email test@example.com
echo newer >>README.md; echo new >docs/new.txt; git add -A; git commit -qm newer
"""
SOURCE = (
    "set -e; cd /pk; dpkg-scanpackages -m . >Packages 2>/dev/null; echo 'deb [trusted=yes] file:/pk ./' >{list}; {u}"
)
UPDATE = "apt-get update -qq -o Dir::Etc::sourcelist={list} -o Dir::Etc::sourceparts=-"
LIST = "/etc/apt/sources.list.d/halocline.list"
VENDOR = """
set -e
rm /usr/local/bin/salt*; mkdir -p /opt/saltstack; mv /opt/salt /opt/saltstack/salt; cd /opt/saltstack/salt
sed -i '1s#.*#\\#!/opt/saltstack/salt/bin/python3#' bin/salt*
for each in salt salt-run salt-master salt-minion salt-key salt-call; do
    mv bin/$each .; ln -s $PWD/$each /usr/bin/
done
"""


@pytest.fixture(scope="module")
def packages(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """The packages of this commit, and of one after it."""
    folder = tmp_path_factory.mktemp("packages")
    subprocess.run(NEWER.format(checkout=CHECKOUT, here=folder / "newer"), shell=True, check=True)
    made = []
    for checkout in (CHECKOUT, folder / "newer"):
        made.append(folder / f"of-{len(made)}")
        subprocess.run([sys.executable, checkout / "srv/packages", made[-1]], check=True)
    return made[0], made[1]


@pytest.fixture(scope="module")
def prepared(plain: Plain) -> Iterator[Plain]:
    """The container with Debian's tool that makes a local source."""
    plain.run("DEBIAN_FRONTEND=noninteractive apt-get install -qq -y --no-install-recommends dpkg-dev >/dev/null 2>&1")
    plain.run("ln -s /opt/salt/bin/salt* /usr/local/bin/")  # apt gives the package's scripts a path of its own
    yield plain


def offered(plain: Plain, folder: Path) -> None:
    """A local source with these packages."""
    plain.run("rm -rf /pk")
    subprocess.run(["docker", "cp", str(folder), f"{NAME}:/pk"], check=True, capture_output=True)
    plain.run(SOURCE.format(list=LIST, u=UPDATE.format(list=LIST)))


def apt(plain: Plain, *words: str, check: bool = True) -> subprocess.CompletedProcess[str]:
    # Its own pip finds no index here: the libraries come along.
    typed = f"unset PIP_FIND_LINKS; DEBIAN_FRONTEND=noninteractive apt-get -y --no-install-recommends {' '.join(words)}"
    return plain.run(typed, check=check, limit=600)


def whole(plain: Plain) -> None:
    """What was installed is found by Salt's own Python, and answers."""
    plain.run("salt-run saltutil.sync_all")
    asked = plain.run("salt-run minions.ours", check=False)
    assert asked.returncode == 2 and "ceph_minions" in asked.stdout, asked.stdout + asked.stderr


@pytest.mark.parametrize("layout", ["pip's", "the vendor's"])
def test_installed_upgraded_removed(prepared: Plain, packages: tuple[Path, Path], layout: str) -> None:
    plain = prepared
    if layout == "the vendor's":
        plain.run("pkill -f salt-m; sleep 2", check=False)
        plain.run(VENDOR)
    look = WHAT_IS_THERE if layout == "pip's" else WHAT_IS_THERE.replace("/opt/salt/", "/opt/saltstack/salt/")
    before = plain.run(look).stdout
    assert "/site-packages/salt/version.py" in before  # it can see
    plain.run("salt-master -d; salt-minion -d; sleep 5; echo y | salt-key -A >/dev/null")
    offered(plain, packages[0])
    installed = apt(plain, "install", "halocline")
    assert "installed: /srv/halocline" in installed.stdout, installed.stdout
    plain.run(RESTART)
    whole(plain)
    offered(plain, packages[1])
    apt(plain, "upgrade")
    assert plain.run("tail -1 /srv/halocline/README.md; cat /srv/halocline/docs/new.txt").stdout == "newer\nnew\n"
    plain.run(RESTART)
    whole(plain)
    plain.run("echo edited >>/srv/halocline/README.md")
    removed = apt(plain, "remove", "halocline")
    assert "kept, as it was edited: /srv/halocline/README.md" in removed.stdout
    plain.run("rm -r /srv/halocline; rm -rf /usr/share/halocline/*/__pycache__")
    assert plain.run(look).stdout == before
    plain.run(RESTART)


def test_without_salt_it_says_what_to_do(prepared: Plain, packages: tuple[Path, Path]) -> None:
    offered(prepared, packages[0])
    told = prepared.run("PATH=/usr/sbin:/usr/bin:/sbin:/bin; mv /usr/bin/salt-run /usr/bin/away; "
                        "DEBIAN_FRONTEND=noninteractive apt-get -y --no-install-recommends install halocline; "
                        "mv /usr/bin/away /usr/bin/salt-run")  # fmt: skip
    assert "no salt-run in PATH" in told.stdout
    apt(prepared, "remove", "halocline")


def test_the_planner_alone_plans_as_this_checkout_does(prepared: Plain, packages: tuple[Path, Path]) -> None:
    """From the package, with the distribution's libraries; from the wheel, in an empty virtual environment."""
    wanted = subprocess.run(
        f"{sys.executable} -m proposals {APOLLO} --format json", shell=True, check=True, capture_output=True, text=True,
        cwd=CHECKOUT)  # fmt: skip
    offered(prepared, packages[0])
    prepared.run("apt-get update -qq")
    apt(prepared, "install", "halocline-planner")
    prepared.run("cd /tmp; python3 -m venv empty; empty/bin/pip install -q /pk/*.whl")
    for halocline in ("/usr/bin/halocline", "/tmp/empty/bin/halocline"):
        assert prepared.run(f"cd /; {halocline} {APOLLO} --format json").stdout == wanted.stdout
        assert "4 hosts, 216 OSDs" in prepared.run(f"cd /; {halocline} {APOLLO}").stdout
        assert "usage: halocline" in prepared.run(f"{halocline} --help").stdout
    listed = prepared.run("dpkg -L halocline-planner").stdout
    assert "/completions/halocline\n" in listed and "/vendor-completions/_halocline\n" in listed
    assert "lab" not in prepared.run("ls /tmp/empty/lib/python3.11/site-packages").stdout.split()
    apt(prepared, "remove", "halocline-planner")


def test_rpms_hold_the_same_files(packages: tuple[Path, Path]) -> None:
    """Debian's rpm reads them; no distribution that uses them has installed one."""
    (made,) = packages[0].glob("halocline-0*.rpm")
    (deb,) = packages[0].glob("halocline_*.deb")
    listed = subprocess.run(["rpm", "-qpl", made], check=True, capture_output=True, text=True).stdout.split("\n")
    there = subprocess.run(["dpkg-deb", "--fsys-tarfile", deb], check=True, capture_output=True).stdout
    names = subprocess.run(["tar", "-t"], input=there, check=True, capture_output=True).stdout.decode().split("\n")
    folder = "/usr/share/halocline/"
    ours = {
        name.removeprefix(".").rstrip("/") for name in names if name.startswith(f".{folder}") and name != f".{folder}"
    }
    assert {name for name in listed if name.startswith(folder)} == ours and f"{folder}srv/install/__main__.py" in ours
    scripts = subprocess.run(["rpm", "-qp", "--scripts", made], check=True, capture_output=True, text=True).stdout
    assert "srv/install --undo" in scripts and "no salt-run in PATH" in scripts
