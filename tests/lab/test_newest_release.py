"""A new cluster of the newest release that a distribution has: Ceph 20.2 of Debian's next one.

Its monitors take no keys but those of AES-256 (CVE-2025-30156), and form no quorum with those of Ceph 16. Salt runs
from a folder of its own, by Debian 12's Python, as in ``test_upgrade_release.py``.
"""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import pytest
from clusters import SUBNETS
from product import STORAGE, Product, cluster_file, nothing_changed, until
from saltcli import salt_run

from lab.session import Session

pytestmark = pytest.mark.big
# The release file of a mirror that is seldom brought up to date has expired.
SOURCE = "deb [check-valid-until=no] http://deb.debian.org/debian forky main"
PYTHON = "ln -sf /usr/bin/python3.11 /opt/salt/bin/python3 && /opt/salt/bin/python3 -c 'import salt'"
# Newer libraries want a systemd that needs a kernel with one hierarchy of control groups: the one that runs is given
# out for it, with its files as they are.
SYSTEMD = r"""
set -e
for name in systemd systemd-sysv libsystemd-shared libpam-systemd udev; do
    root=/tmp/repacked/$name
    mkdir -p $root/DEBIAN
    dpkg-query --listfiles $name | while read -r path; do
        case "$path" in /etc/* | /var/*) continue ;; esac
        [ ! -d "$path" ] || continue
        mkdir -p "$root/usr$(dirname "${path#/usr}")"
        cp -a "$path" "$root/usr${path#/usr}"
    done
    form='Package: ${Package}\nVersion: 262-99\nArchitecture: ${Architecture}\nMulti-Arch: ${Multi-Arch}\n'
    form="$form"'Provides: ${Provides}\nMaintainer: lab\nDescription: repacked\n'
    dpkg-query --show --showformat "$form" $name | sed 's/ (= [^)]*)/ (= 262-99)/g; /^[^ ]*: $/d' >$root/DEBIAN/control
    dpkg-deb --build --root-owner-group $root /tmp/repacked/$name.deb >/dev/null
done
dpkg --force-confold --force-depends --install /tmp/repacked/*.deb >/dev/null 2>&1
apt-get -qq check
"""
# What the image has of Ceph, by newer packages of the same names. One of these brings a user in a form that is newer
# than that systemd; apt goes by a path of its own, dpkg by ours.
CEPH = rf"""
set -e
echo '{SOURCE}' >/etc/apt/sources.list.d/next.list
apt-get -qq update
printf '#!/bin/sh\n/usr/bin/systemd-sysusers "$@" || true\n' >/usr/local/bin/systemd-sysusers
chmod +x /usr/local/bin/systemd-sysusers
kept=$(dpkg-query --show --showformat '${{Package}} ${{source:Package}}\n' | awk '$2 == "ceph" {{print $1}}')
export DEBIAN_FRONTEND=noninteractive
apt-get -qq install --yes --no-install-recommends --only-upgrade -o Dpkg::Options::=--force-unsafe-io \
    -o Dpkg::Options::=--force-confold -o Dpkg::Options::=--force-overwrite $kept >/dev/null 2>&1 ||
    dpkg --configure --pending >/dev/null
rm /usr/local/bin/systemd-sysusers
systemctl daemon-reload
"""


@pytest.fixture(scope="module")
def newest(own_lab: Callable[[str], Session], tmp_path_factory: pytest.TempPathFactory) -> Product:
    """Hosts with that release, the guide typed on their master."""
    product = Product(own_lab(cluster_file(tmp_path_factory.mktemp("newest"), "newest", SUBNETS["newest"], spare=True)))
    hosts = list(product.session.hosts)
    for host in hosts:
        product.run(host, PYTHON)
    with ThreadPoolExecutor() as pool:
        list(pool.map(lambda host: product.run(host, SYSTEMD + CEPH, limit=1200), hosts))
    product.guide()
    return product


def test_the_cluster_is_whole_and_of_that_release(newest: Product) -> None:
    until(newest.whole, 120, "HEALTH_OK, 3 monitors, 6 OSDs up and in, PGs active+clean")
    assert {text.split()[2].partition(".")[0] for text in newest.ceph("versions")["overall"]} == {"20"}
    assert newest.ceph("mon dump")["min_mon_release_name"] == "tentacle"


def test_every_key_is_of_aes_256_and_no_other_is_let_in(newest: Product) -> None:
    assert [each["name"] for each in newest.ceph("mon dump")["auth_allowed_ciphers"]] == ["aes256k"]
    keys = {each["entity"]: each["key"] for each in newest.ceph("auth ls")["auth_dump"]}
    assert len([entity for entity in keys if entity.startswith("osd.")]) == 6
    assert [entity for entity, key in keys.items() if not key.startswith("Ag")] == []


@pytest.mark.parametrize(
    "stage", ["ceph.stage.prep", "ceph.stage.discovery", "ceph.stage.configure", "ceph.stage.deploy"]
)
def test_a_second_run_changes_nothing(newest: Product, stage: str) -> None:
    if stage == "ceph.stage.discovery":
        newest.stage(stage)  # it sees the OSDs on the disks
    nothing_changed(newest, stage)


def test_keys_are_rotated_and_data_is_written_and_read(newest: Product) -> None:
    for name in ("client.admin", f"mgr.{STORAGE[0]}", "osd.0"):
        newest.run("saltmaster", f"salt-run secret.rotate {name}")
        newest.stage("ceph.stage.configure")
        newest.stage("ceph.stage.deploy")
    until(newest.whole, 120, "HEALTH_OK with fresh keys")
    assert all(each["key"].startswith("Ag") for each in newest.ceph("auth ls")["auth_dump"])
    told = salt_run(newest.session, "pool.quick_test", "seconds=5").data
    assert int(told["write"]["total_writes_made"]) > 0 and int(told["seq"]["total_reads_made"]) > 0
