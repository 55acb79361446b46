"""Events of Salt's bus become a run log, and a run log what a person reads; secrets stay out of both."""

import json
import re
import threading
from contextlib import nullcontext
from datetime import datetime
from pathlib import Path

import pytest
import yaml

from proposals.files import atomic
from proposals.files import site as sites
from proposals.files.site import Site
from proposals.pillar import redaction
from proposals.pillar.secrets import new_key
from proposals.stages import history, metrics, orchestrations, plan_steps, presence
from proposals.stages.lines import line
from proposals.stages.progress import Progress
from proposals.stages.records import LONGEST, Run
from proposals.text.errors import ArgumentError, ProposalError, StoreError
from runners.engine.page import page_runs
from runners.engine.runs import stage_log, stage_recorder

FIXTURES = Path(__file__).parent.parent / "fixtures"
CASES = yaml.load((FIXTURES / "stage-events.yaml").read_text(), yaml.CSafeLoader)
PROGRESS = yaml.load((FIXTURES / "stage-progress.yaml").read_text(), yaml.CSafeLoader)
PRINTED = yaml.load((FIXTURES / "stage-printed.yaml").read_text(), yaml.CSafeLoader)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["name"])
def test_events_make_records_and_records_lines(case):
    run = Run("1")
    records = [record for tag, data in case["events"] for record in run.records(tag.split("/"), data)]
    assert [{key: value for key, value in record.items() if key != "time"} for record in records] == case["records"]
    assert [text for record in records if (text := line(record))] == case["shown"]


def told(entry):
    """The records that an entry of a progress case stands for."""
    names = [f"node{number}" for number in range(1, entry["hosts"] + 1)] if "hosts" in entry else []
    record = {"time": at(entry["at"]), **{key: entry[key] for key in entry if key not in ("at", "hosts", "says")}}
    if record["event"] == "minion":
        record = {"result": "failed" if "reason" in entry else "done", "changes": 0, **record}
        record |= {"start": at(entry["at"] - 1), "end": at(entry["at"])}
        return [{"minion": name, **record} for name in names] or [record]
    return [{"minions": names, **record}] if record["event"] == "job" else [record]


def at(second):
    return f"2026-11-22T12:{second // 60:02}:{second % 60:02}+0000"


@pytest.mark.parametrize("case", PROGRESS, ids=lambda case: case["name"])
def test_a_run_is_told_as_it_goes_on(case):
    progress, now = Progress(), 0
    for entry in case["records"]:
        if "text" in entry:
            assert progress.text(now + entry["after"]) == entry["text"]
            assert progress.share() == pytest.approx(entry["share"], abs=0.01)
            continue
        records = told(entry)
        now = datetime.strptime(records[0]["time"], "%Y-%m-%dT%H:%M:%S%z").timestamp()
        assert [text for record in records for text in progress.take(record)] == entry.get("says", [])


def test_a_run_with_many_reasons_names_a_few_of_them():
    progress = Progress()
    for entry in ({"event": "step", "step": "osd", "at": 0}, {"event": "job", "hosts": 500, "at": 0}):
        progress.take(told(entry)[0])
    for number in range(1, 501):
        entry = {"event": "minion", "minion": f"node{number}", "reason": f"/dev/sd{number}: no space", "at": 1}
        assert progress.take(told(entry)[0]) == []
    said = progress.take({"event": "end", "time": at(9)})
    assert said[0] == "  500 of 500, 500 failed, 9 s" and len(said) == 12
    assert said[-1] == "  failed  and 490 others, which the run log names"


@pytest.mark.parametrize("case", PRINTED, ids=lambda case: case["name"])
def test_what_an_orchestration_printed_is_read(case):
    states = orchestrations.states(case["printed"])
    tried = [state for state in states or () if not plan_steps.skipped(state)]
    plan = [text for state in tried for step in plan_steps.steps(state) for text in plan_steps.lines(step)]
    assert (None if states is None else plan) == case["plan"]
    assert orchestrations.failure(case["printed"], "noise of Salt\n") == case["failure"]


