"""Programs on a minion: one that hangs, one that is missing, one that prints a key; and states that run them."""

import re
import socket
import time

import halocline
import pytest
import salt.loader
from salt.exceptions import CommandExecutionError

KEY = "AQBKeYxnAAAAABAAq0aBcDeFgHiJkLmNoPqRsw=="
OF_AES_256 = "AgDh1AlrAAAAACAA2a0di+5seABER8kZpSr7vNA3W3EUq+8+eISAkWosVc4="
HOST = socket.gethostname()


@pytest.fixture
def program(tmp_path, monkeypatch):
    """Put a shell script of this name before everything else on the path."""
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")

    def write(name, script):
        path = tmp_path / name
        path.write_text(f"#!/bin/sh\n{script}\n")
        path.chmod(0o755)
        return name

    return write


def raised(*arguments, **options):
    with pytest.raises(CommandExecutionError) as caught:
        halocline.run(*arguments, **options)
    return str(caught.value)


def test_what_a_program_prints_is_returned(program):
    assert halocline.run([program("says", "cat; exit 3")], stdin=KEY, ok=(0, 3)) == KEY
    assert halocline.run(["says"], stdin=KEY, ok=None) == KEY
    assert halocline.status(["says"]) == 3
    assert halocline.run([program("odd", "printf 'a\\377'")]) == "a\N{REPLACEMENT CHARACTER}"


def test_a_program_that_hangs(program):
    assert raised([program("hangs", "exec sleep 60"), "now"], limit=0.2) == (
        f"'hangs now' on {HOST}: did not end within 0.2 s; run it there by hand to see what it waits for, then run the "
        "stage again"
    )


def test_a_monitor_that_hangs(program):
    expected = "no monitor answered: look at 'systemctl status ceph-mon.target' on the monitors' hosts"
    hangs = raised([program("ceph", "exec sleep 60"), "osd", "ok-to-stop", "3"], limit=0.2)
    assert "did not end within 0.2 s; no monitor answered, or no manager, or nobody serves placement groups" in hangs
    assert "look at 'ceph -s'" in hangs and "ceph-mon.target" in hangs
    for printed in ("[errno 110] RADOS timed out (error connecting to the cluster)", "timed out"):
        program("ceph", f"echo '{printed}' >&2; exit 1")
        message = raised(["ceph", "-s"])
        assert message.startswith(f"'ceph -s' on {HOST}: exit status 1: {printed}") and expected in message
    program("ceph", "echo 'Error EBUSY: OSD(s) 3 have no reported stats' >&2; exit 16")
    assert expected not in raised(["ceph", "osd", "safe-to-destroy", "3"])


def test_a_program_that_is_missing_or_cannot_be_run(program, tmp_path):
    assert raised(["no-such-program", "-x"]) == (
        f"'no-such-program -x' on {HOST}: there is no such program: ceph.stage.prep installs what is needed"
    )
    (tmp_path / program("broken", "")).write_bytes(b"\x7fELF")
    assert f"'broken' on {HOST}: Exec format error; " in raised(["broken"])


def test_keys_are_masked(program):
    message = raised([program("ceph-volume", f"echo --add-key {KEY} >&2; exit 7"), "--key", KEY])
    assert message == f"'ceph-volume --key **********' on {HOST}: exit status 7: --add-key **********"
    program("ceph-volume", f"echo {KEY}; exit 7")
    assert raised(["ceph-volume"]).endswith("exit status 7: **********")
    program("ceph-volume", f"echo {OF_AES_256}; exit 7")
    assert raised(["ceph-volume"]).endswith("exit status 7: **********")
    long = f"head -c 1980 /dev/zero | tr '\\0' x; echo; echo {KEY} {KEY}"  # the cut to 2000 goes through a key
    assert "AQB" not in raised([program("ceph-volume", f"{long}; exit 7")])


def test_what_was_given_by_standard_input_is_masked(program):
    """A password, or an address with one, that the program repeats in its complaint."""
    program("ceph", 'read secret; echo "no such thing: $secret" >&2; exit 22')
    assert raised(["ceph"], stdin="a-password\n").endswith("exit status 22: no such thing: **********")
    assert raised(["ceph", "http://admin:pass@node1:5000"]).startswith("'ceph http://**********@node1:5000' on")


def test_secret_output_is_no_part_of_an_error(program):
    program("radosgw-admin", "echo verysecret; exit 7")
    assert "verysecret" in raised(["radosgw-admin"])
    assert raised(["radosgw-admin"], secret=True).endswith("exit status 7: ")


