"""Prep on a running cluster: time from the master's host, sources and updates where the pillar asks, in turns.

All hosts of this cluster run a monitor beside OSDs, so that each is a turn.
"""

import json
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

import pytest
from busy import until_seen
from product import PILLAR, Product, nothing_changed, until

from lab import containers, daemon
from lab.store import find

PREP = "ceph.stage.prep"
DUE = ("node1", "node2")
PROOF = {"name": "deb [trusted=yes] file:/srv/proof ./", "file": "/etc/apt/sources.list.d/proof.list"}
# A package of two versions, the first installed on the hosts that are to be due an update; no other source is asked.
SOURCES = r"""
set -e
mkdir -p /srv/proof /tmp/proof/DEBIAN
for version in 1.0 2.0; do
    printf 'Package: proof\nVersion: %s\nArchitecture: all\nMaintainer: none <none@example.com>\nDescription: none\n' \
        $version >/tmp/proof/DEBIAN/control
    deb=/srv/proof/proof_$version.deb
    dpkg-deb --build /tmp/proof $deb >/dev/null
    { dpkg-deb --field $deb; echo "Filename: ./proof_$version.deb"; echo "Size: $(stat -c %s $deb)"
      echo "SHA256: $(sha256sum $deb | cut -d' ' -f1)"; echo; } >>/srv/proof/Packages
done
mv /etc/apt/sources.list /etc/apt/sources.list.away
"""
INSTALLED = "dpkg-query --show --showformat '${Version}' proof"
APT = "find /etc/apt -type f -exec sha256sum {} + | sort"


@contextmanager
def site(cluster: Product, **settings: object) -> Iterator[None]:
    """The site's own settings, in the place that docs/reference/settings.md names."""
    text = json.dumps(settings)
    cluster.run("saltmaster", f"cat >{PILLAR}/site.sls <<'EOF'\n{text}\nEOF")
    try:
        yield
    finally:
        cluster.run("saltmaster", f"rm {PILLAR}/site.sls")


def test_the_masters_host_gives_the_time(cluster: Product) -> None:
    master = cluster.run("saltmaster", "hostname -i").out.strip()
    for host in set(cluster.session.hosts) - {"saltmaster"}:
        until(lambda host=host: f"^,*,{master}," in cluster.run(host, "chronyc -n -c sources").out, 60, f"{host}: time")
    assert "local stratum 10" in cluster.run("saltmaster", "cat /etc/chrony/conf.d/halocline.conf").out
    clocks = "".join(cluster.run(host, "pgrep -x -a chronyd").out for host in cluster.session.hosts).splitlines()
    assert clocks and all(" -x" in line for line in clocks)  # none of them sets the clock that they share


@pytest.fixture
def due(cluster: Product) -> Iterator[Product]:
    """A cluster two hosts of which are due an update, one of them a reboot."""
    until(cluster.whole, 60, "HEALTH_OK")
    hosts = cluster.session.hosts
    before = {host: cluster.run(host, APT).out for host in hosts}
    for host in hosts:
        cluster.run(host, SOURCES)
    for host in DUE:
        cluster.run(host, "dpkg --install /srv/proof/proof_1.0.deb")
    cluster.run("node2", "touch /run/reboot-required")
    yield cluster
    for host in hosts:
        cluster.run(
            host,
            "dpkg --purge proof; mv /etc/apt/sources.list.away /etc/apt/sources.list; "
            f"rm -r /srv/proof {PROOF['file']}",
        )
    assert {host: cluster.run(host, APT).out for host in hosts} == before  # no source was added unasked


def versions(cluster: Product) -> set[str]:
    return {cluster.run(host, INSTALLED).out for host in DUE}


@pytest.mark.big
def test_updates_go_in_turns_and_only_when_the_cluster_is_well(due: Product, load: Callable) -> None:
    due.stage(PREP)
    assert versions(due) == {"1.0"}  # nobody asked
    asked = {"ceph_repos": {"proof": PROOF}, "stage_prep_minion": "default-update-reboot"}
    with site(due, **asked, ready_timeout=5), stopped_osd(due, "node3"):
        planned = due.run("saltmaster", "salt-run stage.plan prep").out
        refused = due.stage(PREP, check=False)
    assert "node2: reboot (/run/reboot-required is there)" in planned  # of a source not added yet nothing is known
    assert refused.code == 1 and ": down" in refused.out and "run the stage again" in refused.out
    assert versions(due) == {"1.0"} and not flagged(due)
    until(due.whole, 60, "HEALTH_OK")
    with site(due, **asked):
        due.run("saltmaster", "salt-run updates.pause")
        paused = due.stage(PREP, check=False)
        due.run("saltmaster", "salt-run updates.resume")
    assert paused.code == 1 and "before node1: 'salt-run updates.resume' lets it go on" in paused.out, paused.out
    assert versions(due) == {"1.0"} and not flagged(due)
    with site(due, **asked), ThreadPoolExecutor(1) as pool:
        with load(due, until_seen(due), least=100) as busy, busy.fault():  # node2 is off for a while
            running = pool.submit(due.stage, PREP, check=False)
            seen = history(due, running)
        assert running.result().code == 0, running.result().out
        assert versions(due) == {"2.0"}
        assert "nothing changed" in due.run("saltmaster", "salt-run updates.resume").out
        assert seen == [("node1",), ("node2",)]
        assert not flagged(due) and "halocline/noout" not in due.run("saltmaster", "ceph config-key ls").out
        until(due.whole, 90, "HEALTH_OK after the maintenance")
        nothing_changed(due, PREP)


@contextmanager
def stopped_osd(cluster: Product, host: str) -> Iterator[None]:
    unit = "ceph-osd@$(ls /etc/ceph/osd-devices | head -1)"
    cluster.run(host, f"systemctl stop {unit}")
    try:
        yield
    finally:
        cluster.run(host, f"systemctl start {unit}")


def flagged(cluster: Product) -> tuple[str, ...]:
    """The hosts with `noout`."""
    flags = cluster.ceph("osd dump")["crush_node_flags"]
    return tuple(sorted(host for host, names in flags.items() if "noout" in names))


def history(cluster: Product, running: object) -> list[tuple[str, ...]]:
    """Which hosts had `noout` one after the other while a stage ran; node2 is switched on again when it is off."""
    node = containers.find(daemon.needed(), find(cluster.session.name), "node2")
    seen: list[tuple[str, ...]] = []
    while not running.done():
        now = flagged(cluster)
        if now and now not in seen[-1:]:
            seen.append(now)
        node.reload()
        if node.status == "exited":
            cluster.session.verb("start", "node2")
    return seen
