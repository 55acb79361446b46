"""Who may ask which function through the page: two lists, written for Salt's external authentication."""

import copy
import re
from collections.abc import Iterable, Mapping
from typing import Any

import salt.netapi
import salt.utils.minions

READ = (
    "view.start",
    "view.hosts",
    "view.peek",
    "view.proposal",
    "view.compare",
    "view.policy",
    "view.networks",
    "view.cables",
    "view.stages",
    "view.progress",
    "view.health",
    "view.osds",
)
CHANGE = ("operate.populate", "operate.policy", "operate.plan", "operate.run")
FUNCTIONS = (*READ, *CHANGE)


def rights(functions: Iterable[str]) -> list[dict[str, list[str]]]:
    """A user's rights for ``external_auth``: these functions and no other.

    Salt takes each for an expression that has to match at the beginning alone (``CkMinions.match_check``)."""
    return [{"@runner": [f"{re.escape(function)}$" for function in functions]}]


def granted(opts: Mapping[str, Any], token: Mapping[str, Any]) -> tuple[str, ...]:
    """Which functions of the page the owner of a token may ask, as the master itself will judge.

    opts
        The master's options.
    token
        As Salt made it: ``name``, ``eauth``, ``groups``.
    """
    listed = copy.deepcopy(opts.get("external_auth", {}).get(token["eauth"], {}))  # what follows adds to its lists
    theirs = salt.netapi.sum_permissions(dict(token), listed)
    judge = salt.utils.minions.CkMinions(dict(opts))
    return tuple(function for function in FUNCTIONS if judge.runner_check(theirs, function, {}) is True)