def test_a_program_that_was_killed_is_told_so(program):
    assert re.search(
        "'dies' on .*: signal 9 ended it: look at 'journalctl -k'", raised([program("dies", "kill -9 $$")])
    )


def test_waiting_ends_with_an_answer_or_the_last_error():
    errors = [CommandExecutionError("first"), CommandExecutionError("last")]

    def look():
        if errors:
            raise errors.pop(0)
        return "answer"

    assert halocline.until(look, 60, pause=0) == "answer"
    errors.append(CommandExecutionError("last"))
    with pytest.raises(CommandExecutionError, match="^last$"):
        halocline.until(look, 0)
    errors += [CommandExecutionError("first"), *[CommandExecutionError("last")] * 9]
    with pytest.raises(CommandExecutionError, match="^after 0.1 s: last$"):
        halocline.until(look, 0.1, pause=0.06)
    with pytest.raises(ZeroDivisionError):
        halocline.until(lambda: 1 / 0, 60)


@pytest.mark.slow
def test_nobody_can_name_the_function_that_runs_programs(loaders, checkout):
    ours = salt.loader.LazyLoader([str(checkout / "_modules")], loaders.opts, loaded_base_name="ours")
    names = {name for name in ours if name.startswith(("cluster_cli.", "halocline."))}
    asks = ("ask", "ask_all", "together", "tell", "tell_all", "tell_mgr", "refused", "kept", "keep", "forget")
    assert names == {f"cluster_cli.{name}" for name in asks}


SECRETS = {"register": f"[client.admin]\nkey = {KEY}\n", "mon": f"[client.admin]\nkey = {KEY}\n", "a": "secret"}
PILLAR = {"ceph_secrets": {**SECRETS, "dashboard": "secret"}}
STATES = {
    "cluster_auth.registered": {},
    "cluster_config.managed": {"options": {"osd": {"osd_max_backfills": 2}}},
    "cluster_dashboard.admin": {"user": "admin"},
    "cluster_dashboard.gateways": {"gateways": {"node1": ["admin", "node1:5000"]}},
    "cluster_dashboard.served": {"certificate": "/no/crt", "key": "/no/key"},
    "cluster_rgw_users.present": {"secret": "a", "display_name": "A", "access_key": "a"},
}


@pytest.fixture
def states(loaders, with_pillar):
    """The states of a minion that is told these secrets; each runs as ``state.single`` does."""
    with_pillar(**PILLAR)
    return loaders.states


@pytest.fixture
def impatient(monkeypatch):
    """Programs get a tenth of a second, but those that answer, and nothing is waited for."""
    done, until = halocline._done, halocline.until

    def briefly(command, stdin, limit, shown):
        return done(command, stdin, limit if command[0] == "journalctl" else min(limit, 0.1), shown)

    monkeypatch.setattr(halocline, "_done", briefly)
    monkeypatch.setattr(halocline, "until", lambda look, limit, **options: until(look, 0, **options))


@pytest.mark.slow
@pytest.mark.parametrize("test", [False, True])
@pytest.mark.parametrize("name", STATES)
def test_a_state_says_that_no_monitor_answers(states, program, impatient, name, test):
    for hanging in ("ceph", "radosgw-admin"):
        program(hanging, "exec sleep 60")
    answer = states[name](name="name", test=test, **STATES[name])
    assert answer.result is (None if test else False) and answer.changes == {}
    assert f" on {HOST}: did not end within 0.1 s; no monitor answered" in answer.comment
    assert "Traceback" not in answer.comment and KEY not in answer.comment


HANGING = ("busctl", "ceph", "ip", "rados", "ss", "systemctl", "tuned-adm")
OTHERS = {  # a state, its arguments, its words where the programs that it needs hang
    "ganesha.exporting": ({"exports": {"/a": 1}}, "the NFS server does not answer: .*'busctl .*did not end within"),
    "ganesha_grace.member": (dict.fromkeys(("user", "pool", "namespace"), "a"), "'rados .*; no monitor answered"),
    "host_services.listening": ({"process": "radosgw", "port": 80, "unit": "a"}, "'ss -Htlnp' on .*: did not end"),
    "iscsi.configured": ({}, "the iSCSI gateway localhost does not answer .*Connection refused"),
    "links.applied": ({}, "'ip -d -j address' on .*: did not end within 0.1 s; run it there by hand"),
    "links.usable": ({}, "'ip -d -j address' on .*: did not end within 0.1 s; run it there by hand"),
    "tunings.applied": ({}, "'tuned-adm active' on .*: did not end"),
}
FAILS_IN_TEST_MODE_TOO = ("links.applied", "links.usable", "tunings.applied")
PLANS = {
    "network": {"links": {"eth9": {"kind": "ethernet", "mtu": 1500, "addresses": []}}, "ports": {"eth9": None}},
    "services": {"iscsi-targets": {"targets": {}, "portals": []}, "igw": {"port": 1, "client": "client.a"}},
    "monitors": [{"name": "node1"}],
}


