"""The quick test of a new cluster: a pool of its own, written to and read by ``rados bench``, then gone again.

Deleting a pool must be allowed for a moment (``mon_allow_pool_delete``). What it was is kept in the cluster
(``ceph config-key``) before it is changed and put back afterwards, by the next run where this one was killed.
"""

import json
import subprocess
import time

from salt.exceptions import CommandExecutionError

POOL = "halocline_quick_test"
KEPT = "halocline/mon_allow_pool_delete"  # the key under which the value from before is kept
ALLOW = "mon_allow_pool_delete"
ABSENT = "(not set)"
CLEAN = 300  # seconds until the new pool's placement groups must be active and clean
MORE = 120  # seconds a benchmark may take beyond its duration


def groups():
    """Return what the number of placement groups depends on: ``{osds, per_osd, used, size}``.

    ``used`` are the placement groups of all pools times their replicas; ``per_osd`` is ``mon_max_pg_per_osd``.

    CLI Example:

    .. code-block:: bash

        salt 'saltmaster' cluster_pool_benchmark.groups
    """
    status = _ask(["osd", "stat"])
    pools = _ask(["osd", "pool", "ls", "detail"])
    return {
        "osds": status["num_in_osds"],
        "per_osd": int(__salt__["cluster_cli.tell"](["config", "get", "mon", "mon_max_pg_per_osd"])),
        "used": sum(pool["pg_num"] * pool["size"] for pool in pools if pool["pool_name"] != POOL),
        "size": int(__salt__["cluster_cli.tell"](["config", "get", "mon", "osd_pool_default_size"])),
    }


def run(pg_num, seconds):
    """Make the pool, write and read for so long each, take the pool away; return what ``rados bench`` measured.

    pg_num
        Placement groups of the pool.
    seconds
        Of writing, and at most of reading.

    CLI Example:

    .. code-block:: bash

        salt 'saltmaster' cluster_pool_benchmark.run 256 10
    """
    tidy()
    try:
        _ask(["osd", "pool", "create", POOL, str(pg_num), str(pg_num), "replicated", "--autoscale-mode=off"])
        _ask(["osd", "pool", "application", "enable", POOL, "rados"])
        _settled()
        return {"write": _bench("write", seconds, "--no-cleanup"), "seq": _bench("seq", seconds)}
    finally:
        tidy()


def tidy():
    """Take the test's pool away where it is there, and put the permission back to what it was.

    CLI Example:

    .. code-block:: bash

        salt 'saltmaster' cluster_pool_benchmark.tidy
    """
    try:
        if POOL in _ask(["osd", "pool", "ls"]):
            _keep()
            _ask(["config", "set", "mon", ALLOW, "true"])
            _remove()
    finally:
        _put_back()
    return True


def _remove():
    """Delete the pool; monitors learn a moment late that they may."""
    end = time.monotonic() + 30
    while True:
        try:
            return _ask(["osd", "pool", "rm", POOL, POOL, "--yes-i-really-really-mean-it"])
        except CommandExecutionError:
            if time.monotonic() > end:
                raise
            time.sleep(1)


def _keep():
    """Keep what the permission is, once: what an interrupted run kept is older and holds."""
    if KEPT not in _ask(["config-key", "ls"]):
        rows = [row for row in _ask(["config", "dump"]) if (row["section"], row["name"]) == ("mon", ALLOW)]
        _ask(["config-key", "set", KEPT, rows[0]["value"] if rows else ABSENT])


def _put_back():
    if KEPT in _ask(["config-key", "ls"]):
        before = __salt__["cluster_cli.tell"](["config-key", "get", KEPT]).strip()
        _ask(["config", "rm", "mon", ALLOW] if before == ABSENT else ["config", "set", "mon", ALLOW, before])
        _ask(["config-key", "rm", KEPT])


def _settled():
    """Wait until every placement group is active and clean."""
    end = time.monotonic() + CLEAN
    while states := [
        state["name"]
        for state in _ask(["pg", "stat"])["pg_summary"]["num_pg_by_state"]
        if state["name"] != "active+clean"
    ]:
        if time.monotonic() > end:
            raise CommandExecutionError(f"placement groups are {', '.join(states)} after {CLEAN} s: see 'ceph -s'")
        time.sleep(1)


def _bench(what, seconds, *more):
    """One run of ``rados bench`` in its own words: totals, bandwidth in MB/s, operations, latency in seconds."""
    command = ["rados", "--pool", POOL, "--format", "json", "bench", str(seconds), what, *more]
    limit = seconds + MORE
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=limit, check=False)  # noqa: S603
    except subprocess.TimeoutExpired as err:
        raise CommandExecutionError(f"{' '.join(command)}: no end after {limit} s") from err
    if done.returncode:
        raise CommandExecutionError(f"{' '.join(command)}: exit status {done.returncode}: {done.stderr.strip()}")
    measured = done.stdout[done.stdout.find("{") :]  # before it "hints = 1"
    try:
        return {key: value for key, value in json.loads(measured).items() if key != "datas"}
    except ValueError as err:
        raise CommandExecutionError(f"{' '.join(command)}: answered no JSON: {done.stdout[-500:]}") from err


def _ask(words):
    return __salt__["cluster_cli.ask"](words)
