"""``salt-run network.*``: which ports become a bond, what lies on it, and whether the network keeps its promise."""

import salt.utils.args

from proposals import answer, names, store
from proposals.errors import ArgumentError
from proposals.networking import arguments, fragments, plan, tables
from proposals.site import site


@answer.answers
def peek(**kwargs):
    """Show what a network proposal would be; write nothing.

    Arguments are the planner's: ``mode``, ``ports``, ``width``, ``mtu``, ``public-network``, ``cluster-network``,
    ``cluster-vlan`` …; ``target`` is a Salt compound match.

    CLI Example:

    .. code-block:: bash

        salt-run network.peek cluster-network=192.168.100.0/24 cluster-vlan=3001
    """
    made, _ = _plan(kwargs)
    shown = made.as_dict()
    return answer.told(answer.printed(tables.proposal, shown), shown, __opts__.get("output"))


@answer.answers
def populate(**kwargs):
    """Write a network proposal: a fragment a host, the two networks, ``proposal.json``.

    CLI Example:

    .. code-block:: bash

        salt-run network.populate name=apollo cluster-network=192.168.100.0/24 cluster-vlan=3001
    """
    made, root = _plan(kwargs)
    report = store.populate_network(root, fragments.wanted(made), made.arguments.force)
    shown = made.as_dict()
    text = "\n".join([answer.printed(tables.proposal, shown), *report.messages])
    return answer.told(text, {**shown, "messages": report.messages}, __opts__.get("output"), report.status)


@answer.answers
def show(name="default", **_):
    """Show a stored network proposal.

    CLI Example:

    .. code-block:: bash

        salt-run network.show apollo
    """
    root = site(__opts__).proposals
    stored = store.stored_network(root, names.check_profile(str(name)))
    if stored is None:
        known = [folder.removeprefix("network-") for folder in store.folders(root) if folder.startswith("network-")]
        raise ArgumentError(
            f"there is no network proposal '{name}'; there are: {', '.join(known) or 'none, run network.populate'}"
        )
    return answer.told(answer.printed(tables.proposal, stored), stored, __opts__.get("output"))


def _plan(kwargs):
    """The plan for what discovery stored, and the proposals folder."""
    paths = site(__opts__)
    wanted = arguments.parse(salt.utils.args.clean_kwargs(**kwargs))
    targets = __salt__["minions.match"](wanted.target) if wanted.target else None
    return plan.peek(store.load_inventory(paths.inventory), wanted, targets), paths.proposals
