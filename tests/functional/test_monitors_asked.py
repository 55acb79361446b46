"""Monitors are asked over one connection, ``ceph`` where a command is none of theirs, or is no Python program."""

import json

import halocline_monitors
import pytest
from played_monitors import monitors  # noqa: F401  a fixture
from salt.exceptions import CommandExecutionError

DUMP, TREE = ["osd", "dump"], ["osd", "tree"]
KEY = "AQBKeYxnAAAAABAAq0aBcDeFgHiJkLmNoPqRsw=="


@pytest.fixture
def ask(modules, monitors):  # noqa: F811
    """A function: what ``ask_all`` answers, of monitors that know two commands."""
    monitors.answer({"prefix": "osd dump"}, {"osds": [1]})
    monitors.answer({"prefix": "osd tree"}, {"nodes": []})
    return lambda *questions: modules["cluster_cli.ask_all"](list(questions))


@pytest.mark.slow
def test_several_questions_are_one_connection(ask, monitors):  # noqa: F811
    assert ask(DUMP, TREE, DUMP) == [{"osds": [1]}, {"nodes": []}, {"osds": [1]}]
    limits = {"client_mount_timeout": "30", "rados_mon_op_timeout": "60"}
    assert monitors.connected() == [["client.admin", limits]] and monitors.typed() == []


@pytest.mark.slow
def test_one_question_is_asked_so_too_and_an_empty_answer_is_none(modules, monitors):  # noqa: F811
    monitors.answer({"prefix": "config-key dump", "key": "halocline/a"})
    assert modules["cluster_cli.ask"](["config-key", "dump", "halocline/a"]) is None
    assert len(monitors.connected()) == 1 and monitors.typed() == []


@pytest.mark.slow
def test_a_command_that_fails_is_told_as_ceph_tells_it(ask, monitors):  # noqa: F811
    monitors.answer({"prefix": "osd tree"}, status=-13, words=f"access denied, {KEY}")
    with pytest.raises(CommandExecutionError) as caught:
        ask(DUMP, TREE)
    assert "'ceph --connect-timeout 30 osd tree' on " in str(caught.value)
    assert str(caught.value).endswith(f"Error EACCES: access denied, {halocline_monitors.halocline.HIDDEN}")


@pytest.mark.slow
def test_that_no_monitor_answers_is_said(ask, monitors):  # noqa: F811
    monitors.silence()
    with pytest.raises(CommandExecutionError, match=r"^'ceph .*osd dump, osd tree' on .*RADOS timed out.*no monitor"):
        ask(DUMP, TREE)


@pytest.mark.slow
def test_an_answer_that_is_no_json_is_told(ask, monitors):  # noqa: F811
    monitors.answer({"prefix": "osd dump"})
    told = (monitors.folder / "answers").read_text().replace('[0, "", ""]', '[0, "hello", ""]')
    (monitors.folder / "answers").write_text(told)
    with pytest.raises(CommandExecutionError, match="'ceph .*osd dump' on .*: expected JSON, found 'hello': type it"):
        ask(DUMP)


@pytest.mark.slow
def test_what_is_no_monitors_command_is_asked_of_ceph(ask, monitors):  # noqa: F811
    with pytest.raises(CommandExecutionError, match="osd lump --format json' on .*exit status 22: Error EINVAL"):
        ask(["osd", "lump"], DUMP)
    assert monitors.connected() == [] and monitors.typed() == ["--connect-timeout 30 osd lump --format json"]


@pytest.mark.slow
@pytest.mark.parametrize("ceph", ["#!/bin/sh", "#!/usr/bin/env python3"])
def test_without_the_binding_ceph_is_asked(ask, monitors, ceph):  # noqa: F811
    """A ``ceph`` that is a shell script, such as one that starts a container; a Python that has no binding."""
    (monitors.folder / "ceph").write_text(f"{ceph}\nprint('[1]')\n" if "python" in ceph else f"{ceph}\necho '[1]'\n")
    (monitors.folder / "rados.py").write_text("raise ImportError")
    assert ask(DUMP, TREE) == [[1], [1]]


@pytest.mark.slow
@pytest.mark.parametrize("ends", ["echo timed out >&2; exit 1", "exec sleep 60"])
def test_without_the_binding_monitors_that_hang_are_waited_for_once(tmp_path, monkeypatch, ends):
    """Not for each of a host's OSDs, and of a removal's weights."""
    (tmp_path / "ceph").write_text(f"#!/bin/sh\necho $* >>{tmp_path}/typed\n{ends}\n")
    (tmp_path / "ceph").chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    asker = halocline_monitors.Client(connect=1, limit=1)
    with pytest.raises(CommandExecutionError, match="no monitor answered"):
        halocline_monitors.attempt([(["osd", "crush", "reweight", f"osd.{osd}", "0"], "") for osd in range(3)], asker)
    assert len((tmp_path / "typed").read_text().splitlines()) == 1


