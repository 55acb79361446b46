"""The product in a lab, as an admin has it: the guide's commands typed on the master, Ceph asked, traces taken."""

import json
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from saltcli import salt_run

from lab.containers import Done
from lab.guide import guide
from lab.session import Session
from lab.store import CHECKOUT
from proposals.cluster.health.findings import REPORTED

PILLAR = "/srv/pillar/ceph"
PROFILE = f"{PILLAR}/proposals/profile-tiny"
SERVED = f"{PILLAR}/current/stack/default/ceph/minions"
STORAGE = ("node1", "node2", "node3")
# Two more disks a node than `tiny` has, too small for the guide's `data=900-`: what the safety tests may spoil.
SPARE_MODEL = "ST500NM0011"
SPARE = f"  spare: {{size: 480103981056, model: {SPARE_MODEL}, serial: Z1M}}\n"
DEPLOY = "ceph.stage.deploy"
# Everything that deploy could touch on a host, one line each: disks' and partitions' beginnings, /etc/ceph, the files
# that a daemon starts from, the daemons. A running OSD writes into its partitions: of those the label alone.
TRACES = r"""
for name in $(lsblk -ndo NAME); do
    echo "disk $(lsblk -ndo SERIAL /dev/$name)"
    head -c 1M /dev/$name | sha256sum
    tail -c 32k /dev/$name | sha256sum
    lsblk -nlo NAME,TYPE,PARTUUID,SIZE /dev/$name | awk '$2 == "part"' | while read -r part rest; do
        length=1M
        [ "$(head -c 22 /dev/$part | tr -d '\0')" != "bluestore block device" ] || length=4k
        echo "part $rest $length $(head -c $length /dev/$part | sha256sum)"
    done
done
find /etc/ceph /etc/systemd/system /usr/local/sbin /var/lib/ceph/osd /var/lib/ceph/mgr /var/lib/ceph/bootstrap-* \
    -maxdepth 3 -type f -printf 'file %p %T@ %s\n' | sort
pgrep -x -a 'ceph-(osd|mon|mgr)' | sort
"""


def cluster_file(folder: Path, name: str, subnet: int, spare: bool = False) -> str:
    """Write a cluster like `tiny` under another name and networks.

    spare: with two disks more a node, and a host `client1` without a role.
    """
    text = (CHECKOUT / "lab/clusters/tiny.yaml").read_text()
    text = text.replace("tiny.lab", f"{name}.lab")
    text = text.replace("192.168.144.", f"192.168.{subnet}.").replace("192.168.145.", f"192.168.{subnet + 1}.")
    if spare:
        text = text.replace("hosts:\n", f"{SPARE}hosts:\n").replace("ssd: 1}}", "ssd: 1, spare: 2}}")
        text += "  - {names: [client1], first: 40}\n"
    path = folder / f"{name}.yaml"
    path.write_text(text)
    return str(path)


