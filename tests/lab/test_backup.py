"""A master that is lost with all that was on it: a fresh one takes its place, and stages change nothing.

The private key is made on node1 and lies there; archives go there too, as to another host's disks.
"""

import json
from collections.abc import Callable

import pytest
from clusters import SUBNETS
from product import DEPLOY, Product, cluster_file, nothing_changed, until
from test_keys_lost import known

from lab import containers, daemon, image, salt, up
from lab.containers import Done
from lab.session import Session
from lab.store import find

pytestmark = pytest.mark.big
MASTER, ELSEWHERE = "saltmaster", "node1"
KEY, WRONG = "/root/backup.key", "/root/wrong.key"
PUBLIC, ARCHIVES = "/etc/halocline-backup.pub", "/mnt"
IN_MEMORY = "/dev/shm/backup.key"
ROTATED = "client.crash"
STAGES = ("ceph.stage.prep", "ceph.stage.discovery", "ceph.stage.configure", DEPLOY)
# An archive of a later format: its manifest says 2 in place of 1.
NEWER = rf"""
set -e
rm -rf /root/newer; mkdir /root/newer; cd /root/newer
age --decrypt --identity {KEY} /root/new.age | tar -xzf -
sed -i 's/"halocline_backup": 1/"halocline_backup": 2/' manifest.json
tar -czf - manifest.json * | age --recipient $(age-keygen -y {KEY}) --output /root/newer.age
"""
# Everything that a restore could write, with its hash; what Salt's own commands make in folders of keys is theirs.
WRITTEN = r"""
find /srv/pillar /etc/salt /etc/ceph -printf '%p %y %m %l\n' | sort
find /srv/pillar /etc/salt /etc/ceph -type f -exec sha256sum {} + | sort
"""


@pytest.fixture(scope="module")
def lost(own_lab: Callable[[str], Session], tmp_path_factory: pytest.TempPathFactory) -> Product:
    """A deployed cluster of its own, whose master has the public key."""
    product = Product(own_lab(cluster_file(tmp_path_factory.mktemp("lost"), "lost", SUBNETS["lost"])))
    product.guide()
    for path in (KEY, WRONG):
        product.run(ELSEWHERE, f"age-keygen -o {path}")
    give_public_key(product)
    return product


def give_public_key(product: Product) -> None:
    """Put it on the master, outside of all that is backed up."""
    product.write(PUBLIC, product.run(ELSEWHERE, f"age-keygen -y {KEY}").out)


def carry(product: Product, source: str, path: str, target: str, there: str) -> None:
    """Copy a file from one host to another. Docker puts nothing into a node's /dev/shm."""
    text = product.run(source, f"base64 -w0 {path}").out
    container = containers.find(daemon.needed(), find(product.session.name), target)
    containers.put(container, {"/root/carried": text})
    product.run(target, f"umask 077; base64 -d /root/carried >{there}; rm /root/carried")


def backed_up(product: Product, name: str) -> str:
    """Make a backup on the master, and bring it to the other host under a name."""
    done = product.run(MASTER, f"salt-run master.backup {PUBLIC} {ARCHIVES} --out json")
    told = json.loads(done.out)
    assert "retcode" not in told, told
    carry(product, MASTER, told["file"], ELSEWHERE, f"/root/{name}.age")
    return str(told["file"])


def restore(product: Product, name: str, words: str = "", key: str = KEY) -> Done:
    """Bring archive and private key to the master, and restore."""
    carry(product, ELSEWHERE, f"/root/{name}.age", MASTER, f"/root/{name}.age")
    carry(product, ELSEWHERE, key, MASTER, IN_MEMORY)
    done = product.run(MASTER, f"salt-run master.restore /root/{name}.age {IN_MEMORY} {words}", check=False)
    product.run(MASTER, f"rm {IN_MEMORY}")
    assert "Traceback" not in done.out + done.err
    return done


def fresh_master(product: Product) -> None:
    """The master's container goes, with all that was in it; another one has its name and address, and runs no Salt."""
    client, lab = daemon.needed(), find(product.session.name)
    host = lab.cluster.host(MASTER)
    containers.find(client, lab, MASTER).remove(force=True, v=True)
    container = containers.make(client, lab, host, image.ensure(client))
    containers.put(container, salt.files(lab.cluster, host))
    container.start()
    up.wait_for_systemd(container)
    settled = "test -e /etc/salt/master.d/halocline.conf"
    until(lambda: product.run(MASTER, settled, check=False).code == 0, 60, "the node's own files")
    # As packages leave it: salt-run fails on a master that has never begun.
    product.run(MASTER, "mkdir -p /var/cache/salt/master/proc")
    product.run(MASTER, "salt-run test.arg", check=False)  # it makes the folders of keys


def state(product: Product) -> dict:
    """What a stage that changes nothing leaves as it is: the cluster, and all of the other hosts."""
    osds = product.ceph("osd dump")
    return {
        "keys": known(product),
        "monitors": product.ceph("mon dump")["epoch"],
        "osds": [(each["osd"], each["uuid"], each["up"], each["in"], each["weight"]) for each in osds["osds"]],
        "pools": osds["pools"],
        "options": product.ceph("config dump"),
        "traces": product.traces(down=MASTER),
        "daemons": product.daemons(),
    }


