"""Disks of a lab's host that write so many blocks a second and no more, proven by fio; how busy processors were.

By cgroup v1's ``blkio.throttle.write_iops_device``, which is kept for each cgroup alone: a host's own, in which its
OSDs run too. 16 blocks of 4 KB are on their way at once.
"""

import json
import re

from product import Product

GROUP = "sed -n 's/^[0-9]*:blkio://p' /proc/{}/cgroup"
LIMIT = """\
dev=$(cat /sys/class/block/$(basename $(readlink -f {disk}))/dev)
echo "$dev {iops}" >/sys/fs/cgroup/blkio$({group})/blkio.throttle.write_iops_device
"""
FIO = (
    "fio --name=proof --filename={disk} --rw=randwrite --bs=4k --iodepth=16 --ioengine=libaio --direct=1 "
    "--zero_buffers --time_based --runtime=8 --output-format=json"
)
BUSY = 0.9  # share of all processors from which on a run says nothing of disks
STAT = "head -1 /proc/stat"


def throttled(product: Product, host: str, disk: str, iops: int) -> None:
    """Let a disk of a host write so many blocks a second; 0: as many as it can."""
    group = GROUP.format("self")
    product.run(host, LIMIT.format(disk=disk, iops=iops, group=group))
    others = product.run(host, f"for pid in $(pidof ceph-osd); do {GROUP.format('$pid')}; done").out.split()
    assert set(others) <= {product.run(host, group).out.strip()}, "OSDs run in a cgroup that is not throttled"


def proven(product: Product, host: str, disk: str, iops: int) -> float:
    """The blocks a second that fio writes to a throttled disk that nothing lies on: the set figure, and no more."""
    said = json.loads(product.run(host, FIO.format(disk=disk)).out)
    written: float = said["jobs"][0]["write"]["iops"]
    assert 0.8 * iops <= written <= 1.1 * iops, f"{disk} of {host} is set to {iops} writes a second, fio got {written}"
    return written


def benched(product: Product, pool: str, seconds: int = 20) -> tuple[float, float]:
    """Writes a second of ``rados bench`` in blocks of 4 KB, 16 at once, and how busy the processors were: 0 to 1."""
    bench = f"rados bench {seconds} write -p {pool} -b 4096 -t 16"
    said = product.run("saltmaster", f"{STAT}; {bench}; {STAT}").out
    (writes,) = re.findall(r"^Average IOPS: +(\d+)", said, re.M)
    first, last = ([int(word) for word in line.split()] for line in re.findall(r"^cpu +([\d ]+)$", said, re.M))
    spent = [end - begin for begin, end in zip(first, last, strict=True)]
    return float(writes), 1 - (spent[1] + spent[3] + spent[4]) / sum(spent[:8])  # nice, idle and iowait of proc(5)
