"""Who is refused for other masters, without any that runs; with real ones: ``test_masters.py``."""

import re
import shlex
from pathlib import Path

import pytest
import salt.client
import salt.config
from salt.exceptions import SaltClientError
from saltfactories.utils.loader import LoaderModuleMock
from saltmaster import Master

from proposals.stages.replies import Replies
from proposals.text import joining
from runners.engine.asking import jobs

MASTERS = [  # a minion's configuration, its connection's own master; those that are active
    ("", "salt", ["salt"]),
    ("master: a", "a", ["a"]),
    ("master: [a]", "a", ["a"]),
    ("master: [b, a]", "b", ["a", "b"]),
    ("master: [a, 'b:4507']\nmaster_type: str", "a", ["a", "b:4507"]),
    ("master: [a, a]", "a", ["a"]),
    ("master: [a, b]\nmaster_type: failover", "b", ["b"]),
    ("master: [a, b]\nmaster_type: distributed", "b", ["b"]),
    ("master: module.function\nmaster_type: func", "c", ["c"]),
]


@pytest.mark.parametrize(("written", "connected", "active"), MASTERS)
def test_a_minion_tells_the_masters_that_are_active_at_once(python_module, tmp_path, written, connected, active):
    conf = tmp_path / "minion"
    conf.write_text(f"id: node1\nroot_dir: {tmp_path}\n{written}\n")
    module = python_module("host_masters")
    with LoaderModuleMock({module: {"__opts__": {"conf_file": str(conf), "master": connected}}}):
        assert module.active() == active


def test_a_host_that_was_invited_has_both_masters_where_the_page_writes_them(tmp_path):
    page = (Path(__file__).parents[2] / "docs/concepts/masters.md").read_text()
    told = re.search(r"configuration, in `/etc/salt/(?P<file>[^`]+)`.*?```\n(?P<lines>.*?)```", page, re.DOTALL)
    _, invited = joining.line("salt1", "0a").split("printf ", 1)
    form, *words = shlex.split(invited)[:3]
    (tmp_path / "minion.d").mkdir()
    (tmp_path / "minion.d/halocline.conf").write_text(form.replace("\\n", "\n") % tuple(words))
    (tmp_path / told["file"]).write_text(told["lines"])
    (tmp_path / "minion").touch()
    assert salt.config.minion_config(str(tmp_path / "minion"))["master"] == ["salt1", "salt2"]


@pytest.fixture(scope="module")
def master(salt_factories):
    made = salt_factories.salt_master_daemon("several", factory_class=Master)
    for name in ("node1", "node2"):
        made.accept(name)
    return made


@pytest.fixture
def told(monkeypatch):
    """What minions answer of their masters; each job's functions."""
    told, asked, tries = {"node1": ["salt1"], "node2": None}, [], {"node1": False, "node2": None}

    def ask(opts, minions, questions, timeout=60):
        asked.append([each.function for each in questions])
        told_of = {"saltutil.running": dict.fromkeys(minions, []), "host_masters.active": told}
        told_of["config.option"] = tries
        return {each.function: Replies(told_of.get(each.function, {}), []) for each in questions}

    monkeypatch.setattr(jobs, "ask_apart", ask)
    return told, asked, tries


@pytest.mark.slow
def test_one_master_or_a_minion_before_its_first_prep_holds_nothing_back_and_costs_no_job(master, told):
    assert master.runners()["stage.begin"]("prep", test=True).get("retcode", 0) == 0
    assert told[1] == [["host_parts.digest", "saltutil.running", "host_masters.active"]]


@pytest.mark.slow
@pytest.mark.parametrize(("needs", "goes_on"), [("all", False), ("answering", True)])
def test_a_minion_in_test_mode_is_none_that_answers(master, told, needs, goes_on):
    told[2]["node1"] = True
    done = master.runners()["stage.begin"]("prep", needs=needs)
    assert ("retcode" not in done) is goes_on
    assert "node1" in str(done) and "is in test mode ('test: True' in its configuration)" in str(done)
    assert "retcode" not in master.runners()["stage.begin"]("prep", needs=needs, test=True)


LOOK = {"groups": [[["packages"], None]], "pillar": {}}


@pytest.mark.slow
@pytest.mark.parametrize(("only", "looks"), [(None, True), ("node1", False)])
def test_a_run_for_some_hosts_alone_looks_at_none(master, told, only, looks):
    assert master.runners()["stage.begin"]("prep", needs="answering", only=only, look=LOOK).get("retcode", 0) == 0
    assert ("host_states.differing" in told[1][0]) is looks


@pytest.mark.slow
@pytest.mark.parametrize("look", ["packages", {}, {"groups": "a", "pillar": {}}, {"groups": [["a"]], "pillar": {}}])
def test_a_look_that_somebody_typed_is_refused_in_one_line(master, told, look):
    done = master.runners()["stage.begin"]("prep", test=True, look=look)
    expected = "look=packages: a mapping" if look == "packages" else "look= is what a stage's own first step tells"
    assert done["retcode"] == 2 and done["error"].startswith(expected)
    assert told[1] == []


@pytest.mark.slow
@pytest.mark.parametrize("odd", ["?" * 3000, [1, {"a": None}], {"format": 99}, [["salt1"], "salt2"]])
def test_what_is_no_list_of_names_holds_nothing_back(master, told, odd):
    told[0]["node2"] = odd
    assert master.runners()["stage.begin"]("prep", test=True).get("retcode", 0) == 0


@pytest.mark.slow
def test_several_masters_at_once_are_refused_unless_the_site_allows_it(master, told):
    told[0]["node2"] = ["salt1", "salt2\x1b[2J"]
    said = master.runners()["stage.begin"]("deploy", test=True)
    assert said["retcode"] == 2 and said["error"].startswith("stage deploy: node2: takes jobs from several masters")
    assert "(salt1, salt2\\x1b[2J)" in said["error"] and "'several_masters: true' in ceph/site.sls" in said["error"]
    site = master.pillar / "site.sls"
    site.parent.mkdir(exist_ok=True)
    for value, status in (("false", 2), ("'yes'", 2), ("true", 0)):
        site.write_text(f"several_masters: {value}\n")
        assert master.runners()["stage.begin"]("deploy", test=True).get("retcode", 0) == status
    site.unlink()


@pytest.mark.slow
def test_a_master_of_masters_asks_nobody(master, monkeypatch):
    asked = []

    def client(**_):
        asked.append(1)
        raise SaltClientError("no master")

    monkeypatch.setattr(salt.client, "get_local_client", client)
    assert "takes no jobs" in master.runners()["tuning.check"]()["error"] and asked == [1]
    runners = master.runners(order_masters=True)
    for verb, words in (("stage.begin", ["prep"]), ("tuning.check", []), ("discovery.collect", [])):
        done = runners[verb](*words)
        assert done["retcode"] == 2 and "'order_masters: True'" in done["error"], done
    assert "[above]" in runners["halocline.doctor"]()["text"]
    assert asked == [1]
