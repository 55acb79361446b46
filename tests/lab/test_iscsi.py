"""iSCSI with a real kernel on both sides: a gateway in a guest that is a minion, open-iscsi with CHAP in another."""

import json
from collections.abc import Callable

import pytest
from clusters import SUBNETS
from product import PILLAR, Product, cluster_file, until
from test_removal import kept, keys, leaves, policy

from lab.guest.guests import Guest
from lab.session import Session

pytestmark = pytest.mark.big
TARGET, INITIATOR = "iqn.2026-11.lab.block:store", "iqn.2026-11.lab.block:ini1"
PASSWORD = "chapSecret0123"
SETTINGS = f"""small_site: true
iscsi_targets:
  {TARGET}:
    images: {{rbd/store: 1G}}
    initiators: {{'{INITIATOR}': {{user: initiator1, password: chap-initiator1}}}}
"""
# What an earlier login was told is forgotten first: iscsid offers CHAP as soon as it has a password.
LOGIN = """
iscsiadm -m node -T {target} -o delete >&2
set -e
iscsiadm -m discovery -t st -p {address} >&2
for pair in {credentials}; do
    iscsiadm -m node -T {target} -o update -n node.session.auth.${{pair%%=*}} -v ${{pair#*=}}
done
iscsiadm -m node -T {target} --login >&2
udevadm settle
ls /dev/disk/by-path/*{target}-lun-0
"""
CHAP = "authmethod=CHAP username=initiator1 password="
LOGOUT = f"iscsiadm -m node -T {TARGET} --logout"


@pytest.fixture(scope="module")
def gateway(
    own_lab: Callable[[str], Session], guest: Callable[..., Guest], tmp_path_factory: pytest.TempPathFactory
) -> tuple[Product, Guest]:
    """A cluster like `tiny` and the guest `igw1`, a minion that all its stages were run on."""
    product = Product(own_lab(cluster_file(tmp_path_factory.mktemp("block"), "block", SUBNETS["block"])))
    made = guest("igw1", cluster="block")
    product.guide()
    product.write(f"{PILLAR}/stack/ceph/cluster.yml", SETTINGS)
    product.run("saltmaster", f"echo 'role-igw/cluster/igw1.sls' >>{PILLAR}/proposals/policy.cfg")
    product.run(
        "saltmaster",
        f"mkdir -p -m 700 {PILLAR}/keys/given; umask 077; echo '{PASSWORD}' >{PILLAR}/keys/given/chap-initiator1",
    )
    product.stage("ceph.stage.configure")
    product.answers["iscsi"] = product.stage("ceph.stage.iscsi", check=False)
    return product, made


@pytest.fixture(scope="module")
def initiator(gateway: tuple[Product, Guest], guest: Callable[..., Guest]) -> Guest:
    """A guest on the same network that is no minion, with open-iscsi."""
    made = guest("ini1", cluster="block")
    made.run("systemctl disable --now salt-minion; modprobe -a iscsi_tcp sd_mod")
    gateway[0].run("saltmaster", "salt-key --yes --delete ini1")
    made.run(f"echo InitiatorName={INITIATOR} >/etc/iscsi/initiatorname.iscsi; systemctl restart iscsid")
    return made


def test_the_gateway_serves_what_is_planned(gateway: tuple[Product, Guest]) -> None:
    product, _ = gateway
    done = product.answers["iscsi"]
    assert done.code == 0, done.out + done.err
    assert product.ceph("health")["status"] == "HEALTH_OK"
    assert PASSWORD not in done.out + product.run("saltmaster", "cat /var/log/halocline/*.jsonl").out


@pytest.mark.parametrize("credentials", [f"{CHAP}wrongSecret012", "authmethod=None"])
def test_who_does_not_prove_the_password_is_refused(
    gateway: tuple[Product, Guest], initiator: Guest, credentials: str
) -> None:
    login = LOGIN.format(address=gateway[1].address, target=TARGET, credentials=credentials)
    assert initiator.run(login, check=False).code == 24  # ISCSI_ERR_LOGIN_AUTH_FAILED, iscsiadm(8)


def test_files_are_written_and_read_back(gateway: tuple[Product, Guest], initiator: Guest) -> None:
    disk = _login(gateway, initiator)
    initiator.run(f"mkfs.ext4 -q {disk}; mount {disk} /mnt; dd if=/dev/urandom of=/mnt/file bs=1M count=32 conv=fsync")
    written = initiator.run("sha256sum </mnt/file; umount /mnt").out
    initiator.run(LOGOUT)
    disk = _login(gateway, initiator)
    assert initiator.run(f"mount {disk} /mnt; sha256sum </mnt/file; umount /mnt").out == written
    initiator.run(LOGOUT)
    used = gateway[0].run("saltmaster", "rados -p rbd ls | grep -c rbd_data").out
    assert int(used) >= 8  # objects of 4 MiB


def test_a_gateway_reaches_its_images_and_nothing_else(gateway: tuple[Product, Guest]) -> None:
    product, made = gateway
    key = "--name client.igw.igw1"
    assert made.run(f"rbd {key} ls rbd").out == "store\n"  # its key is good
    product.run("saltmaster", "ceph osd pool create other 1 && ceph osd pool application enable other rbd")
    assert made.run(f"rbd {key} ls other", check=False).code != 0
    for words in ("auth ls", "osd pool delete rbd rbd --yes-i-really-really-mean-it", "config set osd x y"):
        assert "EACCES" in made.run(f"ceph {key} {words}", check=False).err


