"""Users of the gateways: Salt's loader, and a ``radosgw-admin`` that is played."""

import hashlib
import json

import halocline
import pytest
from salt.exceptions import CommandExecutionError

RECORD = {"user_id": "ops", "display_name": "ops", "keys": [{"user": "ops", "access_key": "ops", "secret_key": "S"}]}
USAGE, USERS = {"type": "usage", "perm": "read"}, {"type": "users", "perm": "*"}
ADMIN = """#!/bin/sh
case "$*" in
    "metadata get user:ops") cat {0}/record ;;
    "metadata put user:ops") cat >{0}/put; cp {0}/put {0}/record ;;
    "user info --access-key ops") echo '{{"user_id": "ops"}}' ;;
    *) exit 22 ;;
esac
"""


@pytest.fixture
def modules_of_user(with_pillar, tmp_path, monkeypatch):
    """A function: the minion's execution modules, where gateways have this record of the user, whose key had an earlier
    secret of the master's."""

    def told(record, earlier="old"):
        (tmp_path / "record").write_text(json.dumps({"data": record}))
        (tmp_path / "radosgw-admin").write_text(ADMIN.format(tmp_path))
        (tmp_path / "radosgw-admin").chmod(0o755)
        monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
        hashes = {"rgw_users.ops": [hashlib.sha256(earlier.encode()).hexdigest()]}
        return with_pillar(ceph_secrets={"rgw_users.ops": "S"}, ceph_earlier_keys=hashes)

    return told


USER = {"name": "ops", "display_name": "ops", "access_key": "ops", "max_buckets": None, "caps": {}, "bare": False}


def test_what_newer_gateways_tell_of_a_key_beside_is_no_difference_and_stays(modules_of_user, tmp_path):
    """As radosgw-admin 20.2.4 prints it."""
    more = {"active": True, "create_date": "0.000000"}
    key = {**RECORD["keys"][0], **more}
    modules = modules_of_user({**RECORD, "keys": [key]})
    assert modules["cluster_rgw_users.changes"](USER, "rgw_users.ops") == []
    modules = modules_of_user({**RECORD, "keys": [{**key, "secret_key": "another"}]}, earlier="another")
    assert modules["cluster_rgw_users.apply"](USER, "rgw_users.ops") == ["key"]
    assert json.loads((tmp_path / "put").read_text())["data"]["keys"] == [key]


def test_a_secret_that_the_master_never_had_is_replaced_where_the_site_says_so_alone(modules_of_user, tmp_path):
    """A user of before, whom the settings name with the access key that programs have."""
    modules = modules_of_user({**RECORD, "keys": [{**RECORD["keys"][0], "secret_key": "theirs"}]})
    for verb in ("changes", "apply"):
        with pytest.raises(CommandExecutionError, match="access key ops has another secret than the master's: nothing"):
            modules[f"cluster_rgw_users.{verb}"](USER, "rgw_users.ops")
    assert not (tmp_path / "put").exists()
    assert modules["cluster_rgw_users.apply"]({**USER, "given": True}, "rgw_users.ops") == ["key"]
    assert json.loads((tmp_path / "record").read_text())["data"]["keys"] == RECORD["keys"]


@pytest.mark.parametrize(
    ("said", "left"), [({"usage": "read"}, [USAGE]), ({}, []), (None, [USAGE, USERS])], ids=["one", "none", "unsaid"]
)
def test_a_user_has_the_capabilities_that_are_said_the_last_one_too(said, left, modules_of_user, tmp_path):
    modules = modules_of_user({**RECORD, "caps": [USAGE, USERS]})
    user = {**USER, "caps": said or {}, "bare": said == {}}
    changed = [] if said is None else ["caps"]
    assert modules["cluster_rgw_users.changes"](user, "rgw_users.ops") == changed
    assert modules["cluster_rgw_users.apply"](user, "rgw_users.ops") == changed
    assert json.loads((tmp_path / "record").read_text())["data"]["caps"] == left
    assert modules["cluster_rgw_users.changes"](user, "rgw_users.ops") == []


@pytest.fixture
def applied(modules_of_user, tmp_path):
    """A function: the user that gateways have, once the stage has been told of it otherwise."""

    def apply(record, user):
        told = {"ceph": {"services": {"radosgw": {"users": [{**USER, "secret": "rgw_users.ops", **user}]}}}}
        told["ceph_secrets"] = {"rgw_users.ops": "S"}
        without = [{"id": "ceph-service-rgw-users-credentials"}]
        states = modules_of_user(record)["state.sls"]("ceph.service.rgw-users", pillar=told, exclude=without)
        assert [state["result"] for state in states.raw.values()] == [True] * 2
        return json.loads((tmp_path / "record").read_text(encoding="utf-8"))["data"]

    return apply


def test_the_stage_takes_the_last_capability_away(applied):
    """As a user's part tells it who has ``caps: {}``."""
    assert applied({**RECORD, "caps": [USERS]}, {"bare": True})["caps"] == []


def test_a_name_in_full_comes_to_gateways_as_it_is_written(applied, tmp_path):
    """Of ``\\ud83d\\ude00``, as JSON may have it, YAML and radosgw-admin make two characters."""
    name = 'Jörg "😀" O\'Neil'
    assert applied(RECORD, {"display_name": name})["display_name"] == name
    assert "Jörg" in (tmp_path / "put").read_text(encoding="utf-8") and "😀" in (tmp_path / "put").read_text()


@pytest.mark.slow
def test_gateways_pools_that_do_not_answer_are_waited_for_once(with_pillar, tmp_path, monkeypatch):
    """120 s for each user."""
    done = halocline._done
    monkeypatch.setattr(halocline, "_done", lambda words, stdin, limit, shown: done(words, stdin, 0.5, shown))
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    (tmp_path / "radosgw-admin").write_text(f"#!/bin/sh\necho $* >>{tmp_path}/asked\nexec sleep 60\n")
    (tmp_path / "radosgw-admin").chmod(0o755)
    users = [{**USER, "name": name, "secret": "rgw_users.ops"} for name in ("alice", "bob", "carol")]
    told = {"ceph": {"services": {"radosgw": {"users": users}}}, "ceph_secrets": {"rgw_users.ops": "S"}}
    without = [{"id": "ceph-service-rgw-users-credentials"}]
    applied = with_pillar(**told)["state.sls"]("ceph.service.rgw-users", pillar=told, exclude=without)
    states = sorted(applied.raw.values(), key=lambda state: state["__run_num__"])
    assert [state["result"] for state in states] == [False] * 4
    assert "did not end within 0.5 s; no monitor answered" in states[0]["comment"]
    assert (tmp_path / "asked").read_text().splitlines() == ["metadata get user:alice"]