@pytest.fixture
def planned(loaders, with_pillar):
    """The states of a minion that is told of a network, gateways and monitors."""
    ceph = with_pillar()["pillar.get"]("ceph")
    with_pillar(ceph={**ceph, **PLANS}, ceph_secrets={"iscsi-api": "secret"})
    return loaders.states


@pytest.mark.slow
@pytest.mark.parametrize("test", [False, True])
@pytest.mark.parametrize("name", OTHERS)
def test_a_state_says_which_program_hangs(
    planned, python_module, program, impatient, monkeypatch, tmp_path, name, test
):
    for hanging in HANGING:
        program(hanging, "exec sleep 60")
    program("journalctl", "exit 0")  # the real one may take longer than the impatient wait
    monkeypatch.setattr(python_module("tunings_tuned"), "CONTAINER", tmp_path / "none")
    arguments, words = OTHERS[name]
    answer = planned[name](name="name", test=test, **arguments)
    assert re.search(words, answer.comment), answer.comment
    assert answer.result is (False if name in FAILS_IN_TEST_MODE_TOO or not test else None)
    assert answer.changes == {} and "Traceback" not in answer.comment


@pytest.mark.slow
def test_a_monitor_that_hangs_has_no_quorum(planned, program, impatient):
    program("ceph", "exec sleep 60")
    answer = planned["mon.in_quorum"](name="name", timeout=0)
    assert answer.result is False and "journalctl -u ceph-mon@node1" in answer.comment
    looked = planned["mon.in_quorum"](name="name", timeout=60, test=True)
    assert (looked.result, looked.changes) == (None, {})  # a look may not take it for well


CALLED = {  # what runners ask of minions, and the program that hangs
    "cluster_auth.admin_differs": ([], "ceph --name mon."),
    "cluster_health.inspect": ([], "ceph"),
    "cluster_maintenance.needed": (["node1"], "ceph"),
    "cluster_osds.states": ([], "ceph"),
    "cluster_pool_benchmark.groups": ([], "ceph"),
    "osd_register.waiting": ([[]], "ceph --name client.bootstrap-osd"),
}


@pytest.mark.parametrize("name", CALLED)
def test_a_module_says_that_no_monitor_answers(with_pillar, program, impatient, name):
    program("ceph", "exec sleep 60")
    modules = with_pillar(**PILLAR)
    arguments, command = CALLED[name]
    with pytest.raises(CommandExecutionError, match=f"^'{command} .*' on .*: did not end .*; no monitor answered"):
        modules[name](*arguments)


@pytest.mark.slow
def test_what_osds_are_to_answer_is_waited_for_once_by_a_look(program, tmp_path):
    """radosgw-admin takes 120 s for each of the gateways' users; monitors and managers may be well."""
    program("radosgw-admin", f"echo $1 >>{tmp_path}/asked; exec sleep 60")
    program("rados", f"echo $1 >>{tmp_path}/asked")
    program("ceph", "echo well")
    look = halocline.WAITED.set({})
    try:
        first = raised(["radosgw-admin", "one"], limit=0.5)
        assert "did not end within 0.5 s; no monitor answered, or no manager, or nobody serves placement" in first
        for command in (["radosgw-admin", "two"], ["rados", "three"]):
            assert "nobody serves placement groups: look at 'ceph -s'" in raised(command, limit=0.5)
        assert halocline.run(["ceph", "-s"]) == "well\n"
    finally:
        halocline.WAITED.reset(look)
    assert halocline.run(["rados", "four"]) == ""
    assert (tmp_path / "asked").read_text().split() == ["one", "four"]


def test_where_one_of_several_calls_fails_those_that_have_not_begun_are_not_made():
    """Each of ten questions to monitors that hang waits for 30 s: the first that ends tells."""
    made = []

    def ask(question):
        made.append(question)
        time.sleep(0.02)
        raise CommandExecutionError("no monitor answered")

    with pytest.raises(CommandExecutionError, match="no monitor answered"):
        halocline.side_by_side(ask, [(number,) for number in range(200)], 2)
    assert len(made) < 200
