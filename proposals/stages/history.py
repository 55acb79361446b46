"""Who ran what, and how it ended: entries of stages' run logs and of the logs of commands beside them."""

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any

from proposals.stages.records import Record
from proposals.text.names import shown

LONGEST = 200  # characters of one entry's words
OWN = ("time", "event", "user")  # of a command's record; the rest says of what
Entry = dict[str, Any]  # time, user, what, result


def of_stage(first: Mapping[str, Any], last: Mapping[str, Any], runs: bool) -> Entry:
    """Return the entry of a stage's run.

    first, last
        Of the records of its log: who began what, and how it ended.
    runs
        Whether it runs still.
    """
    only = [f"only={first['only']}"] if first.get("only") else []
    what = " ".join(["state.orch", *map(str, first["arguments"]), *only])
    result = last["result"] if last["event"] == "end" else "running" if runs else "its log has no end"
    return {"time": first["time"], "user": first["user"], "what": what, "result": result}


def of_command(command: str, record: Record) -> Entry:
    """Return the entry of what a command noted in a log of its own; lists and mappings of it are left out."""
    words = [f"{key}={value}" for key, value in record.items() if key not in OWN and isinstance(value, str | int)]
    user = record.get("user", "not kept")  # records of older versions
    return {"time": record["time"], "user": user, "what": " ".join([command, *words]), "result": record["event"]}


def newest(entries: Iterable[Entry], most: int) -> list[Entry]:
    """Return so many entries, the newest last."""
    return sorted(entries, key=lambda entry: datetime.fromisoformat(entry["time"]))[-most:]


def lines(entries: Sequence[Entry]) -> list[str]:
    """Return what a person reads of entries."""
    width = max((len(entry["user"]) for entry in entries), default=0)
    return [
        f"{entry['time'][:19].replace('T', ' ')}  {shown(entry['user']):{width}}  {shown(entry['what'], LONGEST)}: "
        f"{shown(entry['result'])}"
        for entry in entries
    ]
