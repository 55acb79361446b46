"""What is wrong with an installation: each row is seen to fail, and none where all is well."""

import subprocess
import sys
from configparser import ConfigParser
from dataclasses import replace
from pathlib import Path

import pytest
import salt.config

from proposals.files import site
from proposals.text.errors import InventoryError, ProposalError
from proposals.validation import installation
from proposals.validation.installation import LEAST, Host, Installation
from proposals.validation.master_load import Load, wrong
from runners.engine.benchmarks import bench_store
from runners.engine.looks import installed
from runners.engine.runs import stage_log

CHECKOUT = Path(__file__).resolve().parents[2]
SERVED = {"modules/disks.py": "a", "modules/osd.py": "b", "grains/ceph_nics.py": "c", "utils/halocline.py": "d"}
HOST = Host("0.1.0", {**SERVED, "modules/theirs.py": "x"}, {"/": LEAST})
WELL = Installation(ours=["a", "b"], hosts={"a": HOST, "b": HOST}, served=SERVED, room={"/srv": LEAST})
SMALL, MANY = Load(processors=2, workers=5, timeout=15, gather=30, files=0), [str(number) for number in range(1200)]
OLD = replace(HOST, parts={})
TWO = replace(HOST, masters=["10.0.0.1", "10.0.0.2"])
CASES = {  # what is otherwise; who is named, what is said, what mends it
    "master": ({"refused": "the Salt master takes no jobs"}, (), "takes no jobs", "systemctl restart salt-master"),
    "above": ({"above": True}, (), "order_masters: True", "run Halocline on the master that has their keys"),
    "restart": ({"older": "/etc/salt/master"}, (), "/etc/salt/master", "systemctl restart salt-master"),
    "drop-in": ({"settings": ["runner_dirs"]}, (), "runner_dirs", "srv/install"),
    "files": ({"files": {"/etc/a": "edited"}}, (), "is edited", "mv '/etc/a' '/etc/a.mine'; python3"),
    "libraries": ({"libraries": ["rich"]}, (), "lacks rich", "srv/install"),
    "pillar": ({"pillar": "does not hold ceph_minions"}, (), "ceph_minions", "srv/install"),
    "logs": ({"logs": {"/var/log/h": ("read-only", "salt")}}, (), "read-only", "chown -R salt '/var/log/h'"),
    "room": ({"hosts": {"a": replace(HOST, room={"/": LEAST - 1})}}, ("a",), "255 MiB free", "du -xh"),
    "load": ({"load": SMALL, "ours": MANY}, (), "is given up", "echo 'gather_job_timeout: 60' >>/etc/salt/master.d"),
    "keys": ({"waiting": ["c"]}, ("c",), "not accepted", "salt-key --accept=c"),
    "minions": ({"ours": []}, (), "no minion is managed", "salt-key --list-all"),
    "silent": ({"silent": ["a", "b"]}, ("a", "b"), "does not answer", "systemctl restart salt-minion"),
    "answers": ({"failed": {"b": "it has no host_parts.look"}}, ("b",), "no host_parts.look", "ceph.stage.prep"),
    "masters": ({"hosts": {"a": TWO}}, ("a",), "at once: 10.0.0.1, 10.0.0.2", "'master_type: failover'"),
    "parts": ({"hosts": {"a": OLD, "b": OLD}}, ("a", "b"), "and 1 more", "ceph.stage.prep"),
}  # fmt: skip


def test_where_all_is_well_nothing_is_said():
    assert installation.run(WELL) == []
    assert installation.text([], 2).endswith("of the master and 2 minions: all is well")


def test_what_is_wrong_with_a_thousand_hosts_is_read_on_a_screen():
    """As where all of their keys wait, or their disks are full."""
    hosts = [f"osd{number:04}" for number in range(1000)]
    full = {host: replace(HOST, room={"/": number << 17}) for number, host in enumerate(hosts)}
    found = installation.run(replace(WELL, waiting=hosts, ours=hosts, hosts=full))
    lines = installation.text(found, 1000).splitlines()
    assert len(lines) == 43 and lines[-1].endswith(f"{len(found)} wrong") and len(found) == 1125
    assert "and 990 more: 'salt-run halocline.doctor --out json' names each  [keys]" in lines
    few = installation.run(replace(WELL, waiting=hosts[:10]))
    assert len(installation.text(few, 2).splitlines()) == 21


