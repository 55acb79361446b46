"""What the running cluster is asked and told by planned ``ceph`` commands, through the host with the role master."""

from collections.abc import Mapping, Sequence
from typing import Any

from proposals.text.errors import ProposalError
from runners.engine import jobs

LATER = "looked at when the cluster runs"  # what a step says where ``found`` is None


def found(opts: Mapping, test: bool) -> dict[str, Any] | None:
    """Return what ``cluster_crush.inspect`` answers; None in test mode where there is no cluster to ask yet."""
    try:
        return jobs.cluster(opts, "cluster_crush.inspect", kind=dict)
    except ProposalError:
        if test:
            return None
        raise


def run(opts: Mapping, commands: Sequence[Sequence[str]], test: bool, steady: str) -> dict[str, Any]:
    """Run planned ``ceph`` commands, or in test mode say them; return a step's answer.

    opts
        The master's options.
    commands
        Each without ``ceph`` itself.
    test
        Only say them.
    steady
        What to say where there is none.
    """
    lines = [f"ceph {' '.join(command)}" for command in commands]
    if not commands:
        return {"text": f"{steady}: nothing changed"}
    if test:
        return {"text": "\n".join(["would run:", *lines])}
    jobs.cluster(opts, "cluster_crush.apply", [commands])
    return {"text": "\n".join(lines), "changes": {"ceph": lines}}
