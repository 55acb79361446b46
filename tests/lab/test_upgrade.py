"""Ceph's packages made newer, by repacking, and installed by the stage upgrade while clients write."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from busy import until_seen
from product import STORAGE, Product, until

UPGRADE = "ceph.stage.upgrade"
PROOF = "/etc/apt/sources.list.d/newer.list"
# The packages of Ceph that a host has, repacked from its own files with a higher version; no other source is asked.
# Links to folders stay out: /lib, which some packages name, is one.
NEWER = r"""
set -e
mkdir -p /srv/newer /tmp/newer; cd /tmp/newer
dpkg-query -W -f '${Package} ${Version} ${source:Package} ${db:Status-Status}\n' |
awk '$3 == "ceph" && $4 == "installed" {print $1, $2}' | while read -r name version; do
    rm -rf tree; mkdir -p tree/DEBIAN
    dpkg-query -L $name | while read -r path; do [ -L "$path" ] && [ -d "$path" ] || echo "$path"; done |
        tar -C / --no-recursion -cf - -T - 2>/dev/null | tar -C tree -xf -
    for part in preinst postinst prerm postrm triggers; do
        for file in /var/lib/dpkg/info/$name.$part /var/lib/dpkg/info/$name:amd64.$part; do
            [ ! -e $file ] || cp $file tree/DEBIAN/$part
        done
    done
    dpkg-query -s $name | sed '/^Status:/d; /^Conffiles:/,/^[^ ]/{/^Conffiles:/d; /^ \//d}' |
        sed "s/= $version/= $version+1/g; s/^Version: .*/Version: $version+1/" >tree/DEBIAN/control
    deb=/srv/newer/${name}_newer.deb
    dpkg-deb -Znone --build tree $deb >/dev/null
    { dpkg-deb --field $deb; echo "Filename: ./$(basename $deb)"; echo "Size: $(stat -c %s $deb)"
      echo "SHA256: $(sha256sum $deb | cut -d' ' -f1)"; echo; } >>/srv/newer/Packages
done
mv /etc/apt/sources.list /etc/apt/sources.list.away
echo 'deb [trusted=yes] file:/srv/newer ./' >/etc/apt/sources.list.d/newer.list
"""
VERSION = "dpkg-query --show --showformat '${Version}' ceph-common"
STARTS = "systemctl show --property Id,ExecMainStartTimestampMonotonic 'ceph-*@*'"
BREAK = "cd /srv/newer && mv ceph-osd_newer.deb kept.deb && head -c 4096 kept.deb >ceph-osd_newer.deb"
MEND = "cd /srv/newer && mv kept.deb ceph-osd_newer.deb"
# A monitor of newer packages that does not start.
DROP_IN = "/run/systemd/system/ceph-mon@.service.d"
FAIL = (
    f"mkdir -p {DROP_IN} && printf '[Service]\\nExecStartPre=/bin/false\\n' >{DROP_IN}/fail.conf; "
    "systemctl daemon-reload"
)
HEAL = (
    f"rm -rf {DROP_IN}; systemctl daemon-reload; systemctl reset-failed 'ceph-mon@*'; systemctl start 'ceph-mon@{{}}'"
)


@pytest.fixture
def newer(cluster: Product) -> Iterator[Product]:
    """The first cluster, for all hosts of which newer packages lie in a local source."""
    until(cluster.whole, 120, "HEALTH_OK")
    for host in cluster.session.hosts:
        cluster.run(host, NEWER)
    yield cluster
    for host in cluster.session.hosts:
        cluster.run(host, f"mv /etc/apt/sources.list.away /etc/apt/sources.list; rm -rf /srv/newer /tmp/newer {PROOF}")
    until(cluster.whole, 240, "HEALTH_OK as before")


def stopped(cluster: Product, says: str) -> None:
    """The stage ends with that, by name, and without a traceback."""
    done = cluster.stage(UPGRADE, check=False)
    assert done.code == 1 and says in done.out, done.out
    assert "Traceback" not in done.out + done.err


def versions(cluster: Product) -> dict[str, str]:
    return {host: cluster.run(host, VERSION).out for host in cluster.session.hosts}


def starts(cluster: Product) -> dict[str, str]:
    return {host: cluster.run(host, STARTS).out for host in STORAGE}


@pytest.mark.big
def test_packages_are_upgraded_under_load_and_what_is_broken_stops_by_name(
    newer: Product, load: Callable[..., Any]
) -> None:
    """The canary's package is cut, then its monitor does not start, then another host's package is cut: each stops all
    by name. Mended and paused once, it goes on; then it changes nothing.
    """
    before, began = versions(newer), starts(newer)
    canary, broken, last = STORAGE
    planned = newer.run("saltmaster", "salt-run stage.plan upgrade").out
    assert "osd: " in planned and "alone at first" in planned
    assert versions(newer) == before and starts(newer) == began
    with load(newer, until_seen(newer), least=100) as busy, busy.fault():
        newer.run(canary, BREAK)
        stopped(newer, f"{canary}: its packages")
        assert versions(newer) == before and starts(newer) == began
        newer.run(canary, MEND)
        newer.run(canary, FAIL)
        try:
            stopped(newer, f"{canary}: ")
            until(lambda: canary not in newer.status()["quorum_names"], 60, f"{canary} is missed")
            stopped(newer, "monitors are in quorum")  # begun again, before that is mended
        finally:
            newer.run(canary, HEAL.format(canary))
        now = versions(newer)
        assert now == {**before, canary: f"{before[canary]}+1"}
        assert {host: said for host, said in starts(newer).items() if host != canary} == {
            host: said for host, said in began.items() if host != canary
        }
        until(lambda: canary in newer.status()["quorum_names"], 60, f"{canary} is in quorum")
        newer.run(broken, BREAK)
        stopped(newer, f"{broken}: its packages")
        assert versions(newer) == now and now[last] == before[last]
        assert "under way since" in newer.run("saltmaster", "salt-run upgrade.status").out
        newer.run(broken, MEND)
        newer.run("saltmaster", "salt-run upgrade.pause")
        stopped(newer, "'salt-run upgrade.resume' lets it go on")
        assert versions(newer) == now
        newer.run("saltmaster", "salt-run upgrade.resume")
        done = newer.stage(UPGRADE, check=False)
        assert done.code == 0, done.out
    assert versions(newer) == {host: f"{version}+1" for host, version in before.items()}
    assert all(now != began[host] for host, now in starts(newer).items())
    assert newer.ceph("osd dump")["crush_node_flags"] == {}
    assert "halocline" not in newer.run("saltmaster", "ceph config-key ls").out
    again = starts(newer)
    assert "nothing changed" in newer.stage(UPGRADE).out and starts(newer) == again