def test_the_stage_again_changes_nothing_and_leaves_what_the_admin_made(gateway: tuple[Product, Guest]) -> None:
    product, made = gateway
    login = "admin:$(sed -n 's/^api_password = //p' /etc/ceph/iscsi-gateway.cfg)"
    made.run(f'curl -sf -u "{login}" -X PUT -d mode=create -d size=64M http://localhost:5000/api/disk/rbd/byhand')
    done = product.stage("ceph.stage.iscsi")
    assert "hosts are as told: nothing changed" in done.out
    assert made.run("rbd --name client.igw.igw1 ls rbd").out.split() == ["byhand", "store"]


def test_a_smoke_test_writes_a_disk_of_its_own_and_leaves_the_sites_as_they_are(
    gateway: tuple[Product, Guest],
) -> None:
    product, made = gateway
    before, images = _record(made), made.run("rbd --name client.igw.igw1 ls rbd").out
    done = product.run("saltmaster", "salt-run smoke.test iscsi", check=False, limit=1200)
    line = f"portal {made.address}: names 1 targets, a disk written and read"
    assert done.code == 0 and line in done.out, done.out + done.err
    assert _record(made) == before and made.run("rbd --name client.igw.igw1 ls rbd").out == images
    assert "halocline/smoke" not in product.ceph("config-key ls")
    assert "nothing changed" in product.run("saltmaster", "salt-run smoke.clean", limit=600).out


def test_a_smoke_test_names_a_daemon_that_does_not_run(gateway: tuple[Product, Guest]) -> None:
    product, made = gateway
    made.run("systemctl stop rbd-target-api")
    try:
        done = product.run("saltmaster", "salt-run smoke.test iscsi", check=False, limit=1200)
        assert done.code == 1 and "iscsi: FAILED: rbd-target-api does not run" in done.out
    finally:
        made.run("systemctl start rbd-target-api")
    until(lambda: product.run("saltmaster", "salt-run smoke.clean", check=False, limit=600).code == 0, 120, "is clean")


def test_a_larger_size_grows_the_disk_of_a_gateway_that_was_stopped(
    gateway: tuple[Product, Guest], initiator: Guest
) -> None:
    product, made = gateway
    made.run("systemctl stop rbd-target-api")
    product.run("saltmaster", f"sed -i 's|rbd/store: 1G|rbd/store: 2G|' {PILLAR}/stack/ceph/cluster.yml")
    product.stage("ceph.stage.configure")
    done = product.stage("ceph.stage.iscsi")
    assert "ceph-service-igw-api" in done.out and "ceph-service-iscsi-targets" in done.out
    disk = _login(gateway, initiator)
    assert initiator.run(f"blockdev --getsize64 {disk}").out == f"{2 << 30}\n"
    assert initiator.run(f"mount {disk} /mnt; ls /mnt/file; umount /mnt").code == 0
    initiator.run(LOGOUT)


def test_the_gateway_leaves_and_comes_back(gateway: tuple[Product, Guest], initiator: Guest) -> None:
    """The last one: what the targets are stays in the cluster, and its images."""
    product, made = gateway
    site = f"{PILLAR}/stack/ceph/cluster.yml"
    settings = product.run("saltmaster", f"cat {site}").out
    units = "systemctl is-active rbd-target-gw rbd-target-api tcmu-runner"
    with kept(product) as text:
        product.write(site, "small_site: true\n")
        policy(product, text.replace("role-igw/cluster/igw1.sls\n", ""))
        leaves(product, {"igw1": ["igw"]})
    assert made.run(units, check=False).out.split() == ["inactive"] * 3
    gone = ["/etc/ceph/iscsi-gateway.cfg", "/etc/ceph/ceph.client.igw.igw1.keyring"]
    assert made.run(f"ls {' '.join(gone)}", check=False).out == ""
    assert "client.igw.igw1" not in keys(product)
    product.write(site, settings)
    for name in ("configure", "services"):
        assert product.run("saltmaster", f"salt-run stage.run {name}", limit=900).code == 0
    disk = _login(gateway, initiator)
    assert initiator.run(f"mount {disk} /mnt; ls /mnt/file; umount /mnt").code == 0
    initiator.run(LOGOUT)


def _record(made: Guest) -> tuple[list[str], list[str], list[str]]:
    """The names of targets, of their initiators, and of disks."""
    login = "admin:$(sed -n 's/^api_password = //p' /etc/ceph/iscsi-gateway.cfg)"
    told = json.loads(made.run(f'curl -sf -u "{login}" http://localhost:5000/api/config').out)
    clients = [name for target in told["targets"].values() for name in target["clients"]]
    return sorted(told["targets"]), sorted(clients), sorted(told["disks"])


def _login(gateway: tuple[Product, Guest], initiator: Guest) -> str:
    """Log in with the password; the disk that comes."""
    login = LOGIN.format(address=gateway[1].address, target=TARGET, credentials=CHAP + PASSWORD)
    return initiator.run(login).out.strip()
