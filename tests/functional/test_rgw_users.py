"""Users of the gateways: Salt's loader, and a ``radosgw-admin`` that is played."""

import json

import pytest

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


@pytest.mark.parametrize(
    ("said", "left"), [({"usage": "read"}, [USAGE]), ({}, []), (None, [USAGE, USERS])], ids=["one", "none", "unsaid"]
)
def test_a_user_has_the_capabilities_that_are_said_the_last_one_too(said, left, with_pillar, tmp_path, monkeypatch):
    (tmp_path / "record").write_text(json.dumps({"data": {**RECORD, "caps": [USAGE, USERS]}}))
    (tmp_path / "radosgw-admin").write_text(ADMIN.format(tmp_path))
    (tmp_path / "radosgw-admin").chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    modules = with_pillar(ceph_secrets={"rgw_users.ops": "S"})
    user = {"name": "ops", "display_name": "ops", "access_key": "ops", "max_buckets": None}
    user |= {"caps": said or {}, "bare": said == {}}
    changed = [] if said is None else ["caps"]
    assert modules["cluster_rgw_users.changes"](user, "rgw_users.ops") == changed
    assert modules["cluster_rgw_users.apply"](user, "rgw_users.ops") == changed
    assert json.loads((tmp_path / "record").read_text())["data"]["caps"] == left
    assert modules["cluster_rgw_users.changes"](user, "rgw_users.ops") == []
