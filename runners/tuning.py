"""``salt-run tuning.*``: kernel settings, wanted against real."""

from typing import Any

from proposals.stages import replies
from runners.engine import answer, jobs, minions

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
    lines, data, drifted = [], {}, bool(checked.problems)
    for host, answers in checked.answers.items():
        name, settings = answers["tunings.wanted"], answers["tunings.check"]
        data[host] = {"profile": name, "settings": settings}
        states = [setting["state"] for setting in settings]
        drifted = drifted or "drift" in states
        held = f", {states.count('ok')} of {len(states)} settings hold" if name else ""
        lines.append(f"{host}: {name or 'no profile'}{held}")
        lines += [_line(setting) for setting in settings if setting["state"] != "ok"]
    lines += replies.lines(checked.problems)
    return answer.Answer("\n".join(lines), data, 1 if drifted else 0)


def _line(setting: dict[str, Any]) -> str:
    why = setting["why"] or f"is {setting['found']}, wanted {setting['wanted']}"
    return f"  {SIGNS[setting['state']]}: {setting['id']} ({setting['on']}): {why}"
