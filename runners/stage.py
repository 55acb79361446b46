"""``salt-run stage.*``: what a stage asks of the minions as a whole."""

import time

import salt.utils.event

from proposals import answer

JOBS = ("disks.inspect", "saltutil.refresh_pillar")


def present(stage, members=None, **_):
    """Ask every minion of a stage whether it is there; name those that are not.

    stage
        The stage's name, for the message.
    members
        The minions that it needs; without it, every minion of ours.

    CLI Example:

    .. code-block:: bash

        salt-run stage.present prep
    """
    expected = sorted(members) if members else __salt__["minions.ours"]()
    if not expected:
        return answer.bad(
            f"stage {stage}: no minion is ours: accept keys (salt-key), or look at ceph_minions in "
            "<pillar_root>/ceph/minions.sls"
        )
    answered = __salt__["minions.ask"](expected, ["test.ping"])
    silent = sorted(set(expected) - set(answered))
    if silent:
        return answer.bad(
            f"stage {stage}: {len(silent)} of {len(expected)} minions do not answer: {', '.join(silent)}; "
            "start their salt-minion, or take them out of policy.cfg (or ceph_minions), and run the stage again"
        )
    return {"text": f"{len(answered)} minions answer"}


def watch():
    """Print what the minions are given to do and what each answers, as it happens; Ctrl-C ends it.

    CLI Example:

    .. code-block:: bash

        salt-run stage.watch
    """
    started = {}
    with salt.utils.event.get_event("master", opts=__opts__, listen=True) as bus:
        try:
            while True:
                event = bus.get_event(full=True, auto_reconnect=True)
                line = _line(event["tag"].split("/"), event["data"], started) if event else None
                if line:
                    print(line, flush=True)
        except (KeyboardInterrupt, SystemExit):  # Ctrl-C, or salt-run told to end
            return


def _line(tag, data, started):
    """One line for a job's beginning or for one minion's answer; ``None`` for other events."""
    if tag[:2] != ["salt", "job"] or data.get("fun") not in ("state.sls", "test.ping", *JOBS):
        return None
    what = " ".join([data["fun"], *(str(arg) for arg in data.get("arg", []) if isinstance(arg, str))])
    if tag[-1] == "new":
        started[data["jid"]] = what, time.monotonic()
        return f"{what}: {len(data['minions'])} minions"
    if "ret" in tag and data["jid"] in started:
        what, since = started[data["jid"]]
        word = "failed" if data.get("retcode") else "done"
        return f"  {word} {time.monotonic() - since:5.1f} s  {data['id']}: {what}"
    return None
