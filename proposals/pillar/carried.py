"""Configure for some hosts: the others' files are carried over from the generation that is served."""

from collections.abc import Collection, Mapping
from dataclasses import replace

from proposals.files import documents
from proposals.files.site import minion_of
from proposals.pillar import generation
from proposals.pillar.chosen import Chosen
from proposals.pillar.generation import Generation
from proposals.text.errors import PolicyError

FIRST = "nothing is served yet that the other hosts could stay with: run ceph.stage.configure without only= first"


def build(choice: Chosen, served: Mapping[str, str], hosts: Collection[str]) -> Generation:
    """Return the generation in which some hosts are as policy.cfg chooses and all others as they are served.

    All that policy.cfg chooses is made first, as a check. What is told to everybody (``cluster.yml``, the monitors'
    addresses) is made of both.

    choice
        What policy.cfg chooses.
    served
        The texts of the served files of single minions, by path (``pillar.served``).
    hosts
        Those that are new.

    Raises PolicyError with every problem, also where nothing is served.
    """
    generation.build(choice)
    kept = {path: text for path, text in served.items() if _other(path, hosts, choice.orchestrator)}
    if not kept:
        raise PolicyError(FIRST)
    contents = {
        path: sources for path, sources in choice.contents.items() if not _other(path, hosts, choice.orchestrator)
    }
    carried = {path: {f"current/{path}": documents.parse_yaml(text, path)} for path, text in kept.items()}
    return generation.build(replace(choice, contents={**contents, **carried}), kept)


def minions(served: Mapping[str, str]) -> set[str]:
    """Return the minions of the generation that is served, also those that policy.cfg chooses no longer."""
    return {path.removeprefix("cluster/").removesuffix(".sls") for path in served if path.startswith("cluster/")}


def _other(path: str, hosts: Collection[str], orchestrator: str) -> bool:
    """Whether a file is that of one minion which is to stay as it is."""
    folder, _, name = path.rpartition("/")
    minion = name.removesuffix(".sls") if folder == "cluster" else minion_of(path)
    return minion is not None and minion != orchestrator and minion not in hosts
