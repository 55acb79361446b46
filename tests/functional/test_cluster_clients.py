"""Who runs by a client's key, and how that is ended: Salt's loader, and a ``ceph`` that is played."""

import json

import pytest
from salt.exceptions import CommandExecutionError

CEPH = r"""#!/bin/sh
shift 2  # --connect-timeout 30
echo "$*" >>{0}/asked
case "$*" in
    "quorum_status"*) echo '{{"quorum_names": ["a", "b"]}}' ;;
    "auth ls"*) cat {0}/auth ;;
    "tell mon.a sessions"*) cat {0}/sessions-a ;;
    "tell mon.b sessions"*) cat {0}/sessions-b ;;
    "auth rm"*) [ ! -e {0}/late ] || mv {0}/late {0}/sessions-b ;;
    "osd blocklist add"*) set -- $4; echo "$1" >>{0}/blocked ;;
    "osd dump"*)
        echo '{{"blocklist": {{"10.0.0.7:0/1": "sometime"'
        while read -r addr; do echo ", \"$addr\": \"2026-12-22\""; done <{0}/blocked
        echo '}}}}' ;;
    *) echo "what is $*" >&2; exit 22 ;;
esac
"""


def session(entity, *addresses):
    vector = [{"type": "v2", "addr": addr, "nonce": nonce} for addr, nonce in addresses]
    return {"name": "client.4123", "entity_name": entity, "addrs": {"addrvec": vector}, "open": True}


@pytest.fixture
def played(tmp_path, monkeypatch):
    """A cluster of two monitors; its files are its answers."""
    known = [{"entity": name, "key": "AQBsecret"} for name in ("client.a", "osd.0", "client.admin")]
    (tmp_path / "auth").write_text(json.dumps({"auth_dump": known}))
    here = [session("client.a", ("10.0.0.9:0", 4711)), session("client.b", ("10.0.0.9:0", 5)), session("mgr.x")]
    (tmp_path / "sessions-a").write_text(json.dumps(here))
    (tmp_path / "sessions-b").write_text(json.dumps([session("client.a", ("[fd00::9]:0", 4712))]))
    (tmp_path / "blocked").touch()
    (tmp_path / "ceph").write_text(CEPH.format(tmp_path))
    (tmp_path / "ceph").chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    return tmp_path


def test_who_runs_by_a_key(modules, played):
    seen = modules["cluster_clients.inspect"]("client.a")
    assert seen == {"clients": ["client.a", "client.admin"], "sessions": ["10.0.0.9:0/4711", "[fd00::9]:0/4712"]}
    assert modules["cluster_clients.sessions"]("client.none") == []
    assert {line.split()[0] for line in (played / "asked").read_text().splitlines()} == {
        "quorum_status",
        "auth",
        "tell",
    }


@pytest.mark.slow
def test_a_revoked_client_is_forgotten_and_each_of_its_programs_blocked(modules, played):
    """Also one that authenticated at that very moment; nobody else's, on the same host, and none of before."""
    late = [session("client.a", ("[fd00::9]:0", 4712)), session("client.a", ("10.0.0.9:0", 4713))]
    (played / "late").write_text(json.dumps(late))
    blocked = modules["cluster_clients.revoke"]("client.a", 60)
    assert blocked == dict.fromkeys(("10.0.0.9:0/4711", "[fd00::9]:0/4712", "10.0.0.9:0/4713"), "2026-12-22")
    asked = [line.removesuffix(" --format json") for line in (played / "asked").read_text().splitlines()]
    did = [line for line in asked if not line.startswith(("tell", "quorum"))]
    assert did == [
        "auth rm client.a",
        "osd blocklist add 10.0.0.9:0/4711 60",
        "osd blocklist add [fd00::9]:0/4712 60",
        "osd blocklist add 10.0.0.9:0/4713 60",
        "osd dump",
    ]


@pytest.mark.slow
def test_a_second_time_blocks_whoever_is_left(modules, played):
    (played / "sessions-b").write_text("[]")
    for _ in range(2):
        assert modules["cluster_clients.revoke"]("client.a", 60) == {"10.0.0.9:0/4711": "2026-12-22"}


@pytest.mark.parametrize("told", ['["MonSession(client.1 10.0.0.9:0/1 is open)"]', '[{"name": "client.1"}]', ""])
def test_sessions_that_are_not_understood_are_no_proof_that_there_are_none(modules, played, told):
    (played / "sessions-a").write_text(told)
    with pytest.raises(CommandExecutionError, match="mon.a tells of its sessions in a form that is not known"):
        modules["cluster_clients.revoke"]("client.a", 60)
    assert "auth rm" not in (played / "asked").read_text()


def test_a_monitor_that_does_not_answer_is_named(modules, played):
    (played / "ceph").write_text((played / "ceph").read_text().replace("tell mon.b", "tell mon.z"))
    with pytest.raises(CommandExecutionError, match="tell mon.b sessions"):
        modules["cluster_clients.revoke"]("client.a", 60)
    assert "auth rm" not in (played / "asked").read_text()