STEP = {"__id__": "s", "comment": "", "result": True, "changes": {}}
AS_IT_IS = {"ret": {"node1": {"a": {"result": True, "__run_num__": 0}}}}
WOULD = {"ret": {"node1": {"pkg_|-a_|-a_|-x": {"result": None, "comment": "", "__run_num__": 0}}}}
SERVES = [{"step": "policy.push", "comment": "", "fails": False, "minions": {}, "serves": "b"}]


@pytest.mark.parametrize(
    ("states", "said"),
    [
        ([STEP, {**STEP, "changes": AS_IT_IS}], plan_steps.NOTHING),
        ([{**STEP, "changes": "nonsense"}], plan_steps.NOTHING),
        ([STEP, {**STEP, "changes": WOULD}], None),
        ([{**STEP, "changes": {"node1": {"bond0": "mtu 1500 -> 9000"}}}, STEP], None),  # a runner's own: a network
        ([{**STEP, "plan": SERVES}, {**STEP, "changes": AS_IT_IS}], plan_steps.NEXT),
        ([{**STEP, "plan": SERVES}, {**STEP, "changes": WOULD}], plan_steps.NEXT),
        ([{**STEP, "name": "discovery.collect"}, {**STEP, "name": "policy.push"}], plan_steps.UNSEEN),
    ],
)
def test_a_plan_says_that_nothing_changes_only_where_no_step_would_and_it_knows_the_pillar(states, said):
    end = plan_steps.end("all", states)
    assert len(end) == (said is not None) and all(line.startswith("stage all ") and said in line for line in end)


def test_of_an_inline_pillar_the_keys_alone_are_kept():
    words = ["ceph.stage.deploy", {"pillar": {"key": "hush"}, "test": True, "orchestration_jid": "1"}]
    assert orchestrations.typed(words) == ["ceph.stage.deploy", "test=True", "pillar=['key']"]


def test_an_orchestration_for_some_hosts_is_told_by_its_pillar():
    assert orchestrations.told(only=None, confirm=None) == []
    assert orchestrations.told(only="osdnode[1-4]*", gone=None) == ['pillar={"ceph_only": "osdnode[1-4]*"}']
    record = {"event": "stage", "stage": "deploy", "user": "root", "jid": "1", "only": "osdnode[1-4]*"}
    assert line(record) == "deploy: begun by root, job 1, only osdnode[1-4]*"


CHANGED = {"event": "result", "step": "ceph-stage-prep-packages", "result": "done", "changed": True}


def results(*failed, last="failed"):
    """The end of a run log: a step that was done, those that failed, how the run ended."""
    done = {"event": "result", "step": "links.deploy", "result": "done", "changed": False}
    steps = [{"event": "result", "step": step, "result": "failed"} for step in failed]
    return [{"event": "stage"}, done, *steps, {"event": "end", "result": last}]


@pytest.mark.parametrize(
    ("ended", "records", "status"),
    [
        (0, results(last="done"), 0),
        (1, results("validate.deploy"), 2),
        (1, results("ceph-stage-deploy-check"), 2),
        (1, results("policy.push"), 2),
        (1, [CHANGED, *results("validate.deploy")], 1),  # by a stage before, in the same run
        (1, [{**CHANGED, "step": "minions.sync"}, *results("targets.same")], 2),
        (1, results("ceph-stage-deploy-mon"), 1),
        (1, results("targets.left"), 1),  # something asked for was not made
        (1, results("health.before", "crush.place"), 1),
        (1, [], 2),  # without a log: it did not come so far
        (1, results(), 2),  # SLS that Salt cannot read
        (1, results(last="interrupted"), 1),
        (1, [{"event": "stage"}, {"event": "end", "result": "interrupted"}], 2),  # no master takes its first job
        (130, [{"event": "stage"}, {"event": "end", "result": "interrupted"}], 130),
        (1, results()[:-1], 1),  # cut by a power failure
        (-9, [], 137),
    ],
)
def test_the_exit_status_of_a_stage_says_whether_anything_was_begun(ended, records, status):
    assert orchestrations.status(ended, records) == status


