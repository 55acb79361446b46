"""What a run of a stage did, in few lines: they stand at its end, whoever runs or watches it."""

from collections.abc import Mapping, Sequence

from proposals.stages.left_out import Left
from proposals.text.notes import counted, several

MANY = 10  # lines of one kind
CHANGED, NOTHING = "changed: ", "nothing changed"
RESTART = "'salt-run state.orch ceph.stage.restart' restarts them, host by host"


def lines(
    changed: Mapping[str, Sequence[str]], left: Sequence[Left] = (), waiting: Mapping[str, Sequence[str]] | None = None
) -> list[str]:
    """Return what changed, what was left out, what waits for a restart.

    changed
        What each step changed, hosts or other names; empty where it does not say.
    left
        What was left out (``left_out.judged``).
    waiting
        By minion: the daemons that run with an older configuration than they would start with.
    """
    texts = [f"{CHANGED}{step}: {several(list(names), 'more')}".rstrip(": ") for step, names in changed.items()]
    texts = texts or [NOTHING]
    texts += of_left(left)
    if daemons := [daemon for names in (waiting or {}).values() for daemon in names]:
        hosts = counted(len(waiting or {}), "host")
        texts.append(f"waits for a restart: {several(daemons, 'more daemons')} of {hosts}; {RESTART}")
    return texts


def of_left(left: Sequence[Left]) -> list[str]:
    """Return what was left out; of more than ``MANY`` lines the further ones are counted."""
    more = {host for line in left[MANY:] for host in line.hosts}
    return [
        *(line.text() for line in left[:MANY]),
        *([f"{counted(len(more), 'more host')}: left out too"] if more else []),
    ]


def of_changes(text: str) -> bool:
    """Return whether a line of a summary says what changed."""
    return text == NOTHING or text.startswith(CHANGED)