def test_every_check_is_seen_to_fail():
    assert list(CASES) == [check.id for check in installation.CHECKS]


@pytest.mark.parametrize("check", CASES)
def test_what_is_wrong_is_told_with_what_mends_it(check):
    changes, who, said, mended = CASES[check]
    (wrong,) = installation.run(replace(WELL, **changes))
    assert (wrong.check, wrong.minions) == (check, who)
    assert said in wrong.message and mended in wrong.mend
    assert installation.text([wrong], 2).endswith("1 wrong")


@pytest.mark.parametrize(
    ("minions", "changes", "told"),
    [
        (4, {}, []),
        (1000, {}, []),  # 45 s
        (1001, {}, ["gather_job_timeout: 50"]),
        (1001, {"gather": 50}, []),
        (1000, {"files": 34_000}, ["gather_job_timeout: 200"]),
        (3000, {"processors": 16}, ["worker_threads: 16"]),  # 54 s, then 17
        (10_000, {"processors": 16}, ["worker_threads: 16", "gather_job_timeout: 60"]),
        (1200, {"processors": 1}, ["gather_job_timeout: 110"]),
    ],
)
def test_a_master_that_bears_not_all_minions_at_once_is_told_the_number(minions, changes, told):
    found = list(wrong(replace(SMALL, **changes), minions))
    assert [mend.partition("'")[2].partition("'")[0] for _, mend in found] == told
    assert all(f"{minions} minions that run states at once" in message for message, _ in found)


def test_the_line_that_mends_it_counts_beside_the_drop_in_of_the_installer(tmp_path):
    drop_ins = tmp_path / "master.d"
    drop_ins.mkdir()
    (tmp_path / "master").touch()
    (drop_ins / "zz-halocline.conf").write_text((CHECKOUT / "srv/master.d/halocline.conf").read_text())
    ((_, mend),) = wrong(SMALL, 1001)
    line = mend.partition(";")[0].replace("/etc/salt/master.d", str(drop_ins))
    subprocess.run(["sh", "-ec", line], check=True)
    assert salt.config.master_config(str(tmp_path / "master"))["gather_job_timeout"] == 50


@pytest.mark.parametrize("told", [["10.0.0.1"], [], None, "10.0.0.1, 10.0.0.2", {"a": 1, "b": 2}])
def test_one_master_or_no_answer_is_nothing_wrong(told):
    assert installation.run(replace(WELL, hosts={"a": replace(HOST, masters=told)})) == []


def test_a_master_that_keeps_pillars_is_told_to_compile_them():
    (wrong,) = installation.run(replace(WELL, cached=True))
    assert (wrong.check, wrong.minions) == ("pillar", ())
    assert "for pillar_cache_ttl" in wrong.message and "echo 'pillar_cache: False' >>" in wrong.mend


def test_the_site_may_say_that_other_masters_leave_the_cluster_alone():
    assert installation.run(replace(WELL, hosts={"a": TWO}, beside=True)) == []


def test_a_file_that_is_missing_is_not_moved_away():
    (wrong,) = installation.run(replace(WELL, files={"/etc/a": "missing"}))
    assert wrong.mend.startswith("python3")


