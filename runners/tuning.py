"""``salt-run tuning.*``: kernel settings, wanted against real."""

from proposals import answer

SIGNS = {"ok": "ok", "drift": "DRIFT", "reboot": "after a reboot", "left": "left out"}


@answer.answers
def check(**_):
    """Show every setting that is not as its host's profile wants it; exit status 1 where one has drifted.

    CLI Example:

    .. code-block:: bash

        salt-run tuning.check
        salt-run tuning.check --out json
    """
    asked = __salt__["minions.ours"]()
    answered = __salt__["minions.ask"](asked, ["tunings.wanted", "tunings.check"])
    lines, data, drifted = [], {}, 0
    for host in asked:
        found = answered.get(host, {}).get("tunings.check")
        if not isinstance(found, list):
            lines.append(f"{host}: {found or 'does not answer'}")
            drifted += 1
            continue
        name = answered[host].get("tunings.wanted")
        data[host] = {"profile": name, "settings": found}
        drift = sum(one["state"] == "drift" for one in found)
        drifted += drift
        good = sum(one["state"] == "ok" for one in found)
        lines.append(f"{host}: {name or 'no profile'}" + (f", {good} of {len(found)} settings hold" if name else ""))
        lines += [_line(one) for one in found if one["state"] != "ok"]
    return answer.told("\n".join(lines), data, __opts__.get("output"), 1 if drifted else 0)


def _line(one):
    why = one["why"] or f"is {one['found']}, wanted {one['wanted']}"
    return f"  {SIGNS[one['state']]}: {one['id']} ({one['on']}): {why}"
