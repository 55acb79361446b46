"""The cluster's CRUSH map and pools as they are, on a host with the admin's key. What to do about them is planned on
the master (``salt-run crush.place``, ``salt-run pool.make``).
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import halocline
from salt.exceptions import CommandExecutionError

SERVED = 120  # seconds until the placement groups of a new pool are active: rbd would wait for them without a word
INIT = 60  # seconds for rbd then
HELD = "halocline/move"  # whose norebalance is, and what was typed, while a move is under way
FLAG = "norebalance"
WAITS = "data waits: the same command goes on"
OURS, THEIRS = "ours", "theirs"
LISTS = ["osd", "pool", "ls"]
ASKED = [["osd", "crush", "rule", "dump"], ["osd", "tree"], ["osd", "dump"], [*LISTS, "detail"]]
# Newer Ceph (18.2) makes a pool whose name begins with a dot, such as .nfs, where it is told to mean it; it says no
# with status 0 (OSDMonitor.cc). 16.2 does not know that word.
MAKES, REALLY = ["osd", "pool", "create"], "--yes-i-really-mean-it"
POOL = ["pool_name", "size", "min_size", "erasure_code_profile", "pg_autoscale_mode", "options"]
POOL += ["quota_max_bytes", "quota_max_objects"]


def inspect() -> dict[str, Any]:
    """Return ``{tree, rules, profiles, pools}``: buckets and OSDs, what rules and erasure-code profiles do, by name,
    and what pools have.

    A rule is ``{domain, root, class}``, a profile has ``k`` and ``m`` beside. ``tree`` is ``ceph osd tree``'s nodes
    (id, name, type, children, device_class). ``objects`` that a pool holds are asked of where any has no application,
    and None else.

    CLI Example:

    .. code-block:: bash

        salt 'saltmaster' cluster_crush.inspect
    """
    dump, tree, osdmap, pools = __salt__["cluster_cli.ask_all"](ASKED)
    bare = [pool for pool in pools if not pool["application_metadata"]]
    holds = __salt__["cluster_cli.ask"](["df"])["pools"] if bare else []
    objects = {pool["name"]: pool["stats"]["objects"] for pool in holds}
    rules = {rule["rule_id"]: rule["rule_name"] for rule in dump}
    told = {
        "tree": tree["nodes"],
        "rules": {rule["rule_name"]: _rule(rule["steps"]) for rule in dump},
        "profiles": {name: _profile(profile) for name, profile in osdmap["erasure_code_profiles"].items()},
        "pools": [
            {
                **{key: pool[key] for key in POOL},
                "crush_rule": rules.get(pool["crush_rule"], ""),
                "pg_num": pool["pg_num_target"],
                "flags": pool["flags_names"].split(","),
                "applications": list(pool["application_metadata"]),
                "objects": objects.get(pool["pool_name"]),
            }
            for pool in pools
        ],
    }
    return halocline.packed(told)


def apply(commands: Sequence[Sequence[str]]) -> dict[str, list[str]]:
    """Run commands one after the other; the first that fails ends it, with Ceph's words.

    commands
        Lists of words, as the master planned them: of ``ceph``, or ``rbd pool init POOL``, which waits until the
        pool's placement groups are active: where they do not become it, the error names their states.

    CLI Example:

    .. code-block:: bash

        salt 'saltmaster' cluster_crush.apply '[[osd, crush, add-bucket, rack1, rack]]'
    """
    for words in commands:
        if words[0] == "rbd":
            halocline.until(partial(_served, words[-1]), SERVED)
            halocline.run(words, limit=INIT)
        else:
            __salt__["cluster_cli.tell"](words)
            if list(words[:3]) == MAKES and words[3][0] == "." and words[3] not in __salt__["cluster_cli.ask"](LISTS):
                __salt__["cluster_cli.tell"]([*words, REALLY])
    return {"run": [" ".join(words) for words in commands]}


def held() -> str:
    """Return what was typed to move data and was interrupted, so that ``norebalance`` is still set; else an empty text.

    CLI Example:

    .. code-block:: bash

        salt 'saltmaster' cluster_crush.held
    """
    kept = __salt__["cluster_cli.kept"](HELD)
    return kept.partition(" ")[2] if kept else ""


def move(commands: Sequence[Sequence[str]], typed: str) -> dict[str, list[str]]:
    """Run commands that move data, so that none moves before the last one: ``norebalance`` is set meanwhile.

    That the flag is ours is kept in the monitors (``ceph config-key``) before it is set: interrupted, the next run
    takes it back, also one without commands. So it is where a command fails: data of half a plan may not fit where it
    goes, and one that did not end in our time may still be carried out. One that was set before stays.

    commands
        As for ``apply``.
    typed
        What an admin typed, to be named where it is interrupted.

    CLI Example: for ``salt-run crush.move``.
    """
    tell, kept = __salt__["cluster_cli.tell"], __salt__["cluster_cli.kept"](HELD)
    if kept is None:
        flags = __salt__["cluster_cli.ask"](["osd", "dump"])["flags_set"]
        kept = f"{THEIRS if FLAG in flags else OURS} {typed}"
        tell(["config-key", "set", HELD, kept])
    before, after = [["osd", "set", FLAG]], [["osd", "unset", FLAG]] if kept.split()[0] == OURS else []
    try:
        apply([*before, *commands])
    except CommandExecutionError as err:
        flag = f"{FLAG} stays until then" if after else f"{FLAG} was set before, and stays"
        raise CommandExecutionError(f"{err}; {WAITS}; {flag}") from err
    apply(after)
    tell(["config-key", "rm", HELD])
    return {"run": [" ".join(words) for words in (*before, *commands, *after)]}


def prune(hosts: Sequence[str]) -> dict[str, list[str]]:
    """Take hosts without anything below them out of the CRUSH map; return which went.

    hosts
        Their names in the map.

    CLI Example:

    .. code-block:: bash

        salt 'saltmaster' cluster_crush.prune '[osdnode4]'
    """
    nodes = __salt__["cluster_cli.ask"](["osd", "tree"])["nodes"]
    empty = [node["name"] for node in nodes if node["type"] == "host" and not node["children"]]
    gone = [name for name in hosts if name in empty]
    for name in gone:
        __salt__["cluster_cli.tell"](["osd", "crush", "rm", name])
    return {"removed": gone}


def _rule(steps: Sequence[Mapping[str, Any]]) -> dict[str, str]:
    """What a rule chooses, and from where; of one with several steps all of them, which is what no rule of ours has."""
    root, _, cls = ", ".join(step["item_name"] for step in steps if step["op"] == "take").partition("~")
    chosen = [step for step in steps if step["op"].startswith("choose")]
    domain = ", ".join(f"{step['num']} {step['type']}" if step["num"] else step["type"] for step in chosen)
    return {"domain": domain, "root": root, "class": cls}


def _profile(profile: Mapping[str, str]) -> dict[str, Any]:
    """What an erasure-code profile says; where it says nothing, Ceph's own (src/erasure-code/ErasureCode.cc)."""
    return {
        "k": int(profile.get("k", 0)),
        "m": int(profile.get("m", 0)),
        "domain": profile.get("crush-failure-domain", "host"),
        "root": profile.get("crush-root", "default"),
        "class": profile.get("crush-device-class", ""),
    }


def _served(pool: str) -> None:
    """Raise with the states of a pool's placement groups while not all are active; the managers know none at first."""
    groups = __salt__["cluster_cli.ask"](["pg", "ls-by-pool", pool])["pg_stats"]
    states = Counter(group["state"] for group in groups if "active" not in group["state"].split("+"))
    if states or not groups:
        told = ", ".join(f"{count} {state}" for state, count in sorted(states.items())) or "none is known yet"
        raise CommandExecutionError(
            f"placement groups of pool {pool} are not active: {told}: 'ceph health detail' and 'ceph osd tree' say "
            "which OSDs they miss; run this again then"
        )
