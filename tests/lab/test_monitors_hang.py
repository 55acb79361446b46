"""Monitors that hang: a stage that asks them ends with one message, which has the host that asked and the next step."""

import json
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from product import PILLAR, STORAGE, Product, until

from lab.containers import Done

PORTS = "INPUT -p tcp -m multiport --dports 3300,6789 -j DROP"
# How every monitor comes to hang, and how it goes on: stopped, it keeps its connections; with its ports dropped,
# nobody reaches it.
HANGS = {
    "stopped": ("pkill -STOP -x ceph-mon", "pkill -CONT -x ceph-mon"),
    "dropped": (f"iptables -I {PORTS}", f"iptables -D {PORTS}"),
}
# Who could not ask, or who does not answer; and the next step. Deploy looks at the monitors' own word and at firewalls.
STEPS = {
    ("stopped", "services"): ("on saltmaster: ", "look at 'systemctl status ceph-mon.target' on the monitors' hosts"),
    ("stopped", "deploy"): ("mon.node1 is not in a quorum", "look at 'journalctl -u ceph-mon@node1'"),
    ("dropped", "services"): ("on saltmaster: ", "look at 'systemctl status ceph-mon.target' on the monitors' hosts"),
    ("dropped", "deploy"): ("node1, node2, node3: TCP 3300, 6789", "open them there"),
}


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


def run(served: Product, stage: str) -> Done:
    """Run a stage as an admin does."""
    return served.run("saltmaster", f"salt-run stage.run {stage}", check=False, limit=900)


# One here; the others take a minute or two each.
@pytest.mark.parametrize(
    ("how", "stage"),
    [case if case == ("stopped", "services") else pytest.param(*case, marks=pytest.mark.big) for case in STEPS],
)
def test_a_stage_says_who_could_not_ask_and_what_to_do(served: Product, how: str, stage: str) -> None:
    """And nothing else: no traceback, no key."""
    secrets = keys(served)
    with hanging(served, how):
        done = run(served, stage)
    shown = done.out + done.err
    assert done.code == (1 if (how, stage) == ("stopped", "deploy") else 2), shown  # there it has begun already
    for words in STEPS[how, stage]:
        assert words in shown, shown
    assert "Traceback" not in shown
    assert not [key for key in secrets if key in shown]


@pytest.mark.big
@pytest.mark.parametrize("how", HANGS)
def test_configure_asks_no_monitor(served: Product, how: str) -> None:
    with hanging(served, how):
        done = run(served, "configure")
    assert (done.code, done.err) == (0, ""), done.out
