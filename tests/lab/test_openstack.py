"""OpenStack's keys: each does the work of its service, tried with rbd, and nothing else."""

import configparser
from collections.abc import Iterator, Sequence

import pytest
from product import Product

FOLDER = "/etc/ceph/openstack"
COPIES = "/srv/openstack"
LIMIT = 60  # seconds a command
IMAGES, VOLUMES, BACKUPS, VMS = (f"lab-cloud-{kind}" for kind in ("images", "volumes", "backups", "vms"))


WORK = (
    ("glance", f"rbd create --size 8M --image-format 2 {IMAGES}/debian"),
    ("glance", f"rbd snap create {IMAGES}/debian@snap"),
    ("glance", f"rbd snap protect {IMAGES}/debian@snap"),
    ("cinder", f"rbd clone {IMAGES}/debian@snap {VOLUMES}/volume"),
    ("cinder", f"rbd bench --io-type write --io-size 4096 --io-total 65536 {VOLUMES}/volume"),
    ("cinder", f"rbd snap create {VOLUMES}/volume@snap"),
    ("nova", f"rbd clone {IMAGES}/debian@snap {VMS}/disk"),
    ("nova", f"rbd resize --size 16M {VMS}/disk"),
    ("cinder-backup", f"rbd create --size 8M {BACKUPS}/backup"),
    ("nova", f"rbd rm {VMS}/disk"),
    ("cinder", f"rbd snap rm {VOLUMES}/volume@snap"),
    ("cinder", f"rbd rm {VOLUMES}/volume"),
    ("cinder-backup", f"rbd rm {BACKUPS}/backup"),
    ("glance", f"rbd snap unprotect {IMAGES}/debian@snap"),
    ("glance", f"rbd snap rm {IMAGES}/debian@snap"),
    ("glance", f"rbd rm {IMAGES}/debian"),
)
FOREIGN = {
    "glance": (VOLUMES, BACKUPS, VMS),
    "cinder": (IMAGES, BACKUPS, VMS),
    "cinder-backup": (IMAGES, VOLUMES, VMS),
    "nova": (IMAGES, VOLUMES, BACKUPS),
}
FORBIDDEN = (
    "ceph auth ls",
    "ceph osd pool create mine",
    "ceph osd pool delete mine mine",
    "ceph config set osd osd_max_backfills 2",
)


@pytest.fixture(scope="module")
def client(served: Product) -> Iterator[Product]:
    """`client1` with the files that the stage wrote for OpenStack's hosts in /srv/openstack, and no others."""
    served.run("client1", "test ! -e /etc/ceph/ceph.client.admin.keyring")
    for name in ("ceph.conf", *(f"ceph.client.lab-{user}.keyring" for user in FOREIGN)):
        text = served.run("saltmaster", f"cat {FOLDER}/{name}").out
        served.run("client1", f"umask 077; mkdir -p {COPIES}; cat >{COPIES}/{name} <<'EOF'\n{text}EOF")
    yield served
    served.run("client1", f"rm -r {COPIES}")


def statuses(client: Product, commands: Sequence[tuple[str, str]]) -> list[int]:
    """The exit status of each user's command, typed one after the other."""
    lines = []
    for user, command in commands:
        tool, _, words = command.partition(" ")
        name = f"client.lab-{user}"
        files = f"--conf {COPIES}/ceph.conf --keyring {COPIES}/ceph.{name}.keyring --name {name}"
        lines.append(f"timeout {LIMIT} {tool} {files} {words} >/dev/null; echo $?")
    done = client.run("client1", "\n".join(lines), limit=len(lines) * LIMIT)
    assert "keyring" not in done.err, done.err  # they did reach the cluster
    return [int(line) for line in done.out.splitlines()]


def test_each_key_does_its_work(client: Product) -> None:
    assert statuses(client, WORK) == [0] * len(WORK)


@pytest.mark.parametrize("user", FOREIGN)
def test_no_key_does_anything_else(client: Product, user: str) -> None:
    commands = [f"rbd create --size 8M {pool}/mine" for pool in FOREIGN[user]] + list(FORBIDDEN)
    assert 0 not in statuses(client, [(user, command) for command in commands])
    held = client.run("saltmaster", f"for pool in {IMAGES} {VOLUMES} {BACKUPS} {VMS}; do rbd ls $pool; done").out
    assert "mine" not in held.split()


def test_what_each_service_is_configured_with(served: Product) -> None:
    assert served.run("saltmaster", f"stat -c %a {FOLDER}").out.strip() == "700"
    conf = configparser.ConfigParser(interpolation=None)
    for name in ("glance-api", "cinder", "cinder-backup", "nova"):
        conf.read_string(served.run("saltmaster", f"cat {FOLDER}/{name}.conf").out)
    assert (conf["glance_store"]["rbd_store_user"], conf["glance_store"]["rbd_store_pool"]) == ("lab-glance", IMAGES)
    assert (conf["ceph"]["rbd_user"], conf["ceph"]["rbd_pool"]) == ("lab-cinder", VOLUMES)
    assert (conf["libvirt"]["rbd_user"], conf["libvirt"]["images_rbd_pool"]) == ("lab-nova", VMS)
    for user, section in (("cinder", "ceph"), ("nova", "libvirt")):
        assert conf[section]["rbd_secret_uuid"] in served.run("saltmaster", f"cat {FOLDER}/secret-{user}.xml").out
        key = served.run("saltmaster", f"cat {FOLDER}/client.lab-{user}.key").out.strip()
        assert key == served.run("saltmaster", f"ceph auth get-key client.lab-{user}").out
