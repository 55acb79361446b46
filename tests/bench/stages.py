"""What the stages up to configure cost: Salt jobs and seconds, for 4 and 8 containers, for 50 minions in one.

The first run of each stage and the second, which changes nothing; and on a deployed cluster the second run of all five
stages beside the floor (``second.py``). The 50 are salt-minion processes of their own in one container that share its
disks (none) and its address; their roles are written by hand.
"""

import argparse
import json
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import kept
import second
from rich.console import Console
from rich.table import Table

from lab import up as bring
from lab.containers import Done
from lab.session import Session

sys.path.insert(0, str(Path(__file__).parent.parent / "lab"))
from bus import cost

CEPH = "/srv/pillar/ceph"
STAGES = ("prep", "discovery", "configure")
ONE_HOST = """\
domain: many.lab
networks: {public: 192.168.182.0/24}
hosts:
  - {names: [saltmaster], master: true, first: 20}
"""
MINION = "{{id: {0}, master: saltmaster, root_dir: /var/many/{0}, grains: {{host: {0}}}, state_queue: true}}"
MANY = 50


def stages(session: Session, minions: list[str]) -> dict[str, dict]:
    """Jobs, and seconds of the first and the second run, of each stage for some minions of a lab."""

    def run(command: str) -> Done:
        return session.run(session.master, command)

    run(f"mkdir -p {CEPH} && echo \"ceph_minions: 'L@{','.join(minions)}'\" > {CEPH}/minions.sls")
    measured = {}
    for stage in STAGES:
        if stage == "configure":
            run(f"cat > {CEPH}/proposals/policy.cfg <<'EOF'\n{policy(run, minions)}EOF")
        measured[stage] = {"jobs": [], "seconds": []}
        for _ in range(2):
            spent = cost(session, f"salt-run state.orch ceph.stage.{stage} --out quiet; echo $?")
            code = int(spent.done.out.split()[-1])
            if code:
                raise SystemExit(f"{stage} of {len(minions)} minions ended with {code}: salt-run stage.last")
            log = run(f"cat $(ls -t /var/log/halocline/{stage}-*.jsonl | head -1)").out.splitlines()
            measured[stage]["jobs"].append(len(spent.jobs))
            measured[stage]["seconds"].append(seconds([json.loads(line) for line in log]))
            took = measured[stage]["seconds"][-1]
            print(f"{stage}, {len(minions)} minions: {len(spent.jobs)} jobs, {took:.0f} s", flush=True)
    return measured


def seconds(records: list[dict]) -> float:
    """How long a run took, by its own log."""
    begin, end = (time.mktime(time.strptime(records[at]["time"], "%Y-%m-%dT%H:%M:%S%z")) for at in (0, -1))
    return end - begin


def policy(run: Callable[[str], object], minions: list[str]) -> str:
    """A policy.cfg for these minions: the first is the master, the next three are monitors; a profile of no disks."""
    storage = "proposals/profile-bench/cluster"
    run(f"mkdir -p {CEPH}/{storage}")
    for minion in minions[4:] or minions[1:]:
        run(f"printf 'roles:\\n- storage\\n' > {CEPH}/{storage}/{minion}.sls")
    lines = [f"cluster-ceph/cluster/{minion}.sls" for minion in minions]
    lines += [f"role-{role}/cluster/{minions[0]}.sls" for role in ("master", "admin")]
    lines += [f"role-{role}/cluster/{minion}.sls" for role in ("mon", "mgr") for minion in minions[1:4]]
    lines += [f"profile-bench/cluster/{minion}.sls" for minion in minions[4:] or minions[1:]]
    lines += ["config/stack/default/global.yml", "config/stack/default/ceph/cluster.yml"]
    return "".join(f"{line}\n" for line in lines)


def many(session: Session) -> list[str]:
    """Start minions as processes beside the master, accept their keys, wait for their answers; return all ids."""
    names = [f"m{number:02}" for number in range(1, MANY)]
    for name in names:
        session.run(
            session.master,
            f"mkdir -p /var/many/{name}/etc && echo '{MINION.format(name)}' > /var/many/{name}/etc/minion && "
            f"/opt/salt/bin/salt-minion --config-dir /var/many/{name}/etc --daemon",
        )
    listed = f"test $(ls /etc/salt/pki/master/minions_pre | wc -l) = {len(names)}"
    answered = f"test $(salt --out txt -t 60 '*' test.ping | grep -c True) = {MANY}"
    for command in (listed, "salt-key --yes --accept-all", answered):
        wait(session, command)
    return [session.master, *names]


def wait(session: Session, command: str, limit: float = 600) -> None:
    end = time.monotonic() + limit
    while session.run(session.master, command, check=False).code:
        if time.monotonic() > end:
            raise SystemExit(f"after {limit:.0f} s: {command}")
        time.sleep(2)


def shown(measured: dict[str, dict[str, dict]]) -> Table:
    """One row a stage, columns by where it ran."""
    rows = Table(box=None, header_style="bold")
    rows.add_column("stage")
    for where in measured:
        rows.add_column(where, justify="right")
    for stage in STAGES:
        cells = [each[stage] for each in measured.values()]
        rows.add_row(
            stage, *(f"{max(c['jobs'])} jobs, {c['seconds'][0]:.0f} and {c['seconds'][1]:.0f} s" for c in cells)
        )
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.bench --stages", description=__doc__)
    parser.add_argument("--only", choices=("containers", "processes", "second"), help="one part alone")
    only = parser.parse_args().only
    measured: dict[str, dict] = {}
    console = Console(width=120, highlight=False)
    if only in (None, "second"):
        bring.up("apollo-slice")
        try:
            second.measure("apollo-slice", console)
        finally:
            bring.down("apollo-slice")
    if only in (None, "containers"):
        bring.up("apollo-slice")
        session = Session("apollo-slice")
        try:
            measured["4 containers"] = stages(session, [session.master, *session.hosts[1:4]])
            measured["8 containers"] = stages(session, session.hosts)
        finally:
            bring.down("apollo-slice")
    if only in (None, "processes"):
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder, "many.yaml")
            path.write_text(ONE_HOST)
            bring.up(str(path))
        session = Session("many")
        try:
            measured[f"{MANY} minions in one"] = stages(session, many(session))
        finally:
            bring.down("many")
    if only in (None, "containers"):
        for stage in STAGES:
            few, more = (max(measured[f"{count} containers"][stage]["jobs"]) for count in (4, 8))
            kept.row(f"jobs of {stage}, 8 minions beside 4", few, more, 1, "jobs")
    if measured:
        console.print("\nstages: Salt jobs of a run, seconds of the first and of the second, which changes nothing")
        console.print(shown(measured))


if __name__ == "__main__":
    main()