@pytest.mark.parametrize(
    ("told", "found", "mended"),
    [
        ("[gitfs]", "gitfs", ["gitfs", "roots"]),
        ("[gitfs, s3fs]", "gitfs, s3fs", ["gitfs", "s3fs", "roots"]),
        ("roots", "roots", ["roots"]),
        ("[]", "empty", ["roots"]),
        ("[roots, gitfs]", None, None),
    ],
)
@pytest.mark.parametrize("where", ["master", "master.d/site.conf"])
def test_a_master_that_serves_no_file_roots_is_told_what_to_set(tmp_path, told, found, mended, where):
    (tmp_path / "master.d").mkdir()
    (tmp_path / "master").touch()
    (tmp_path / where).write_text(f"fileserver_backend: {told}\n")

    def told_of():
        opts = salt.config.master_config(str(tmp_path / "master"))
        return opts["fileserver_backend"], installed._backends(opts)

    done = installation.run(replace(WELL, backends=told_of()[1]))
    if found is None:
        assert done == []
        return
    ((check, _, message, mend),) = done
    assert check == "drop-in" and message.endswith(f"fileserver_backend is {found}, expected a list with roots")
    line = mend.partition(";")[0].replace("/etc/salt/master.d", str(tmp_path / "master.d"))
    subprocess.run(["sh", "-ec", line], check=True)
    assert told_of() == (mended, None)


def test_what_mends_a_file_has_a_copy_of_it():
    """The installed tree has no other of its own files."""
    lost, beside = {"/srv/halocline/README.md": "missing"}, {"/usr/local/share/man/man1/halocline.1": "missing"}
    told = {}
    for source in ("", "/root/my checkout"):
        for files in (lost, beside):
            (wrong,) = installation.run(replace(WELL, files=files, source=source))
            told[source, *files] = wrong.mend
    assert told["", *lost].startswith("srv/install of the checkout")
    assert told["", *beside].startswith("python3 /srv/halocline/srv/install; ")
    assert {told["/root/my checkout", *each] for each in (lost, beside)} == {
        "python3 '/root/my checkout/srv/install'; systemctl restart salt-master"
    }


def test_another_key_than_the_accepted_one_is_told_apart():
    (wrong,) = installation.run(replace(WELL, denied=["a"]))
    assert wrong.check == "keys" and "salt-key --delete=a" in wrong.mend


@pytest.mark.parametrize("odd", ["*", "x$(reboot)", "a\x1b[31mid", "..", "node[1-9]", "-x"])
@pytest.mark.parametrize("where", ["waiting", "denied"])
def test_an_id_that_anybody_may_offer_is_in_no_command(odd, where):
    (wrong,) = installation.run(replace(WELL, **{where: [odd]}))
    told = installation.text([wrong], 1)
    assert wrong.check == "keys" and "no minion of ours may have" in told and "\x1b" not in told
    assert odd not in wrong.mend and "--accept" not in told and "--delete" not in told


def test_a_minions_words_are_no_commands_of_a_terminal():
    hostile = installation.read({"version": "\x1b[2J", "parts": {}, "room": {"/\x1b]0;": 0}})
    wrong = installation.run(replace(WELL, hosts={"a": hostile}))
    assert len(wrong) == 2 and "\x1b" not in installation.text(wrong, 1)


@pytest.mark.parametrize("answer", [{}, {"parts": [], "room": {}}, {"parts": {}, "room": {"/": "much"}}])
def test_an_answer_of_another_form_is_refused(answer):
    with pytest.raises(InventoryError, match="host_parts.look"):
        installation.read(answer)


def test_minions_tell_the_version_that_setup_cfg_says():
    setup = ConfigParser()
    setup.read(CHECKOUT / "setup.cfg")
    told = [line for line in (CHECKOUT / "_modules/host_parts.py").read_text().splitlines() if line[:8] == "VERSION "]
    assert told[0].split('"')[1] == setup["metadata"]["version"]


@pytest.mark.parametrize("needs", [bench_store.folder, stage_log.paths, site.site])
def test_who_lacks_the_drop_in_is_led_to_the_installer_which_alone_writes_it(needs):
    with pytest.raises(ProposalError, match="run srv/install again and restart the master"):
        needs({})


@pytest.mark.slow
def test_it_answers_where_pinned_libraries_are_missing():
    """Salt itself needs PyYAML and Jinja2; rich, regex and matplotlib are ours."""
    script = (
        "import sys\n"
        "for name in ('rich', 'regex', 'matplotlib'): sys.modules[name] = None\n"
        "import runners.halocline\n"
        "from runners.engine.looks import installed\n"
    )
    done = subprocess.run([sys.executable, "-c", script], cwd=CHECKOUT, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
