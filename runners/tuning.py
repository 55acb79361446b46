"""``salt-run tuning.*``: kernel settings, wanted against real."""

from collections.abc import Mapping, Sequence
from typing import Any

from proposals.stages import replies
from proposals.text.notes import FEW, by_host, by_name
from runners.engine import answer
from runners.engine.asking import jobs, minions

EACH = "'salt-run tuning.check --out json' has each host"
SIGNS = {"ok": "ok", "drift": "DRIFT", "reboot": "after a reboot", "left": "left out"}


@answer.answers
def check(**_: Any) -> answer.Answer:
    """Show every setting that is not as its host's profile wants it; exit status 1 where one has drifted.

    CLI Example:

    .. code-block:: bash

        salt-run tuning.check
        salt-run tuning.check --out json
    """
    questions = [jobs.Question("tunings.wanted", kind=str | None), jobs.Question("tunings.check", kind=list)]
    checked = jobs.ask_several(__opts__, minions.ours(__opts__), questions)
    data, drifted = {}, bool(checked.problems)
    told: list[tuple[str, str, list[dict[str, Any]]]] = []
    for host, answers in checked.answers.items():
        name, settings = answers["tunings.wanted"], answers["tunings.check"]
        data[host] = {"profile": name, "settings": settings}
        states = [setting["state"] for setting in settings]
        drifted = drifted or "drift" in states
        held = f", {states.count('ok')} of {len(states)} settings hold" if name else ""
        told.append((host, f"{name or 'no profile'}{held}", [one for one in settings if one["state"] != "ok"]))
    return answer.Answer("\n".join([*_lines(told), *replies.lines(checked.problems)]), data, 1 if drifted else 0)


def _lines(told: Sequence[tuple[str, str, list[dict[str, Any]]]]) -> list[str]:
    """Hosts, each with its settings below it; of more than ``FEW`` behind all of them what several have in common,
    first what has drifted."""
    if len(told) <= FEW:
        return [line for host, name, odd in told for line in (f"{host}: {name}", *map(_line, odd))]
    settings = [(host, setting) for host, _, odd in told for setting in odd]
    settings.sort(key=lambda each: list(SIGNS).index(each[1]["state"]))
    texts = ((host, [one["on"]], f"{SIGNS[one['state']]}: {one['id']}: {_why(one)}") for host, one in settings)
    lines = by_host((host, name) for host, name, _ in told)
    return [*lines, *by_name(texts, "  {who}: {text} ({names})", few=0), EACH]


def _line(setting: dict[str, Any]) -> str:
    return f"  {SIGNS[setting['state']]}: {setting['id']} ({setting['on']}): {_why(setting)}"


def _why(setting: Mapping[str, Any]) -> str:
    return str(setting["why"] or f"is {setting['found']}, wanted {setting['wanted']}")
