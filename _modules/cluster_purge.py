"""What a cluster says of itself before it is taken apart; on a host with the admin's key. Nothing here changes it."""

from collections.abc import Collection


def look(own: Collection[str]) -> dict:
    """Return ``{fsid, clients, pools}``: who is connected, as ``ENTITY at ADDRESS``, and each pool's ``{name, objects,
    bytes}``.

    Programs are looked at twice: each start has another address (``cluster_clients.sessions``), so commands that come
    and go, as this one does, are no clients.

    own
        Entities of the cluster's own daemons, which are no clients.

    CLI Example:

    .. code-block:: bash

        salt 'saltmaster' cluster_purge.look '[client.rgw.node1]'
    """
    ask = __salt__["cluster_cli.ask"]
    first, second = __salt__["cluster_clients.connected"](), __salt__["cluster_clients.connected"]()
    stay = {entity: first[entity] & second.get(entity, set()) for entity in first}
    clients = {name: places for name, places in stay.items() if name.startswith("client.") and name not in own}
    return {
        "fsid": ask(["fsid"])["fsid"],
        "clients": sorted(f"{name} at {place}" for name, places in clients.items() for place in places),
        "pools": [
            {"name": pool["name"], "objects": pool["stats"]["objects"], "bytes": pool["stats"]["stored"]}
            for pool in ask(["df"])["pools"]
        ],
    }
