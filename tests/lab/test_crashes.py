"""A daemon that crashes leaves a report: ceph-crash posts it with a key of its own, and health tells of it as known."""

from collections.abc import Callable

from busy import until_seen
from product import STORAGE, Product, until

CRASHES = "/var/lib/ceph/crash"
AS_CRASH = "setpriv --reuid ceph --regid ceph --clear-groups ceph --name client.crash --connect-timeout 10"


def test_every_host_of_daemons_posts_crashes_and_no_other(cluster: Product) -> None:
    state = "systemctl is-enabled ceph-crash; systemctl is-active ceph-crash"
    told = {host: cluster.run(host, state, check=False).out.split() for host in (*STORAGE, "client1")}
    assert told == {**dict.fromkeys(STORAGE, ["enabled", "active"]), "client1": ["disabled", "inactive"]}
    caps = next(each["caps"] for each in cluster.ceph("auth ls")["auth_dump"] if each["entity"] == "client.crash")
    assert caps == {"mon": "profile crash", "mgr": "profile crash"}


def test_a_crash_is_posted_and_told_of_as_known(cluster: Product, load: Callable) -> None:
    until(cluster.whole, 60, "HEALTH_OK before")
    osd = cluster.run("node1", "ls /etc/ceph/osd-devices | head -1").out.strip()
    written = f"ls {CRASHES}/*/done"
    with load(cluster, until_seen(cluster), least=20) as busy, busy.fault():
        cluster.run("node1", f"systemctl kill --kill-whom=main --signal=SEGV ceph-osd@{osd}")
        until(lambda: cluster.run("node1", written, check=False).code == 0, 60, "the crash is written down")
        cluster.run("node1", "systemctl restart ceph-crash")  # it looks at its start, then every ten minutes
        posted = (f"osd.{osd}", "node1")
        until(
            lambda: (
                posted in [(each["entity_name"], each["utsname_hostname"]) for each in cluster.ceph("crash ls-new")]
            ),
            60,
            "the crash is posted",
        )
        busy.goes_on(10)  # all of this can be over in a second, less than a client waits for the groups' peering
    moved = f"ls {CRASHES}/posted/*/meta && ! ls {CRASHES}/*/meta"
    until(lambda: cluster.run("node1", moved, check=False).code == 0, 60, "it is not posted again")
    until(lambda: "RECENT_CRASH" in cluster.ceph("health")["checks"], 90, "Ceph tells of the crash")
    shown = cluster.run("saltmaster", "salt-run health.show", check=False).out
    assert [line.split()[:2] for line in shown.splitlines() if "RECENT_CRASH" in line] == [["known", "RECENT_CRASH:"]]
    until(cluster.whole, 120, "HEALTH_OK once the report is archived, and the OSD is back")


def test_its_key_is_good_for_nothing_else(cluster: Product) -> None:
    assert cluster.run("node1", f"{AS_CRASH} mon dump", check=False).code == 0, "that user can read it"
    for words in ("auth ls", "config set osd x y", "crash ls"):
        assert cluster.run("node1", f"{AS_CRASH} {words}", check=False).code != 0, words
