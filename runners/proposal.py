"""``salt-run proposal.*``: what could become of the disks, and what is to."""

import salt.utils.args

from proposals import answer, arguments, plan, store, tables
from proposals.site import site


@answer.answers
def peek(**kwargs):
    """Show what a proposal would be; write nothing.

    Arguments are the planner's (``python -m proposals peek --help``); ``target`` is a Salt compound match.

    CLI Example:

    .. code-block:: bash

        salt-run proposal.peek name=apollo ratio=9 wal=740-770 db=740-770 target='osd*' data=5000-7000
    """
    made, _, _ = _plan(kwargs)
    return answer.told(tables.plan(made), made.as_dict(), __opts__.get("output"))


@answer.answers
def populate(**kwargs):
    """Write a proposal: profile fragments, ``proposal.json`` and, where there is none, a policy.cfg.

    CLI Example:

    .. code-block:: bash

        salt-run proposal.populate name=apollo ratio=9 wal=740-770 db=740-770 target='osd*' db-size=40g
    """
    made, parsed, root = _plan(kwargs)
    report = store.populate(root, made, force=parsed.force)
    text = "\n".join([tables.plan(made), *report.messages])
    return answer.told(text, {**made.as_dict(), "messages": report.messages}, __opts__.get("output"), report.status)


@answer.answers
def show(name="default", **_):
    """Show a stored proposal.

    CLI Example:

    .. code-block:: bash

        salt-run proposal.show apollo
    """
    stored = store.stored(site(__opts__).proposals, name)
    return answer.told(tables.plan(stored), stored, __opts__.get("output"))


def _plan(kwargs):
    """The plan for what discovery stored, with its arguments and the proposals folder."""
    paths = site(__opts__)
    parsed = arguments.parse(salt.utils.args.clean_kwargs(**kwargs))
    targets = __salt__["minions.match"](parsed.target) if parsed.target else None
    inventory = store.load_inventory(paths.inventory)
    made = plan.peek(inventory, parsed, stored=store.stored(paths.proposals, parsed.name), targets=targets)
    return made, parsed, paths.proposals
