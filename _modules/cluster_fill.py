"""New OSDs that wait for data get their CRUSH weights, all in one movement; with the admin's key.

They came with ``osd_crush_initial_weight`` 0: they stand in the CRUSH map, no placement group is theirs, nothing is
remapped. While weights are set, one command each, several at once, ``norebalance`` keeps data from following the first
of them. That it is ours is kept in the monitors (``ceph config-key``) before it is set, so that the next run takes it
back.
"""

from collections.abc import Mapping
from typing import Any

import halocline
from salt.exceptions import CommandExecutionError

KEPT = "halocline/fill"  # a fill that has begun: by which hash, whose the flag is, of which OSDs
REMOVAL = "halocline/removal"  # cluster_removal's
FLAG = "norebalance"
WAITS = f"{FLAG} is set since, and data waits: when the cause is gone the same command goes on, and takes the flag back"
KIB_OF_TIB = 2**30
OURS, THEIRS = "ours", "theirs"


def inspect(sizes: bool = True) -> dict[str, Any]:
    """Return ``{begun, removal, sizes}``: a fill that was interrupted (``{hash, osds}``), what the monitors keep of a
    removal (``None`` where there is neither), and what each running OSD would weigh: TiB, as it says itself when it
    starts.

    sizes
        Whether weights are wanted: managers tell them, the rest is the monitors'.

    CLI Example:

    .. code-block:: bash

        salt 'saltmaster' cluster_fill.inspect
    """
    kept = __salt__["cluster_cli.kept"](KEPT)
    nodes = __salt__["cluster_cli.ask"](["osd", "df"])["nodes"] if sizes else ()
    told = {
        "begun": {"hash": kept.split()[0], "osds": kept.split()[2].split(",")} if kept else None,
        "removal": __salt__["cluster_cli.kept"](REMOVAL),
        "sizes": {str(osd["id"]): round(osd["kb"] / KIB_OF_TIB, 5) for osd in nodes if osd["kb"]},
    }
    return halocline.packed(told)


def movers() -> dict[str, Any]:
    """Return who else moves data, and how fast: ``{balancer, autoscaler, backfills, active}``.

    ``autoscaler`` are the pools whose number of placement groups it is about to change: ``[{name, now, then}]``.

    CLI Example:

    .. code-block:: bash

        salt 'saltmaster' cluster_fill.movers
    """
    tell = __salt__["cluster_cli.tell"]
    balancer = _module(["balancer", "status"]) or {}
    pools = _module(["osd", "pool", "autoscale-status"]) or []
    return {
        "balancer": {"active": bool(balancer.get("active")), "mode": balancer.get("mode", "none")},
        "autoscaler": [
            {"name": pool["pool_name"], "now": pool["pg_num_target"], "then": pool["pg_num_final"]}
            for pool in pools
            if pool["would_adjust"] and pool["pg_autoscale_mode"] == "on"
        ],
        "backfills": tell(["config", "get", "osd", "osd_max_backfills"]).strip(),
        "active": tell(["config", "get", "osd", "osd_recovery_max_active"]).strip(),
    }


def fill(weights: Mapping[str, float], confirmed: str) -> dict[str, list[str]]:
    """Give OSDs their CRUSH weights; return the commands that were run. Interrupted, the next run goes on.

    weights
        ``{"3": 5.458}``: by the OSD's number. One that has a weight already keeps it.
    confirmed
        The hash of what was confirmed.

    CLI Example: for ``salt-run osd.fill``.
    """
    tell = __salt__["cluster_cli.tell"]
    now = {
        str(node["id"]): node["crush_weight"]
        for node in __salt__["cluster_cli.ask"](["osd", "tree"])["nodes"]
        if node["type"] == "osd"
    }
    if strangers := sorted(set(weights) - set(now)):
        raise CommandExecutionError(f"the cluster has no osd.{', osd.'.join(strangers)}: nothing was changed")
    kept = __salt__["cluster_cli.kept"](KEPT)
    if kept is None:
        flags = __salt__["cluster_cli.ask"](["osd", "dump"])["flags_set"]
        kept = f"{confirmed} {THEIRS if FLAG in flags else OURS} {','.join(weights)}"
        __salt__["cluster_cli.keep"](KEPT, kept)
    todo = {osd: weight for osd, weight in weights.items() if not now[osd]}
    weighs = [["osd", "crush", "reweight", f"osd.{osd}", str(weight)] for osd, weight in todo.items()]
    after = [["osd", "unset", FLAG]] if kept.split()[1] == OURS else []
    try:
        tell(["osd", "set", FLAG])
        __salt__["cluster_cli.tell_all"](weighs)
        for words in after:
            tell(words)
    except CommandExecutionError as err:
        raise CommandExecutionError(f"{err}; {WAITS}") from err
    __salt__["cluster_cli.forget"](KEPT)
    return halocline.packed({"run": [" ".join(words) for words in (["osd", "set", FLAG], *weighs, *after)]})


def _module(words: list[str]) -> Any:
    """What a manager's module answers; nothing where it is off, or managers are starting."""
    try:
        return __salt__["cluster_cli.ask"](words)
    except CommandExecutionError:
        return None
