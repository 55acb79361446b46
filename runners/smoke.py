"""``salt-run smoke.*``: every service tried by a real client."""

from functools import partial

from proposals.services import smoke, smoke_told
from runners.engine import answer
from runners.engine.cluster import smoking
from runners.engine.runs import one_at_a_time, stage_lock


@answer.answers
def test_(*services: str, test: bool = False) -> answer.Output:
    """Try each service that is planned with a real client, and say service by service whether it passed, or why not.

    Exit status 1 where one failed. All that clients make is named ``halocline-smoke`` and is taken away at the end;
    what a test that was killed left, the next one or ``smoke.clean`` takes away. Keys, users and passwords are made for
    the test alone, with the least that they need. No data of others is touched.

    services
        Some of rbd, cephfs, s3, swift, nfs, iscsi, dashboard, metrics, alert; all that are planned where none is named.
    test
        Only say what would be tried.

    CLI Example:

    .. code-block:: bash

        salt-run smoke.test
        salt-run smoke.test rbd s3
        salt-run smoke.test test=true
    """
    found = smoking.served(__opts__)
    wanted = smoke.attempts(found, [str(name) for name in services])
    if test:
        return {"text": "\n".join(["would try:", *(attempt.line() for attempt in wanted)])}
    stage_lock.free(__opts__)
    with one_at_a_time.alone(__opts__, "smoke.test"):
        results = smoking.carry_out(__opts__, found, wanted, partial(answer.tell, __opts__))
    lines = [result.text() for result in results] if __opts__.get("output") else []
    wrong = smoke_told.failed(results)
    return answer.Answer("\n".join([*lines, smoke_told.ending(results)]), smoke_told.data(results), 1 if wrong else 0)


@answer.answers
def clean(test: bool = False) -> answer.Output:
    """Take away what a smoke test that was killed left. A second run changes nothing.

    test
        Only say where it would be looked for.

    CLI Example:

    .. code-block:: bash

        salt-run smoke.clean
    """
    found = smoking.served(__opts__)
    services = smoke.cleaned(smoke.attempts(found))
    if test:
        return {"text": f"would look for what smoke tests left in: {', '.join(services)}"}
    stage_lock.free(__opts__)
    with one_at_a_time.alone(__opts__, "smoke.test"):
        done, problems = smoking.clean(__opts__, found, services)
    lines = [*(f"removed: {line}" for line in done), *(f"{name}: {why}" for name, why in problems.items())]
    if problems:
        return answer.bad("\n".join(lines), 1)
    return {"text": "\n".join(lines) or "smoke tests left nothing: nothing changed"}


__func_alias__ = {"test_": "test"}