class Product:
    """A lab on whose master a guide is typed, that of `tiny` where no other is named."""

    def __init__(self, session: Session, way: str = "tiny") -> None:
        self.session = session
        self.way = guide(way)
        self.times: dict[str, float] = {}
        self.answers: dict[str, Done] = {}
        self.notes: dict[str, Any] = {}

    def run(self, host: str, command: str | list[str], check: bool = True, limit: float = 600) -> Done:
        """Run a command on a host of the lab."""
        return self.session.run(host, command, check=check, limit=limit)

    def type(self, command: str, check: bool = True) -> Done:
        """Type one command on the master, as the guide prints it; keep its answer and its seconds."""
        typed = self.way.write_policy if command == "policy.cfg" else command
        if command.startswith("salt-key"):
            typed = f"echo | {command}"
        start = time.monotonic()
        done = self.run("saltmaster", typed, check=check, limit=900)
        self.times[command], self.answers[command] = time.monotonic() - start, done
        return done

    def guide(self, begin: str = "", end: str | None = None) -> None:
        """Type the guide's commands one after the other, from the first that names `begin` to before the first that
        names `end`."""
        commands = list(self.way.commands)
        first = next(at for at, command in enumerate(commands) if begin in command)
        last = next((at for at, command in enumerate(commands) if end and end in command), len(commands))
        for command in commands[first:last]:
            self.type(command)

    def stage(self, name: str, check: bool = True) -> Done:
        """Run a stage: its exit code and, in `out`, Salt's JSON."""
        return self.run("saltmaster", f"salt-run state.orch {name} --out json", check=check, limit=900)

    def write(self, path: str, text: str) -> None:
        """Write a file of the site on the master."""
        self.run("saltmaster", f"mkdir -p {Path(path).parent}; cat >{path} <<'EOF'\n{text}EOF")

    def ceph(self, words: str) -> Any:
        """Ask Ceph on the master; its JSON."""
        return json.loads(self.run("saltmaster", f"ceph --format json {words}").out)

    def status(self) -> dict[str, Any]:
        """What Ceph says of itself. Crash reports of OSDs that it tells of are archived, as by an admin who read them.

        An OSD whose disk a test pulled leaves one, and ceph-crash posts it within ten minutes: perhaps in another test.
        """
        status: dict[str, Any] = self.ceph("status")
        crashes = self.ceph("crash ls-new") if "RECENT_CRASH" in status["health"]["checks"] else []
        for crash in (crash["crash_id"] for crash in crashes if crash["entity_name"].startswith("osd.")):
            self.run("saltmaster", f"ceph crash archive {crash}")
        return status

    def healthy(self) -> bool:
        """HEALTH_OK by Ceph's own word."""
        return self.status()["health"]["status"] == "HEALTH_OK"

    def whole(self, count: int = 6, monitors: Sequence[str] = STORAGE) -> bool:
        """HEALTH_OK as the issue means it: mgr, every PG active+clean, monitors in quorum, so many OSDs up and in."""
        status = self.status()
        osds, groups = status["osdmap"], status["pgmap"]
        return (
            status["health"]["status"] == "HEALTH_OK"
            and status["mgrmap"]["available"] is True
            and sorted(status["quorum_names"]) == sorted(monitors)
            and osds["num_osds"] == osds["num_up_osds"] == osds["num_in_osds"] == count
            and groups["num_pgs"] > 0
            and [state["state_name"] for state in groups["pgs_by_state"]] == ["active+clean"]
        )

    def traces(self, down: str | None = None) -> dict[str, list[str]]:
        """What lies on every host and runs there, but for one that is down: equal where nothing was changed."""
        hosts = [host for host in self.session.hosts if host != down]
        return {host: self.run(host, TRACES, check=False).out.splitlines() for host in hosts}

    def written(self) -> list[str]:
        """Every file and link that the admin keeps on the master, with its content's hash and its time.

        But for the time of inventory/ID.json, which is that of discovery's last look.
        """
        command = (
            f"find {PILLAR} -not -path '*/inventory/*.json' -printf '%p %y %T@ %m %l\\n'; "
            f"find {PILLAR} -path '*/inventory/*.json' -printf '%p %y %m %l\\n'; "
            f"find {PILLAR} -type f -exec sha256sum {{}} +"
        )
        return sorted(self.run("saltmaster", command).out.splitlines())

    def daemons(self, hosts: Sequence[str] = STORAGE) -> dict[str, list[str]]:
        """Every Ceph daemon's process id and command line, by host; of hosts that run."""
        found = {host: self.run(host, "pgrep -x -a 'ceph-(osd|mon|mgr)'", check=False).out for host in hosts}
        return {host: sorted(lines.splitlines()) for host, lines in found.items()}


def nothing_changed(product: Product, stage: str) -> None:
    """A stage's answer has no change in any step on any minion, and says so in words."""
    start = time.monotonic()
    (steps,) = salt_run(product.session, "state.orch", stage).data["data"].values()
    print(f"\n{stage} again: {time.monotonic() - start:.1f} s")
    assert steps, f"{stage} did nothing at all"
    changed = {step["name"]: step["changes"] for step in steps.values() if step["changes"]}
    assert not changed, changed
    assert all(step["result"] is True for step in steps.values())
    told = "\n".join(step["comment"] for step in steps.values())
    assert any(words in told for words in ("No changes made", "nothing changed")), told


def until(what: Callable[[], bool], limit: float, why: str) -> None:
    """Wait until something is so, at most `limit` seconds; `why` tells what did not come."""
    end = time.monotonic() + limit
    while not what():
        assert time.monotonic() < end, f"after {limit:.0f} s: {why}"
        time.sleep(0.5)


def reported() -> None:
    """Wait until managers know where placement groups lie by a map that was just changed: until then all looks well."""
    time.sleep(REPORTED)


def planned(product: Product) -> dict[str, dict[str, dict]]:
    """The stored proposal's OSDs: ``{host: {uuid: osd}}``."""
    stored = json.loads(product.run("saltmaster", f"cat {PROFILE}/proposal.json").out)
    return {host: {osd["uuid"]: osd for osd in each["osds"]} for host, each in stored["hosts"].items()}
