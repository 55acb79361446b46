"""A second run of deploy is one look where nothing is to be done; each kind of drift is found by it, and mended.

What a container cannot show is elsewhere: a sysctl in ``tests/functional/test_tuned.py``, modules and grains in
``test_minion.py`` beside it.
"""

from collections.abc import Mapping

import pytest
from product import DEPLOY, Product, until
from saltcli import salt_run

pytestmark = pytest.mark.big
CONF, UNIT = "/etc/ceph/ceph.conf", "/etc/systemd/system/ceph-osd@.service.d/osd-devices.conf"
SKIPPED = "when looked at: nothing changed"
# Host, what somebody did there, what shows that it is mended, the step that mends it.
DRIFTS: Mapping[str, tuple[str, str, str, str]] = {
    "an edited file": ("node2", f"echo '# mine' >>{CONF}", f"! grep -q mine {CONF}", "configuration"),
    "a removed file": ("node1", f"rm {UNIT}", f"test -s {UNIT}", "daemons"),
    "a stopped manager": ("node3", "systemctl stop ceph-mgr@node3", "systemctl is-active ceph-mgr@node3", "daemons"),
    "a daemon that would not start": (
        "node2",
        "systemctl disable ceph-mon@node2",
        "systemctl is-enabled ceph-mon@node2",
        "mon",
    ),
    "a stopped OSD": (
        "node1",
        "systemctl stop ceph-osd@$(ls /var/lib/ceph/osd | head -1 | cut -d- -f2)",
        "! systemctl list-units --no-legend --state=inactive,failed 'ceph-osd@*' | grep -q osd",
        "daemons",
    ),
    "a key of another mode": (
        "node3",
        "chmod 0644 /etc/ceph/ceph.client.crash.keyring",
        "test $(stat -c %a /etc/ceph/ceph.client.crash.keyring) = 600",
        "daemons",
    ),
    "a key that the cluster lost": ("saltmaster", "ceph auth rm client.crash", "ceph auth get client.crash", "keys"),
}


def deployed(cluster: Product) -> dict[str, dict]:
    """What each step of a deploy that ends well answers, by the step's own name."""
    (steps,) = salt_run(cluster.session, "state.orch", DEPLOY).data["data"].values()
    assert all(step["result"] is True for step in steps.values()), steps
    return {step["__id__"].removeprefix("ceph-stage-deploy-"): step for step in steps.values()}


def changed(steps: Mapping[str, dict]) -> set[str]:
    return {name for name, step in steps.items() if step["changes"]}


def test_nothing_to_do_is_seen_in_one_look(cluster: Product) -> None:
    until(cluster.whole, 120, "HEALTH_OK")
    deployed(cluster)
    steps = deployed(cluster)
    hosts = len(cluster.session.hosts)
    assert changed(steps) == set() and f"{hosts} hosts are as told" in steps["look"]["comment"], steps["look"]
    skipped = {name for name, step in steps.items() if SKIPPED in step["comment"]}
    assert skipped == {"check", "configuration", "mon", "admin", "keys", "central-config", "daemons"}


@pytest.mark.parametrize("drift", DRIFTS)
def test_what_drifted_is_found_by_the_next_run(cluster: Product, drift: str) -> None:
    host, spoil, mended, step = DRIFTS[drift]
    until(cluster.whole, 120, "HEALTH_OK")
    cluster.run(host, spoil)
    steps = deployed(cluster)
    assert changed(steps) == {step}, {name: steps[name]["changes"] for name in changed(steps)}
    assert host in steps["look"]["comment"], steps["look"]
    assert cluster.run(host, mended, check=False).code == 0
    until(cluster.whole, 120, f"HEALTH_OK after {drift}")
    assert changed(deployed(cluster)) == set()
