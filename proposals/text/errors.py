"""What can go wrong while planning. The text of each error is the one message that a person reads:
what, what was expected, what was found, what to do next.

Of each class the first paragraph says what it means and the second what to do: docs/reference/messages.md has both."""


class ProposalError(Exception):
    """What was asked is refused, or could not be done to its end.

    Mend what the message names, then type the same command again: what was done stays done, and it goes on. `salt-run
    stage.last` tells what the last stage did, `salt-run health.show` what is wrong with the cluster."""


class ArgumentError(ProposalError):
    """An argument is unknown, given twice or not understood.

    Type the command again with what the message says was expected: nothing was changed. `salt-run -d NOUN.VERB` prints
    a command's arguments. Salt reads words as YAML: quote what it may take for a number, a date or a list."""


class FilterError(ArgumentError):
    """A disk filter is not understood, or no disk matches it.

    `salt-run proposal.peek` shows the disks with their sizes in GiB, and [filters](filters.md) what can be said of
    them. Where they are newer than the last look, run `ceph.stage.discovery` first."""


class InventoryError(ProposalError):
    """What was read of hosts, or of another tool, has not the form that was expected.

    Run `ceph.stage.prep`, which brings the minions' modules up to date, then `ceph.stage.discovery`. A file of yours:
    correct it where the message says, by [the inventory](inventory.md)."""


class PlanError(ProposalError):
    """What was asked cannot be done with the disks or ports that are there.

    Change the argument that the message names; `salt-run proposal.explain` gives every step for one disk."""


class PolicyError(ProposalError):
    """policy.cfg, a file that it selects, or a setting is wrong.

    Correct the line that the message names. `salt-run policy.check` says whether the choice is right, then
    `ceph.stage.configure` serves it; until then the old one is served."""


class StoreError(ProposalError):
    """A file on the master cannot be read or written.

    Look at the file that the message names: its owner and mode, and whether its disk has room. Nothing was half
    written."""
