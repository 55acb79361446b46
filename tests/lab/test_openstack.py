"""OpenStack's keys: each does the work of its service, tried with rbd, and nothing else."""

import configparser

import pytest
from product import Product

FOLDER = "/etc/ceph/openstack"
IMAGES, VOLUMES, BACKUPS, VMS = (f"lab-cloud-{kind}" for kind in ("images", "volumes", "backups", "vms"))


def tried(product: Product, user: str, command: str) -> int:
    """The exit status of a command with a user's key, beside the files that the stage wrote and no others."""
    product.run("client1", "test ! -e /etc/ceph/ceph.client.admin.keyring")
    name = f"client.lab-{user}"
    keyring = product.run("saltmaster", f"cat {FOLDER}/ceph.{name}.keyring").out
    conf = product.run("saltmaster", f"cat {FOLDER}/ceph.conf").out
    written = f"umask 077; cat >/tmp/keyring <<'EOF'\n{keyring}EOF\ncat >/tmp/ceph.conf <<'EOF'\n{conf}EOF\n"
    tool, _, words = command.partition(" ")
    limit = "timeout 60" if tool == "rbd" else "timeout 30"
    done = product.run(
        "client1",
        f"{written}{limit} {tool} --conf /tmp/ceph.conf --keyring /tmp/keyring --name {name} {words}",
        check=False,
    )
    assert "keyring" not in done.err, done.err  # it did reach the cluster
    return done.code


def test_each_key_does_its_work(served: Product) -> None:
    for user, command in (
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
    ):
        assert tried(served, user, command) == 0, (user, command)


@pytest.mark.parametrize(
    ("user", "pools"),
    [
        ("glance", (VOLUMES, BACKUPS, VMS)),
        ("cinder", (IMAGES, BACKUPS, VMS)),
        ("cinder-backup", (IMAGES, VOLUMES, VMS)),
        ("nova", (IMAGES, VOLUMES, BACKUPS)),
    ],
)
def test_no_key_does_anything_else(served: Product, user: str, pools: tuple[str, ...]) -> None:
    for pool in pools:
        assert tried(served, user, f"rbd create --size 8M {pool}/mine") != 0, pool
    for command in (
        "ceph auth ls",
        "ceph osd pool create mine",
        "ceph osd pool delete mine mine",
        "ceph config set osd osd_max_backfills 2",
    ):
        assert tried(served, user, command) != 0, command
    held = served.run("saltmaster", f"for pool in {IMAGES} {VOLUMES} {BACKUPS} {VMS}; do rbd ls $pool; done").out
    assert "mine" not in held.split()


def test_what_each_service_is_configured_with(served: Product) -> None:
    assert served.run("saltmaster", f"stat -c %a {FOLDER}").out.strip() == "700"
    said = configparser.ConfigParser(interpolation=None)
    for name in ("glance-api", "cinder", "cinder-backup", "nova"):
        said.read_string(served.run("saltmaster", f"cat {FOLDER}/{name}.conf").out)
    assert (said["glance_store"]["rbd_store_user"], said["glance_store"]["rbd_store_pool"]) == ("lab-glance", IMAGES)
    assert (said["ceph"]["rbd_user"], said["ceph"]["rbd_pool"]) == ("lab-cinder", VOLUMES)
    assert (said["libvirt"]["rbd_user"], said["libvirt"]["images_rbd_pool"]) == ("lab-nova", VMS)
    for user, section in (("cinder", "ceph"), ("nova", "libvirt")):
        assert said[section]["rbd_secret_uuid"] in served.run("saltmaster", f"cat {FOLDER}/secret-{user}.xml").out
        key = served.run("saltmaster", f"cat {FOLDER}/client.lab-{user}.key").out.strip()
        assert key == served.run("saltmaster", f"ceph auth get-key client.lab-{user}").out