def test_state_runs_that_are_left_are_named():
    running = [
        {"jid": "7", "fun": "state.sls", "arg": ["ceph.cluster.osd"]},
        {"jid": "8", "fun": "test.ping", "arg": []},
    ]
    runs = orchestrations.state_runs(running)
    assert runs == [{"jid": "7", "fun": "state.sls", "what": "ceph.cluster.osd"}]
    copied = [{"jid": "9", "fun": "osd_migrate.together", "arg": ["f"]}]  # deploy would take its noout away
    assert orchestrations.state_runs(copied) == [{"jid": "9", "fun": "osd_migrate.together", "what": "f"}]
    several = [{"jid": "9", "fun": ["test.ping", "state.apply"], "arg": [[], ["ceph.service.mds", {"test": False}]]}]
    assert orchestrations.state_runs(several) == [{"jid": "9", "fun": "state.apply", "what": "ceph.service.mds"}]
    assert orchestrations.named({"node1": runs}) == "node1 (state.sls ceph.cluster.osd, job 7)"


def test_a_copy_that_no_stage_started_is_not_ended_by_stopping_stages():
    run, copy = {"jid": "7", "fun": "state.sls", "what": "x"}, {"jid": "9", "fun": "osd_migrate.together", "what": "f"}
    assert orchestrations.ended({"node1": [run]}) == "end them with 'salt-run stage.stop', and run the stage again"
    assert "stage.stop" not in orchestrations.ended({"node1": [copy]})
    assert "osd_migrate.together ends by itself" in orchestrations.ended({"node1": [copy]})
    both = orchestrations.ended({"node1": [copy], "node2": [run]})
    assert "stage.stop" in both and "osd_migrate.together ends by itself" in both


def test_who_has_to_answer():
    wanted = {needs: presence.needed(needs, ["a", "b"], ["c"]) for needs in presence.NEEDS}
    assert wanted == {"all": {"a", "b", "c"}, "answering": {"c"}}
    with pytest.raises(ArgumentError, match="needs=some: expected one of all, answering"):
        presence.needed("some", [], [])
    assert "1 of 2 minions do not answer: a; start" in presence.missing("prep", ["a"], ["a", "b"])
    assert "no minion answers, of 1" in presence.missing("prep", ["a"], ["a"])


def test_what_a_minion_says_instead_of_an_answer_is_told():
    refused = "stage prep: {} of 3 minions cannot say what runs on them; mend that and run the stage again\n"
    assert presence.missing("prep", ["a", "b"], list("abc"), {"a": "x", "b": "x"}) == f"{refused.format(2)}a, b: x"
    both = presence.missing("prep", list("abc"), list("abc"), {"a": "x"})
    assert both.startswith(f"{refused.format(1)}a: x\nstage prep: 2 of 3 minions do not answer: b, c; start")


@pytest.mark.parametrize(
    ("silent", "must", "maintenance", "absent"),
    [
        ("", "", "", ""),
        ("b", "", "", "b"),
        ("b", "", "b", ""),  # powered off
        ("bc", "", "b", "c"),
        ("b", "b", "b", "b"),  # nothing can be done without it
        ("abc", "", "b", "ac"),
    ],
)
def test_for_want_of_whom_a_stage_does_not_begin(silent, must, maintenance, absent):
    left = dict.fromkeys({*silent, *maintenance})
    note = {
        "hosts": list("abc"),
        "must": list(must),
        "silent": list(silent),
        "left": left,
        "maintenance": list(maintenance),
    }
    answered = set("abc") - set(silent)
    assert presence.absent(set("abc"), note, answered) == list(absent)


