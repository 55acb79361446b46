"""OSDs that ceph-volume made on logical volumes, bare and encrypted, of a cluster by hand: taken in, left alone."""

from collections.abc import Callable, Iterator

import pytest
from saltcli import salt_run
from test_lvm_osds import BY_HAND, CEPH, FSID

from lab.guest.guests import Guest
from lab.session import Session

pytestmark = pytest.mark.big
HOST = "lvm2"
# The same cluster, its monitor named as its host is; with a manager, and its OSDs started.
STARTED = f"""
set -e
folder=/var/lib/ceph/mgr/ceph-{HOST}
mkdir -p $folder
ceph auth get-or-create mgr.{HOST} mon 'allow profile mgr' osd 'allow *' mds 'allow *' >$folder/keyring
chown -R ceph:ceph $folder
systemctl enable ceph-mon@{HOST}
systemctl enable --now ceph-mgr@{HOST}
ceph-volume lvm activate --all
"""
LIES = "lvs --noheadings -o vg_name,lv_name,lv_uuid,lv_tags | sort; sha256sum /etc/ceph/*"
DAEMONS = "ps -C ceph-mon,ceph-mgr,ceph-osd -o pid=,lstart=,args= | sort"
OSDS = "ceph --format json osd dump"
OURS = "/etc/ceph/ceph.conf /etc/ceph/ceph.client.admin.keyring"


@pytest.fixture(scope="module")
def old(tiny: Session, guest: Callable[..., Guest]) -> Iterator[Guest]:
    """A guest with that cluster; it and the master's host are all that is ours."""
    made = guest(HOST, disks=("1T", "200G", "1T", "100G"), cluster="tiny", memory=2048)
    script = BY_HAND.format(fsid=FSID, address=made.address, public="192.168.144.0/24").replace("old", HOST)
    made.run(script, limit=500)
    made.run(STARTED, limit=500)
    tiny.run("saltmaster", f"rm -rf {CEPH} {OURS}; mkdir -p {CEPH}/stack/ceph")
    tiny.run("saltmaster", f"echo \"ceph_minions: '{HOST} or saltmaster'\" >{CEPH}/minions.sls")
    tiny.run("saltmaster", f"printf 'small_site: true\\nredundancy: 1\\n' >{CEPH}/stack/ceph/cluster.yml")
    tiny.run("saltmaster", f"salt -t 120 -L {HOST},saltmaster saltutil.sync_all refresh=True")
    yield made
    tiny.run("saltmaster", f"rm -rf {CEPH} {OURS}")


def test_stages_change_nothing_of_osds_on_logical_volumes(tiny: Session, old: Guest) -> None:
    def its() -> list[str]:
        asked = ("ceph --format json auth ls", "ceph --format json config dump", LIES, DAEMONS)
        return [old.run(command, limit=120).out for command in asked]

    tiny.run("saltmaster", "salt-run state.orch ceph.stage.discovery")
    before = its()
    told = tiny.run("saltmaster", "salt-run ceph.adopt").out
    assert "2 OSDs (lvm)" in told
    for stage in ("configure", "deploy"):
        tiny.run("saltmaster", f"salt-run state.orch ceph.stage.{stage} --out json", limit=900)
    assert its() == before
    assert old.run(OSDS, limit=120).out.count('"uuid"') == 2
    record = tiny.run("saltmaster", f"cat {CEPH}/proposals/adopted/stack/default/ceph/minions/{HOST}.yml").out
    assert record.count("form: lvm") == 2
    assert salt_run(tiny, "osd.report").data["osds"] == []
