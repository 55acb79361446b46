"""A lab's hosts as they were before the first deploy: no Ceph daemon, folder or label; packages and Salt stay.

Tests and benchmarks deploy again and again without a new lab each time.
"""

from concurrent.futures import ThreadPoolExecutor

from lab.session import Session

# A disk of whose partitions one is mounted is a boot disk. Loop devices take discards: nothing is left on the others.
SCRIPT = r"""
systemctl stop 'ceph-osd@*' 'osd-devices@*' 'ceph-mgr@*' 'ceph-mon@*'
systemctl disable --now --quiet ceph-crash
systemctl list-units --quiet --plain --no-legend 'ceph-*@*' 'osd-devices@*' | grep -w running && exit 1
find /etc/systemd/system -name 'ceph-*@*.service' -type l -delete
for disk in $(lsblk -ndpo NAME); do
    [ -z "$(lsblk -nlo MOUNTPOINTS "$disk" | tr -d '\n')" ] || continue
    sgdisk --zap-all "$disk" >/dev/null
    blkdiscard -f "$disk"
    partprobe "$disk"
    until [ "$(lsblk -nlo NAME "$disk" | wc -l)" = 1 ]; do sleep 0.1; done
done
find /var/lib/ceph/crash -mindepth 1 ! -path /var/lib/ceph/crash/posted -delete
rm -rf /var/lib/ceph/mon/* /var/lib/ceph/mgr/* /var/lib/ceph/osd/* /var/lib/ceph/bootstrap-osd/* /run/ceph/* \
    /etc/ceph/* /etc/systemd/system/osd-devices@.service /etc/systemd/system/ceph-osd@.service.d
systemctl reset-failed
systemctl daemon-reload
"""


def make_bare(session: Session) -> None:
    """Take Ceph off every host of a lab. AssertionError where a daemon does not end."""
    with ThreadPoolExecutor(len(session.hosts)) as pool:
        list(pool.map(lambda host: session.run(host, SCRIPT), session.hosts))
