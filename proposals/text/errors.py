"""What can go wrong while planning. The text of each error is the one message that a person reads:
what, what was expected, what was found, what to do next."""


class ProposalError(Exception):
    """The base of every error that planning raises on purpose."""


class ArgumentError(ProposalError):
    """An argument is unknown, given twice or not understood."""


class FilterError(ArgumentError):
    """A disk filter is not understood, or no disk matches it."""


class InventoryError(ProposalError):
    """The inventory is not of the form in docs/reference/inventory.md."""


class PlanError(ProposalError):
    """What was asked cannot be done with the disks that are there."""


class PolicyError(ProposalError):
    """policy.cfg, or a file that it selects, is wrong."""


class StoreError(ProposalError):
    """A file cannot be read or written."""
