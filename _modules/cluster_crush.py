"""The cluster's CRUSH map and pools as they are, on a host with the admin's key. What to do about them is planned on
the master (``salt-run crush.place``, ``salt-run pool.make``).
"""

from collections.abc import Sequence


def inspect() -> dict[str, list]:
    """Return ``{tree, rules, profiles, pools}``: buckets and OSDs, and the names of what is there.

    ``tree`` is ``ceph osd tree``'s nodes (id, name, type, children, device_class).

    CLI Example:

    .. code-block:: bash

        salt 'saltmaster' cluster_crush.inspect
    """
    ask = __salt__["cluster_cli.ask"]
    pools = ask(["osd", "pool", "ls", "detail"])
    keys = ("pool_name", "size", "erasure_code_profile")
    return {
        "tree": ask(["osd", "tree"])["nodes"],
        "rules": ask(["osd", "crush", "rule", "ls"]),
        "profiles": ask(["osd", "erasure-code-profile", "ls"]),
        "pools": [
            {**{key: pool[key] for key in keys}, "applications": list(pool["application_metadata"])} for pool in pools
        ],
    }


def apply(commands: Sequence[Sequence[str]]) -> dict[str, list[str]]:
    """Run ``ceph`` commands one after the other; the first that fails ends it, with Ceph's words.

    commands
        Lists of words, as the master planned them.

    CLI Example:

    .. code-block:: bash

        salt 'saltmaster' cluster_crush.apply '[[osd, crush, add-bucket, rack1, rack]]'
    """
    for words in commands:
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