def touched(product: Product, done: Done) -> set[str]:
    """The hosts that a stage's changes name."""
    (steps,) = json.loads(done.out)["data"].values()
    found: set[str] = set()
    for step in steps.values():
        changes = step["changes"]
        if "ret" in changes:
            found |= changes["ret"].keys()
        else:
            found |= {host for host in product.session.hosts if host in json.dumps(changes)}
    return found


def test_a_backup_is_read_back_and_told_without_a_key(lost: Product) -> None:
    """And an archive from before a rotation is kept, for the test below."""
    until(lost.whole, 120, "HEALTH_OK")
    keys = json.loads(lost.run(MASTER, "cat /srv/pillar/ceph/keys/keys.json").out)
    backed_up(lost, "old")
    assert lost.run(MASTER, f"salt-run secret.rotate {ROTATED}").code == 0
    for stage in STAGES[1:]:  # disks look otherwise since OSDs lie on them
        assert lost.stage(stage).code == 0
    path = backed_up(lost, "new")
    assert lost.run(MASTER, f"stat -c %a {path}").out.strip() == "600"
    log = lost.run(MASTER, "cat /var/log/halocline/master.backup.jsonl").out
    assert log.count('"written"') == 2 and not [key for key in keys.values() if key in log]
    done = restore(lost, "new")
    assert done.code == 0 and "nothing to restore: all is here as it is in the archive" in done.out


def test_what_is_not_to_be_restored_is_refused_and_nothing_is_written(lost: Product) -> None:
    before = state(lost)
    lost.notes["before"] = before
    fresh_master(lost)
    lost.run(ELSEWHERE, "cd /root && head -c $(($(stat -c %s new.age) / 2)) new.age >cut.age")
    lost.run(ELSEWHERE, NEWER)
    written = lost.run(MASTER, WRITTEN).out
    for name, key, said in (
        ("new", WRONG, "no identity matched"),
        ("cut", KEY, "cut off or damaged"),
        ("newer", KEY, "it is of format 2"),
        ("old", KEY, f"{ROTATED}: the monitors have another key than the archive"),
    ):
        done = restore(lost, name, key=key)
        assert done.code == 2 and said in done.out, (name, done.out)
        assert lost.run(MASTER, WRITTEN).out == written, name


def test_a_fresh_master_is_restored_onto_and_stages_change_nothing(lost: Product) -> None:
    """What the master's own host lacks they make again; nothing in the cluster, and nothing on the others."""
    before = lost.notes.get("before") or pytest.fail("the test before this one took the master away")
    would = restore(lost, "new", "test=true")
    assert would.code == 0 and "would put in place: " in would.out and "pillar/ceph" in would.out
    done = restore(lost, "new")
    assert done.code == 0 and "restored; take the private key away" in done.out, done.out
    lost.run(MASTER, "systemctl enable --now --no-block salt-master salt-minion")
    container = containers.find(daemon.needed(), find(lost.session.name), MASTER)
    salt.wait_for_answers(container, set(lost.session.hosts), limit=300)
    assert state(lost) == before
    for stage in STAGES:
        ran = lost.stage(stage)
        assert ran.code == 0 and touched(lost, ran) <= {MASTER}, (stage, ran.out)
        assert state(lost) == before, stage
    for stage in STAGES[1:]:
        nothing_changed(lost, stage)
    until(lost.whole, 120, "HEALTH_OK")
    assert state(lost) == before
    give_public_key(lost)
    backed_up(lost, "next")


def test_without_an_archive_a_fresh_master_adopts_the_cluster_and_stages_change_nothing(lost: Product) -> None:
    """Its settings, proposals and secrets of services are lost; the cluster's own keys come from a monitor's host."""
    until(lost.whole, 120, "HEALTH_OK")
    before = state(lost)
    fresh_master(lost)
    lost.run(MASTER, "systemctl enable --now --no-block salt-master salt-minion")
    for host in set(lost.session.hosts) - {MASTER}:  # minions know the key of the master that is gone
        lost.run(host, "rm /etc/salt/pki/minion/minion_master.pub; systemctl restart --no-block salt-minion")
    container = containers.find(daemon.needed(), find(lost.session.name), MASTER)
    salt.wait_for_answers(container, set(lost.session.hosts), limit=300)
    for stage in STAGES[:2]:
        done = lost.stage(stage, check=False)
        assert done.code == 0, (stage, done.out, done.err)
    for words in ("test=true", ""):
        done = lost.run(MASTER, f"salt-run ceph.adopt {words}", check=False)
        assert done.code == 0, done.out
    for stage in STAGES[2:]:
        done = lost.stage(stage, check=False)
        assert done.code == 0, (stage, done.out, done.err)
    until(lost.whole, 120, "HEALTH_OK")
    assert state(lost) == before
    for stage in STAGES[1:]:
        nothing_changed(lost, stage)
    again = lost.run(MASTER, "salt-run ceph.adopt").out
    assert "adopted already: nothing changed" in again