def test_a_command_is_given_to_the_monitors_in_their_form():
    forms = {
        "osd pool ls detail": {"prefix": "osd pool ls", "detail": "detail"},
        "osd pool ls": {"prefix": "osd pool ls"},
        "osd tree destroyed": {"prefix": "osd tree", "states": ["destroyed"]},
        "osd new a 3": {"prefix": "osd new", "uuid": "a", "id": 3},
        "auth get-key client.admin": {"prefix": "auth get-key", "entity": "client.admin"},
        "osd dump 5": None,
        "osd df": None,
        "osd pool": None,
    }
    assert {words: halocline_monitors.command(words.split()) for words in forms} == forms


@pytest.fixture
def register(python_module, monkeypatch, tmp_path):
    module = python_module("osd_register")
    monkeypatch.setattr(module, "KEYS", tmp_path / "new")
    monkeypatch.setattr(module, "__salt__", {"host_ceph.cipher": lambda: "aes"})
    return module


@pytest.mark.slow
def test_all_osds_of_a_host_are_given_at_once_and_one_that_is_not_says_why(register, monitors):  # noqa: F811
    monitors.answer({"prefix": "osd new", "uuid": "a"}, {"osdid": 3})
    monitors.answer({"prefix": "osd new", "uuid": "b", "id": 7}, {"osdid": 7})
    monitors.answer({"prefix": "osd new", "uuid": "c"}, status=-17, words="entity osd.4 exists but key does not match")
    osds = [{"fsid": "a", "class": "hdd"}, {"fsid": "b", "class": None, "id": 7}, {"fsid": "c", "class": None}]
    monitors.answer({"prefix": "osd dump"}, {"osds": []})
    given = register.new(osds)
    assert [given["a"][0], given["b"][0]] == [3, 7] and "EEXIST: entity osd.4 exists" in given["c"]
    assert given["a"][1] == (register.KEYS / "a").read_text() != given["b"][1]
    first, again = monitors.connected()  # of the third it is asked whether an interrupted run registered it
    assert first[0] == again[0] == "client.bootstrap-osd" and monitors.typed() == []
    assert register.new(osds)["a"] == given["a"]  # the same number and key
    assert register.new([]) == {}


@pytest.mark.slow
def test_an_osd_that_ran_is_not_made_anew_though_its_key_is_kept(register, monitors):  # noqa: F811
    """A run that was killed right behind its start left the key. With it the monitors would give its number again, and
    what lies behind a label that is damaged by now would be formatted."""
    for fsid, number in (("a", 3), ("b", 4)):
        monitors.answer({"prefix": "osd new", "uuid": fsid}, {"osdid": number})
    osds = [{"fsid": "a", "class": None}, {"fsid": "b", "class": None}]
    given = register.new(osds)
    known = [{"osd": 3, "uuid": "a", "state": ["exists", "up"]}, {"osd": 4, "uuid": "b", "state": ["exists", "new"]}]
    monitors.answer({"prefix": "osd dump"}, {"osds": known})
    again = register.new(osds)
    assert "osd.3 ran already and is not whole on its disks" in again["a"] and again["b"] == given["b"]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("taken", "begins"),
    [
        ([{"name": "aes256k", "value": 2}], "Ag"),
        ([{"name": "aes", "value": 1}], "AQ"),
        (None, "AQ"),  # monitors of before name no ciphers: they are older than this host
    ],
)
def test_keys_of_aes_256_where_host_and_monitors_know_it(register, monitors, monkeypatch, taken, begins):  # noqa: F811
    monkeypatch.setitem(register.__salt__, "host_ceph.cipher", lambda: "aes256k")
    monitors.answer({"prefix": "mon dump"}, {"mons": [], **({"auth_allowed_ciphers": taken} if taken else {})})
    monitors.answer({"prefix": "osd new", "uuid": "a"}, {"osdid": 3})
    assert register.new([{"fsid": "a", "class": None}])["a"][1].startswith(begins)


@pytest.mark.slow
def test_keys_go_to_the_monitors_by_standard_input(register, monitors):  # noqa: F811
    monitors.answer({"prefix": "osd new", "uuid": "a"}, status="input")
    with pytest.raises(KeyError, match="osdid"):
        register.new([{"fsid": "a", "class": "ssd"}])
    (words, given) = register._new({"fsid": "a", "class": "ssd"}, KEY)
    assert KEY not in words and json.loads(given) == {"cephx_secret": KEY, "crush_device_class": "ssd"}


@pytest.mark.slow
def test_what_an_interrupted_run_registered_is_taken_back_where_its_key_is_lost(register, monitors, monkeypatch):  # noqa: F811
    monitors.answer({"prefix": "osd new", "uuid": "a"}, status=-17, words="key does not match")
    taken = []
    monkeypatch.setattr(
        register, "forget", lambda fsid: taken.append(fsid) or monitors.answer(NEW, {"osdid": 4}) or True
    )
    assert register.new([{"fsid": "a", "class": None}])["a"][0] == 4 and taken == ["a"]


NEW = {"prefix": "osd new", "uuid": "a"}
