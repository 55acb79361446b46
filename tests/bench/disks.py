"""How long it takes to see the 62 disks of one `apollo` OSD node: the grain beside `ceph-volume inventory`.

Both run in the same container, the grain as a minion's start runs it; the middle of several runs counts.
"""

import json
import tempfile
import time
from pathlib import Path
from statistics import median

import kept
import yaml
from rich.console import Console
from rich.table import Table

from lab import up as bring
from lab.session import Session
from lab.store import CHECKOUT

WANTED = 0.2  # seconds for the grain, on a machine of two cores
RUNS = {"grain": 9, "inventory": 3}
SOURCE = CHECKOUT / "salt/_grains/ceph_disks.py"
GRAIN = f"""
import json, sys, time, types
grain = types.ModuleType("ceph_disks")
exec(sys.argv[1], grain.__dict__)
taken = []
for _ in range({RUNS["grain"]}):
    start = time.perf_counter()
    disks = grain.ceph_disks()["ceph_disks"]
    taken.append(time.perf_counter() - start)
print(json.dumps([taken, len(disks)]))
"""


def cluster() -> dict:
    """`apollo`, of which only the master and one OSD node are made: with all of its disks."""
    whole = yaml.safe_load((CHECKOUT / "lab/clusters/apollo.yaml").read_text())
    whole["hosts"] = [host for host in whole["hosts"] if host.get("master") or "osdnode1" in host["names"]]
    whole["hosts"][-1]["names"] = ["osdnode1"]
    return whole | {"domain": "disks.lab", "networks": {"public": "192.168.166.0/24", "cluster": "192.168.167.0/24"}}


def measure(session: Session) -> tuple[float, float, int]:
    """Seconds of the grain, seconds of `ceph-volume inventory`, and how many disks both saw."""
    taken, seen = json.loads(session.run("osdnode1", ["/opt/salt/bin/python", "-c", GRAIN, SOURCE.read_text()]).out)
    peer = []
    for _ in range(RUNS["inventory"]):
        start = time.perf_counter()
        listed = json.loads(session.run("osdnode1", "ceph-volume inventory --format json").out)
        peer.append(time.perf_counter() - start)
    if not 0 < seen <= len(listed):
        raise SystemExit(f"the grain saw {seen} disks, ceph-volume {len(listed)}: these cannot be compared")
    return median(taken), median(peer), seen


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "disks.yaml")
        path.write_text(yaml.safe_dump(cluster()))
        bring.up(str(path))
    try:
        grain, peer, seen = measure(Session("disks"))
    finally:
        bring.down("disks")
    rows = Table("", "seconds", "ceph-volume / grain", box=None, title=f"{seen} disks of a host", title_justify="left")
    rows.add_row("ceph-volume inventory", f"{peer:.2f}", "")
    rows.add_row(f"grain ceph_disks (wanted: {WANTED})", f"{grain:.3f}", f"{peer / grain:.0f}")
    Console(width=120, highlight=False).print(rows)
    kept.row(f"grain of {seen} disks beside what is wanted", WANTED, grain, 1)


if __name__ == "__main__":
    main()