def test_a_log_that_was_cut_off_can_be_read(tmp_path):
    path = tmp_path / "prep-1.jsonl"
    path.write_text('{"event": "stage"}\n{"event": "st')
    assert stage_log.read(path) == [{"event": "stage"}]
    path.write_text('{"event": "stage"}\n{"event": "st{"event": "step"}\n{"event": "end"}\n\0\0\n')
    assert stage_log.read(path) == [{"event": "stage"}, {"event": "end"}]
    assert stage_log.ends(path) == ({"event": "stage"}, {"event": "end"})
    path.write_text('{"event": "st')
    assert stage_log.read(path) == [] and stage_log.ends(path) is None


def test_a_log_whose_beginning_was_cut_off_is_told_by_its_name(tmp_path):
    """As where the disk was full for a moment, or the power failed; one such log must not hide all other runs."""
    path = tmp_path / "prep-20260102T000000.jsonl"
    step = {"time": "2026-01-02T00:01:00+0000", "event": "step", "step": "a"}
    end = {"time": "2026-01-02T00:02:00+0000", "event": "end", "result": "failed"}
    path.write_text(f'{{"time": "2026-{json.dumps(step)}\n{json.dumps(step)}\n{json.dumps(end)}\n')
    first, last = stage_log.ends(path)
    assert history.lines([history.of_stage(first, last, runs=False)]) == [
        "2026-01-02 00:01:00  not kept  state.orch ceph.stage.prep (its beginning was not kept): failed"
    ]
    told = {sample.metric: sample.value for sample in metrics.stages([(first, last, False)])}
    assert told["stage_success"] == 0
    assert told["stage_end_timestamp_seconds"] - told["stage_begin_timestamp_seconds"] == 60


def test_of_a_long_log_only_its_ends_are_read(tmp_path):
    """history.show and the timer of metrics look at 200 of them, a stage's of a thousand hosts has megabytes."""
    path = tmp_path / "prep-1.jsonl"
    line = json.dumps({"event": "minion", "minion": "x" * 150}) + "\n"
    job = json.dumps({"event": "job", "minions": ["osd0000"] * 20_000}) + "\n"  # longer than what is read at once
    path.write_text('{"event": "stage"}\n' + line * 50_000 + job + '{"event": "end"}\n{"event": "st')
    before = characters_read()
    assert stage_log.ends(path) == ({"event": "stage"}, {"event": "end"})
    assert characters_read() - before < path.stat().st_size / 20
    path.write_text('{"event": "stage"}\n' + line * 5 + job)
    assert stage_log.ends(path) == ({"event": "stage"}, json.loads(job))
    path.write_text("\0" * 200_000)
    assert stage_log.ends(path) is None


def test_each_line_of_a_run_is_parsed_once_for_a_page_that_follows_it(tmp_path, monkeypatch):
    """A deploy of a thousand hosts tells some sixty thousand."""
    path = tmp_path / "prep-1.jsonl"
    lines = ['{"event": "stage"}\n', '{"event": "st{"event": "step"}\n', *['{"event": "osd"}\n'] * 3000]
    path.write_text("".join([*lines, '{"event": "end"}\n{"event": "st']))
    opts, parsed, known = {"halocline_log_dir": str(tmp_path), "cachedir": str(tmp_path)}, [], stage_log.known
    monkeypatch.setattr(page_runs, "_goes_on", lambda *_: False)
    monkeypatch.setattr(stage_log, "known", lambda line: parsed.append(line) or known(line))
    seen, told = [], {"next": 0, "running": True}
    while told["running"]:
        told = page_runs.records(opts, "prep-1", told["next"])
        seen += told["records"]
    assert [each["event"] for each in seen] == ["stage", *["osd"] * 3000, "end"]
    assert len(parsed) == told["next"] == 3003


def characters_read():
    """What this process has read so far (proc(5), io)."""
    return int(Path("/proc/self/io").read_text().partition("rchar: ")[2].split()[0])


