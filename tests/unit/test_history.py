"""Who ran what: entries of logs, as a person reads them."""

from proposals.stages import history

STAGE = {"time": "2026-11-23T10:00:00+0000", "event": "stage", "user": "sudo_eva", "arguments": ["ceph.stage.deploy"]}
END = {"time": "2026-11-23T10:05:00+0000", "event": "end", "result": "failed"}


def test_a_stage_that_ended_one_that_runs_and_one_whose_recorder_was_killed():
    step = {"time": "2026-11-23T10:01:00+0000", "event": "step", "step": "a"}
    told = [history.of_stage({**STAGE, "only": "osd*"}, END, runs=False)]
    told += [history.of_stage(STAGE, step, runs) for runs in (True, False)]
    assert history.lines(told) == [
        "2026-11-23 10:00:00  sudo_eva  state.orch ceph.stage.deploy only=osd*: failed",
        "2026-11-23 10:00:00  sudo_eva  state.orch ceph.stage.deploy: running",
        "2026-11-23 10:00:00  sudo_eva  state.orch ceph.stage.deploy: its log has no end",
    ]


def test_commands_stand_between_stages_by_their_time_also_over_time_zones():
    wiped = {"time": "2026-11-23T11:30:00+0200", "event": "wiped", "user": "ben", "host": "n1", "disk": {"size": 1}}
    older = {"time": "2026-11-22T11:30:00+0200", "event": "removed", "done": [1]}
    entries = [history.of_stage(STAGE, END, runs=False)]
    entries += [history.of_command("disk.wipe", wiped), history.of_command("osd.remove", older)]
    assert [(one["user"], one["what"], one["result"]) for one in history.newest(entries, 9)] == [
        ("not kept", "osd.remove", "removed"),
        ("ben", "disk.wipe host=n1", "wiped"),
        ("sudo_eva", "state.orch ceph.stage.deploy", "failed"),
    ]
    assert len(history.newest(entries, 2)) == 2
    assert history.lines([{**entries[0], "what": "a\x1b[31m\n"}])[0].endswith("a\\x1b[31m\\x0a: failed")
