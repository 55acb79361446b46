"""What the prep stage may do to which host, and in which order."""

import pytest

from proposals.cluster import maintenance
from proposals.cluster.maintenance import Allowed
from proposals.text.errors import ArgumentError

MASTER = "admin"
LOOKED = {
    "admin": {"pending": ["vim"], "reboot": "a new kernel", "ceph": [], "daemons": []},
    "osd1": {"pending": [], "reboot": "", "ceph": [], "daemons": ["osd.0"]},
    "site2": {"pending": ["vim", "ceph-mon"], "reboot": "a new kernel", "ceph": ["ceph-mon"], "daemons": ["mon.a"]},
}


def allowed(**pillar):
    return maintenance.wanted(pillar, LOOKED, MASTER)


def test_nothing_is_done_unasked():
    assert set(allowed().values()) == {Allowed()}
    assert maintenance.due(allowed(), LOOKED) == {}


def test_the_masters_host_is_asked_for_apart_and_never_rebooted():
    found = allowed(stage_prep_master="default-update-reboot", stage_prep_minion="default-no-update-reboot")
    assert found == {"admin": Allowed(update=True), "osd1": Allowed(reboot=True), "site2": Allowed(reboot=True)}
    assert maintenance.due(found, LOOKED) == {"admin": ["update 1 packages"], "site2": ["reboot (a new kernel)"]}


def test_a_host_that_is_due_nothing_is_left_alone():
    found = maintenance.due(allowed(stage_prep_minion="default-update-reboot"), LOOKED)
    assert found == {"site2": ["update 2 packages", "reboot (a new kernel)"]}


def test_monitors_come_first_the_masters_host_last():
    assert maintenance.order(LOOKED, LOOKED, MASTER) == ["site2", "osd1", "admin"]


def test_cephs_own_packages_are_not_updated_beside_the_others():
    (line,) = maintenance.against(LOOKED, LOOKED)
    assert line.startswith("site2: updates hold ceph-mon of Ceph") and "run ceph.stage.upgrade" in line


HOSTS = {  # its daemons by their folders, its units, folders of cephadm's; whether it may go beside others
    "OSDs": (["osd.0", "osd.11"], ["ceph-osd@0", "ceph-osd@11", "ceph-volume@lvm-0-x"], [], True),
    "a monitor too": (["mon.a", "osd.0"], ["ceph-mon@a", "ceph-osd@0"], [], False),
    "a manager too": (["mgr.a", "osd.0"], ["ceph-osd@0"], [], False),
    "an NFS server too": (["osd.0"], ["ceph-osd@0", "nfs-ganesha"], [], False),
    "an address before gateways too": (["osd.0"], ["ceph-osd@0", "ceph-rgw-keepalived"], [], False),
    "a gateway by another name": (["osd.0"], ["ceph-osd@0", "ceph-rbd-mirror@a"], [], False),
    "others' OSDs too": (["osd.0"], ["ceph-osd@0"], ["1-2-3-4-5"], False),
    "nothing": ([], [], [], False),
}


@pytest.mark.parametrize("case", HOSTS)
def test_only_hosts_of_osds_alone_may_go_together(case):
    daemons, units, foreign, together = HOSTS[case]
    looked = {"a": {"daemons": daemons, "units": [f"{unit}.service" for unit in units], "foreign": foreign}}
    assert maintenance.osds(looked, looked) == ({"a": daemons} if together else {})


@pytest.mark.parametrize("value", ["default-update-rebot", True, ["default-update-reboot"]])
def test_another_word_is_refused_with_those_that_there_are(value):
    with pytest.raises(ArgumentError, match="stage_prep_minion is .*: expected one of default-no-update-no-reboot, "):
        allowed(stage_prep_minion=value)


def test_a_wait_that_is_none_is_refused_before_anything_is_done():
    with pytest.raises(ArgumentError, match="ready_timeout is soon: expected a number of seconds"):
        allowed(ready_timeout="soon")