@pytest.mark.parametrize("piece", [1, 2, 7, 30, 64])
def test_the_last_line_is_found_wherever_a_piece_begins(tmp_path, monkeypatch, piece):
    monkeypatch.setattr(stage_log, "PIECE", piece)
    path = tmp_path / "prep-1.jsonl"
    for lines in ([], ["{"], ['{"event": "stage"}\n'], ['{"event": "stage"}\n', "\n", '{"event": "end"}\n', '{"ev']):
        path.write_text("".join(lines))
        with path.open("rb") as file:
            assert [line.decode() for line in stage_log._backwards(file) if line] == lines[::-1]


def test_a_full_disk_ends_nothing_but_what_begins(tmp_path, monkeypatch):
    opts, job = {"halocline_log_dir": str(tmp_path)}, {"stage": "prep", "pid": 1, "user": "root", "arguments": []}
    real, full = stage_log.append, Path("/dev/full")
    stage_log.add(full, "stop")
    monkeypatch.setattr(stage_log, "append", lambda path, line: real(full, line))
    for begin in (lambda: stage_log.new(opts, {**job, "jid": "20260102000000000000"}),
                  lambda: stage_log.note(opts, "disk.wipe", "wipe")):  # fmt: skip
        with pytest.raises(ProposalError, match="cannot be written: No space left on device"):
            begin()


def test_logs_are_in_the_order_of_their_runs(tmp_path):
    for name in ("prep-20260102T000000", "deploy-20260101T000000", "discovery-20260103T000000"):
        (tmp_path / f"{name}.jsonl").write_text("")
    names = [path.name.partition("-")[0] for path in stage_log.paths({"halocline_log_dir": str(tmp_path)})]
    assert names == ["deploy", "prep", "discovery"]


def test_a_new_run_keeps_the_newest_logs_and_no_more(tmp_path, monkeypatch):
    monkeypatch.setattr(stage_log, "KEPT", 3)
    opts, job = {"halocline_log_dir": str(tmp_path)}, {"stage": "prep", "pid": 1, "user": "root", "arguments": []}
    made = [stage_log.new(opts, {**job, "jid": f"2026010200000{second}000000"}) for second in range(5)]
    assert stage_log.paths(opts) == made[2:]


def test_a_commands_log_is_made_anew_once_it_is_rotated(tmp_path):
    opts = {"halocline_log_dir": str(tmp_path)}
    path = tmp_path / "disk.wipe.jsonl"
    stage_log.note(opts, "disk.wipe", "wipe", host="node1")
    assert path.stat().st_mode & 0o777 == 0o640
    for rotated in ("disk.wipe.jsonl.1", "disk.wipe.jsonl-20260101", "disk.wipe.jsonl-20260101.gz"):
        (tmp_path / rotated).write_bytes(path.read_bytes())
    path.unlink()
    stage_log.note(opts, "disk.wipe", "wiped", host="node1")
    assert [each["event"] for each in stage_log.read(path)] == ["wiped"]
    assert stage_log.paths(opts) == []


def test_who_typed_behind_sudo_is_kept(tmp_path, monkeypatch):
    opts = {"halocline_log_dir": str(tmp_path), "user": "root"}
    for sudo in ("", "carol"):
        monkeypatch.setenv("SUDO_USER", sudo)
        stage_log.note(opts, "disk.wipe", "wipe")
    assert [each["user"] for each in stage_log.read(tmp_path / "disk.wipe.jsonl")] == ["root", "carol"]


def test_secrets_are_masked_and_the_rest_stays(tmp_path):
    """Keys by their looks, the site's own words by comparing; a keyring's other words are no secrets."""
    site = Site(tmp_path, tmp_path)
    key, password = new_key(), "correct-horse-battery"
    site.keys.parent.mkdir()
    site.keys.write_text(json.dumps({"client.admin": key, "dashboard": password}))
    site.secrets.mkdir()
    (site.secrets / "node1.yml").write_text(json.dumps({"ceph_secrets": {"admin": f"[client.admin]\n\tkey = {key}\n"}}))
    hide = redaction.hider(redaction.known(site))
    pem = "-----BEGIN RSA PRIVATE KEY-----\nMIIB\n-----END RSA PRIVATE KEY-----"
    text = f"key {key}, {password}; another's {new_key()}; {pem}; [client.admin] osd.12 on node1"
    hid = hide(text)
    mask = redaction.MASK
    assert hid == f"key {mask}, {mask}; another's {mask}; {mask}; [client.admin] osd.12 on node1"
    assert redaction.hider([])("nothing to hide") == "nothing to hide"


