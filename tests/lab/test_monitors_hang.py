"""Monitors that hang: a stage that asks them ends with one message, which has the host that asked and the next step."""

import json
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from product import DEPLOY, PILLAR, STORAGE, Product, until

from lab.containers import Done

PORTS = "INPUT -p tcp -m multiport --dports 3300,6789 -j DROP"
# How every monitor comes to hang, and how it goes on: stopped, it keeps its connections; with its ports dropped,
# nobody reaches it.
HANGS = {
    "stopped": ("pkill -STOP -x ceph-mon", "pkill -CONT -x ceph-mon"),
    "dropped": (f"iptables -I {PORTS}", f"iptables -D {PORTS}"),
}
NEXT = "look at 'systemctl status ceph-mon.target' on the monitors' hosts"
STAGES = ("ceph.stage.configure", DEPLOY, "ceph.stage.services")


@contextmanager
def hanging(served: Product, how: str) -> Iterator[None]:
    """All monitors hang; the cluster is well again afterwards."""
    until(served.healthy, 120, "HEALTH_OK")
    begin, end = HANGS[how]
    for host in STORAGE:
        served.run(host, begin)
    try:
        yield
    finally:
        for host in STORAGE:
            served.run(host, end)
        until(served.healthy, 180, "HEALTH_OK with monitors that answer")


def keys(served: Product) -> set[str]:
    """Every key that Ceph or the master knows."""
    made = json.loads(served.run("saltmaster", f"cat {PILLAR}/keys/keys.json").out)
    return {each["key"] for each in served.ceph("auth ls")["auth_dump"]} | {
        key for key in made.values() if isinstance(key, str)
    }


def explained(done: Done, secrets: set[str]) -> None:
    """What a person is shown: which host could not ask, that it took too long, what to do; nothing else."""
    shown = done.out + done.err
    assert done.code == 1, shown
    assert "Traceback" not in shown
    assert not [key for key in secrets if key in shown]
    assert "saltmaster" in shown and NEXT in shown, shown


@pytest.mark.parametrize(
    ("how", "stage"),
    [
        pytest.param(how, stage, marks=() if (how, stage) == ("stopped", DEPLOY) else pytest.mark.big)
        for how in HANGS
        for stage in STAGES
    ],
)
def test_a_stage_says_who_could_not_ask_and_what_to_do(served: Product, how: str, stage: str) -> None:
    secrets = keys(served)
    with hanging(served, how):
        done = served.run("saltmaster", f"salt-run stage.run {stage.rpartition('.')[2]}", check=False, limit=900)
    print(done.out)
    explained(done, secrets)
