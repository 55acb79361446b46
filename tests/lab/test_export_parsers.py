"""An export is what cephadm's and ceph-volume's own parsers, of the Ceph in the lab, understand as it was planned."""

import json
import shlex
from pathlib import Path

import pytest
from product import Product

from proposals.disks import arguments, export, plan
from proposals.reference import machines

pytestmark = pytest.mark.big

PARSERS = Path(__file__).with_name("ceph_parsers.py").read_text()
SHARED = ["ratio=9", "wal=740-770", "db=740-770", "db-size=40g", "wal-size=5g"]
PLANS = (SHARED, [*SHARED, "encryption=dmcrypt"], ["standalone=true", "osds-per-device=2"])


def understood(cluster: Product, asked: list[str], form: str) -> tuple[list[dict], list[dict]]:
    """The OSDs that were planned, and what Ceph's parser on a node made of their export."""
    planned = plan.peek(machines.inventory("apollo"), arguments.parse(["target=osdnode1", *asked])).as_dict()
    cluster.run("node1", f"cat >/tmp/ceph_parsers.py <<'EOF'\n{PARSERS}EOF")
    cluster.run("node1", f"cat >/tmp/export <<'EOF'\n{export.text(planned, form)}EOF")
    told = cluster.run("node1", f"python3 /tmp/ceph_parsers.py {form} </tmp/export")
    return planned["hosts"]["osdnode1"]["osds"], json.loads(told.out)


@pytest.mark.parametrize("asked", PLANS, ids=str)
def test_cephadm_would_make_the_osds_that_were_planned(cluster: Product, asked: list[str]) -> None:
    osds, told = understood(cluster, asked, "cephadm")
    assert all(each["hosts"] == ["osdnode1"] and len(each["commands"]) == 1 for each in told)
    found = {}
    for words in (shlex.split(command) for each in told for command in each["commands"]):
        assert words[:3] == ["lvm", "batch", "--no-auto"]
        assert ("--dmcrypt" in words) == ("encryption=dmcrypt" in asked)
        until = next(at for at, word in enumerate(words[3:], 3) if word.startswith("--"))
        db = words[words.index("--db-devices") + 1] if "--db-devices" in words else None
        found |= dict.fromkeys(words[3:until], db)
    assert found == {osd["data"]: osd["db"] for osd in osds}


@pytest.mark.parametrize("asked", PLANS, ids=str)
def test_ceph_volume_would_prepare_the_osds_that_were_planned(cluster: Product, asked: list[str]) -> None:
    osds, told = understood(cluster, asked, "ceph-volume")
    assert [each["osd_fsid"] for each in told] == [osd["uuid"] for osd in osds]
    for osd, each in zip(osds, told, strict=True):
        assert each["bluestore"] and each["dmcrypt"] == bool(osd["encryption"])
        assert each["block_db"] == (f"$db/osd-db-{osd['uuid']}" if osd["db"] else None)
        assert each["block_wal"] == (f"$wal/osd-wal-{osd['uuid']}" if osd["wal"] else None)
        assert each["data"] in (osd["data"], f"$data/osd-block-{osd['uuid']}")