def test_secrets_are_masked_however_json_writes_them_and_wherever_a_text_is_cut(tmp_path):
    opts = {"pillar_roots": {"base": [str(tmp_path), str(FIXTURES.parents[1] / "pillar")]}}
    password, log, mask = 'Grün"kohl\\2024', tmp_path / "deploy-1.jsonl", redaction.MASK
    keys = sites.site(opts).keys
    keys.parent.mkdir(parents=True)
    keys.write_text(json.dumps({"dashboard": password}))
    log.touch()
    hide = stage_recorder.hider(opts)
    pem = f"-----BEGIN PRIVATE KEY-----\n{'MIIB' * 900}\n-----END PRIVATE KEY-----"
    told = [f"as {password}", f"cannot load {pem} of node1", "x" * (LONGEST - 3) + password]
    for text in told:
        stage_log.append(log, {"event": "minion", "reason": text, "warnings": [text]}, hide)
    kept = stage_log.read(log)
    assert [each["reason"] for each in kept[:2]] == [f"as {mask}", f"cannot load {mask} of node1"]
    assert kept[2]["reason"].endswith("x***") and all(each["warnings"] == [each["reason"]] for each in kept)
    for written in (json.dumps(password), json.dumps(password, ensure_ascii=False)):  # as in a log that is packed
        assert hide(written) == f'"{mask}"'


@pytest.mark.parametrize(
    ("text", "hid"),
    [
        ("key AgDh1AlrAAAAACAA2a0di+5seABER8kZpSr7vNA3W3EUq+8+eISAkWosVc4= of osd.3", "key MASK of osd.3"),
        ("AGE-SECRET-KEY-1QYQSZQGPQYQSZQGPQYQSZQGPQ, from a file", "MASK, from a file"),
        ("cannot fetch https://ops:t0ken@git.example/a.git", "cannot fetch https://MASK@git.example/a.git"),
        (
            "https://git.example:8443/a@b and ssh://git@git.example/",
            "https://git.example:8443/a@b and ssh://git@git.example/",
        ),
        ("password = correct horse", "MASK"),
        ("POST https://hook.example/T0/S3CRET", "POST MASK"),
        ("POST https://ops:t0ken@hook.example/T1/S3CRET", "POST MASK"),
        ("smtp://ceph:h@rse/battery@mail.example", "smtp://MASK@mail.example"),
        ("-----BEGIN PRIVATE KEY-----\nMIIBMIIBMIIB\nQw==\n-----END PRIVATE KEY-----\nof node1", "MASK\nof node1"),
        ("TUlJQk1JSUI=\nQw==\n-----END RSA PRIVATE KEY-----\nof node1", "MASK\nof node1"),  # a log's end
        ("not correct horse", "not correct horse"),
        ('[client.admin] caps mon = "allow *"', '[client.admin] caps mon = "allow *"'),
    ],
    ids=range(12),
)
def test_what_a_site_gave_and_what_looks_like_a_secret_is_masked(tmp_path, text, hid):
    site = Site(tmp_path, tmp_path)
    site.given.mkdir(parents=True)
    (site.given / "stage-webhook").write_text("https://hook.example/T0/S3CRET\n")
    (site.given / "alerts").write_text("https://ops:t0ken@hook.example/T1/S3CRET\n")
    (site.given / "mail").write_text("h@rse/battery\n")
    (site.given / "tls").write_text("-----BEGIN PRIVATE KEY-----\nMIIBMIIBMIIB\nQw==\n-----END PRIVATE KEY-----\n")
    (site.given / "smtp").write_text("password = correct horse\n")
    site.secrets.mkdir()
    uses = {"mail": "password = correct horse", "admin": '[client.admin]\n\tkey = AQ==\n\tcaps mon = "allow *"\n'}
    (site.secrets / "node1.yml").write_text(json.dumps({"ceph_secrets": uses}))
    assert redaction.hider(redaction.known(site))(text) == hid.replace("MASK", redaction.MASK)


