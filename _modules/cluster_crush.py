"""The cluster's CRUSH map and pools as they are, on a host with the admin's key. What to do about them is planned on
the master (``salt-run crush.place``, ``salt-run pool.make``).
"""

from collections.abc import Sequence
from typing import Any

import halocline

INIT = 300  # seconds for rbd, which waits until the placement groups of a new pool are served
POOL = ("pool_name", "size", "min_size", "erasure_code_profile", "pg_autoscale_mode", "options")
QUOTAS = ("quota_max_bytes", "quota_max_objects")


def inspect() -> dict[str, Any]:
    """Return ``{tree, rules, profiles, pools}``: buckets and OSDs, the names of what is there, and what pools have.

    ``tree`` is ``ceph osd tree``'s nodes (id, name, type, children, device_class).

    CLI Example:

    .. code-block:: bash

        salt 'saltmaster' cluster_crush.inspect
    """
    ask = __salt__["cluster_cli.ask"]
    rules = {rule["rule_id"]: rule["rule_name"] for rule in ask(["osd", "crush", "rule", "dump"])}
    return {
        "tree": ask(["osd", "tree"])["nodes"],
        "rules": list(rules.values()),
        "profiles": ask(["osd", "erasure-code-profile", "ls"]),
        "pools": [
            {
                **{key: pool[key] for key in (*POOL, *QUOTAS)},
                "crush_rule": rules.get(pool["crush_rule"], ""),
                "pg_num": pool["pg_num_target"],
                "flags": pool["flags_names"].split(","),
                "applications": list(pool["application_metadata"]),
            }
            for pool in ask(["osd", "pool", "ls", "detail"])
        ],
    }


def apply(commands: Sequence[Sequence[str]]) -> dict[str, list[str]]:
    """Run commands one after the other; the first that fails ends it, with Ceph's words.

    commands
        Lists of words, as the master planned them: of ``ceph``, or of ``rbd`` where that is the first word.

    CLI Example:

    .. code-block:: bash

        salt 'saltmaster' cluster_crush.apply '[[osd, crush, add-bucket, rack1, rack]]'
    """
    for words in commands:
        if words[0] == "rbd":
            halocline.run(words, limit=INIT)
        else:
            __salt__["cluster_cli.tell"](words)
    return {"run": [" ".join(words) for words in commands]}


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
