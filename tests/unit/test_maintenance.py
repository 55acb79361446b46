"""What the prep stage may do to which host, and in which order."""

import pytest

from proposals.cluster import maintenance
from proposals.cluster.maintenance import Allowed
from proposals.text.errors import ArgumentError

MASTER = "admin"
LOOKED = {
    "admin": {"pending": ["vim"], "reboot": "a new kernel", "daemons": []},
    "osd1": {"pending": [], "reboot": "", "daemons": ["ceph-0"]},
    "mon2": {"pending": ["vim", "ceph-mon"], "reboot": "a new kernel", "daemons": ["ceph-mon2"]},
}


def allowed(**pillar):
    return maintenance.wanted(pillar, LOOKED, MASTER)


def test_nothing_is_done_unasked():
    assert set(allowed().values()) == {Allowed()}
    assert maintenance.due(allowed(), LOOKED) == {}


def test_the_masters_host_is_asked_for_apart_and_never_rebooted():
    found = allowed(stage_prep_master="default-update-reboot", stage_prep_minion="default-no-update-reboot")
    assert found == {"admin": Allowed(update=True), "osd1": Allowed(reboot=True), "mon2": Allowed(reboot=True)}
    assert maintenance.due(found, LOOKED) == {"admin": ["update 1 packages"], "mon2": ["reboot (a new kernel)"]}


def test_a_host_that_is_due_nothing_is_left_alone():
    found = maintenance.due(allowed(stage_prep_minion="default-update-reboot"), LOOKED)
    assert found == {"mon2": ["update 2 packages", "reboot (a new kernel)"]}


def test_monitors_come_first_the_masters_host_last():
    assert maintenance.order(LOOKED, LOOKED, MASTER) == ["mon2", "osd1", "admin"]


@pytest.mark.parametrize("value", ["default-update-rebot", True, ["default-update-reboot"]])
def test_another_word_is_refused_with_those_that_there_are(value):
    with pytest.raises(ArgumentError, match="stage_prep_minion is .*: expected one of default-no-update-no-reboot, "):
        allowed(stage_prep_minion=value)


def test_a_wait_that_is_none_is_refused_before_anything_is_done():
    with pytest.raises(ArgumentError, match="ready_timeout is soon: expected a number of seconds"):
        allowed(ready_timeout="soon")