def test_a_certificate_of_a_site_is_no_secret(tmp_path):
    """Of authorities a site may trust hundreds: to look for each of their lines would take hours."""
    site, line = Site(tmp_path, tmp_path), "MIIB" * 16
    site.given.mkdir(parents=True)
    (site.given / "ca.pem").write_text(f"-----BEGIN CERTIFICATE-----\n{line}\n-----END CERTIFICATE-----\n")
    assert redaction.known(site) == set()


def test_a_password_that_the_run_itself_makes_is_masked(tmp_path):
    site = Site(tmp_path, tmp_path)
    site.secrets.mkdir()
    (site.secrets / "node1.yml").write_text(json.dumps({"ceph_secrets": {"mail": "from-before"}}))
    hide, mask = redaction.following(site), redaction.MASK
    atomic.write(site.keys, json.dumps({"dashboard.admin": "correct-horse-battery"}))
    atomic.remove(site.secrets / "node1.yml")
    assert hide("correct-horse-battery, from-before") == f"{mask}, {mask}"
    atomic.write(site.keys, "{")
    assert hide("correct-horse-battery, from-before") == f"{mask}, {mask}"
    with pytest.raises(StoreError, match="holds no JSON as the master wrote it: put it back"):
        redaction.known(site)


@pytest.mark.slow
def test_a_folder_of_secrets_that_goes_just_now_costs_no_record(tmp_path):
    """The recorder takes an OSError for a full disk, and goes on without that record."""
    site, ended = Site(tmp_path, tmp_path), threading.Event()
    site.secrets.mkdir()
    hide = redaction.following(site)

    def move() -> None:
        while not ended.is_set():
            site.secrets.rename(tmp_path / "purged")
            (tmp_path / "purged").rename(site.secrets)

    mover = threading.Thread(target=move)
    mover.start()
    try:
        assert {hide("a record") for _ in range(4_000)} == {"a record"}
    finally:
        ended.set()
        mover.join()


@pytest.mark.parametrize(
    ("pillar", "says"),
    [
        ({"ceph_onyl": "osdnode1"}, "pillar: 'ceph_onyl' is nothing that a stage reads: did you mean 'ceph_only'?"),
        ({"only": "osdnode1"}, "pillar: 'only' is nothing that a stage reads: did you mean 'ceph_only'?"),
        ({"steps": 2}, "did you mean 'ceph_steps'?"),
        ({"Ceph-Only": "osdnode1"}, "did you mean 'ceph_only'?"),
        ({"ceph_cluster_network": 1}, "; known are ceph_confirm, ceph_gone, "),
        ({"ceph_only": "osdnode1", "ceph_os": {}, "own": 1, 7: 1}, None),
        ("{", None),
        (None, None),
    ],
)
def test_a_pillar_that_tells_what_no_stage_reads_is_refused(pillar, says):
    words = ["ceph.stage.deploy", {"pillar": pillar, "__kwarg__": True}]
    with pytest.raises(ArgumentError) if says else nullcontext() as refused:
        orchestrations.check(words)
    assert not says or says in str(refused.value)


def test_all_that_a_stage_reads_of_the_pillar_is_known():
    files = Path(__file__).parents[2].glob("pillar/ceph/**/*.sls")
    keys = {key for file in files for key in re.findall(r"^ceph_(\w+):", file.read_text(), re.MULTILINE)}
    assert keys == {*orchestrations.GIVEN, *orchestrations.SITE}
