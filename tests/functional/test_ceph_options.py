"""Options that the running Ceph does not know: refused before `ceph config` sets anything, warned of in ceph.conf."""

import importlib.util
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType

import pytest
from salt.exceptions import CommandExecutionError
from saltfactories.utils.loader import LoaderModuleMock

STATE = Path(__file__).parents[2] / "salt/_states/host_ceph_conf.py"
KNOWN = ["osd_max_backfills", "osd_recovery_max_active", "mgr/dashboard/ssl"]
CONF = """[global]
fsid = 5bd9f8f0-5f5e-4a0e-9a5e-0123456789ab
# osd recovery threads = 1
mon_health_preluminous_compat = true
[osd]
osd recovery-max active=3
debug_osd = 0 ; quiet
[client.rgw.a]
rgw frontends = beast
"""
PRINTED = "fsid = \nosd_recovery_max_active = 0\ndebug_osd = 1/5\nrgw_frontends = beast port=7480\n"


@pytest.fixture
def cluster(python_module: Callable) -> Iterator[tuple[ModuleType, list[list[str]]]]:
    """The module on a cluster that knows these options and has none set; the commands that changed something."""
    changed: list[list[str]] = []
    answers = {"ls": KNOWN, "dump": []}
    asks = {
        "cluster_cli.ask": lambda words: answers[words[1]],
        "cluster_cli.ask_all": lambda questions: [module.__salt__["cluster_cli.ask"](words) for words in questions],
        "cluster_cli.tell": lambda words, stdin=None: changed.append(words),
        "cluster_cli.kept": lambda key: None,
    }
    module = python_module("cluster_config")
    with LoaderModuleMock({module: {"__salt__": asks}}):
        yield module, changed


def test_an_unknown_option_is_refused_before_any_is_set(cluster: tuple) -> None:
    module, changed = cluster
    wanted = {"osd": {"osd_max_backfills": 2, "osd_recovery_max_activ": 1}, "mgr": {"osd_recovery_threads_x_y_z": 1}}
    for function in (module.changes, module.apply):
        with pytest.raises(CommandExecutionError) as refused:
            function(wanted)
        assert "osd_recovery_max_activ (nearest: osd_recovery_max_active)" in str(refused.value)
        assert "nothing was set" in str(refused.value)
    assert changed == []


def test_known_options_are_set_those_of_managers_modules_too(cluster: tuple) -> None:
    module, changed = cluster
    module.apply({"osd": {"osd_max_backfills": 2}, "mgr": {"mgr/dashboard/ssl": False}})
    assert [words[:4] for words in changed if words[0] == "config"] == [
        ["config", "set", "mgr", "mgr/dashboard/ssl"],
        ["config", "set", "osd", "osd_max_backfills"],
    ]


def test_what_others_set_so_already_is_theirs(cluster: tuple, monkeypatch: pytest.MonkeyPatch) -> None:
    """As ceph.adopt writes it into ceph_config: nothing is set, nothing remembered, so nothing is ever taken away."""
    module, changed = cluster
    row = {"section": "osd", "mask": "", "name": "osd_max_backfills", "value": "2"}
    answers = {"ls": KNOWN, "dump": [row]}
    monkeypatch.setitem(module.__salt__, "cluster_cli.ask", lambda words: answers[words[1]])
    assert module.apply({"osd": {"osd_max_backfills": 2}}) == {"set": [], "remove": []} and changed == []
    assert module.changes({"osd": {"osd_max_backfills": 3}})["set"] == [["osd", "osd_max_backfills", "3"]]


def test_what_is_set_so_already_is_not_refused_though_ceph_knows_it_no_more(
    cluster: tuple, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Monitors keep what an older release knew, and ceph.adopt takes all of it in: nothing is to be set."""
    module, changed = cluster
    row = {"section": "mon", "mask": "", "name": "mon_pg_warn_max_per_osd", "value": "0"}
    answers = {"ls": KNOWN, "dump": [row]}
    monkeypatch.setitem(module.__salt__, "cluster_cli.ask", lambda words: answers[words[1]])
    module.apply({"mon": {"mon_pg_warn_max_per_osd": 0}, "osd": {"osd_max_backfills": 2}})
    assert [words[2:] for words in changed if words[0] == "config"] == [["osd", "osd_max_backfills", "2"]]
    with pytest.raises(CommandExecutionError, match="does not know mon_pg_warn_max_per_osd"):
        module.changes({"mon": {"mon_pg_warn_max_per_osd": 1}})


@pytest.mark.parametrize("killed", [False, True], ids=["refused by Ceph", "killed"])
def test_what_a_run_set_that_did_not_end_is_taken_away_again(
    cluster: tuple, monkeypatch: pytest.MonkeyPatch, killed: bool
) -> None:
    """It is ours, though the run that set it never came to its end; what Ceph refused is not."""
    module, _ = cluster
    stored: dict[str, str] = {}
    kept: dict[str, str] = {}

    def tell(words: list[str], stdin: str = "") -> None:
        if words[0] == "config-key":
            kept[words[2]] = stdin
        elif words[1] == "rm":
            del stored[words[3]]
        elif words[4] == "bad":
            raise KeyboardInterrupt if killed else CommandExecutionError("EINVAL")
        else:
            stored[words[3]] = words[4]

    def ask(words: list[str]) -> list:
        if killed and "bad" in kept.get(module.KEPT, "") and words[1] == "dump" and stored:
            raise KeyboardInterrupt  # nothing comes after it
        return KNOWN if words[1] == "ls" else [{"section": "osd", "name": n, "value": v} for n, v in stored.items()]

    for name, function in (("tell", tell), ("ask", ask), ("kept", kept.get)):
        monkeypatch.setitem(module.__salt__, f"cluster_cli.{name}", function)
    with pytest.raises(KeyboardInterrupt if killed else CommandExecutionError):
        module.apply({"osd": {"osd_max_backfills": 5, "osd_recovery_max_active": "bad"}})
    assert stored == {"osd_max_backfills": "5"}
    killed = False
    module.apply({"osd": {"osd_max_backfills": 5, "osd_recovery_max_active": 1}})
    module.apply({})
    assert stored == {} and kept == {module.KEPT: "[]"}


def test_no_restart_is_asked_for_an_option_of_a_managers_module(
    cluster: tuple, monkeypatch: pytest.MonkeyPatch
) -> None:
    module, _ = cluster
    row = {"section": "mgr", "mask": "", "value": "false", "can_update_at_runtime": False}
    rows = [row | {"name": "mgr/dashboard/ssl"}, row | {"name": "public_network"}]
    monkeypatch.setitem(module.__salt__, "cluster_cli.ask", lambda words: rows)
    assert [found["name"] for found in module.startup()] == ["public_network"]


def test_no_restart_is_asked_for_an_option_that_this_ceph_knows_no_more(
    cluster: tuple, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Daemons leave such an option aside each time they start (md_config_t::set_mon_vals, src/common/config.cc)."""
    module, _ = cluster
    row = {"section": "osd", "mask": "", "value": "1", "can_update_at_runtime": False}
    rows = [row | {"name": "filestore_fd_cache_size", "level": "unknown"}, row | {"name": "a", "level": "advanced"}]
    monkeypatch.setitem(module.__salt__, "cluster_cli.ask", lambda words: rows)
    assert [found["name"] for found in module.startup()] == ["a"]


def test_a_line_of_ceph_conf_that_ceph_does_not_know_is_warned_of(
    python_module: Callable, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    module, state = python_module("host_ceph_conf"), _state()
    monkeypatch.setattr(module, "CONF", tmp_path / "ceph.conf")
    monkeypatch.setattr(module.halocline, "run", lambda command, limit: PRINTED)
    assert module.unknown() == []  # there is none yet
    module.CONF.write_text(CONF)
    asks = {"host_ceph_conf.unknown": module.unknown, "host_ceph_conf.elsewhere": lambda: ["[osd.3] public_addr ::1"]}
    with LoaderModuleMock({state: {"__salt__": asks, "__opts__": {"test": False}}}):
        answer = state.known("options")
        assert answer["result"] is True and answer["changes"] == {}
        assert answer["warnings"] == [
            "ceph.conf has mon_health_preluminous_compat: this release of Ceph does not know it and ignores it",
            "ceph.conf has [osd.3] public_addr ::1: not an address of this host, where that OSD is: it cannot start; "
            "correct the line in ceph.conf.d",
        ]
        module.CONF.write_text(CONF.replace("mon_health_preluminous_compat = true\n", ""))
        asks["host_ceph_conf.elsewhere"] = list
        assert state.known("options")["warnings"] == []


@pytest.mark.parametrize(
    ("lines", "found"),
    [
        ("public addr = 10.0.0.1\ncluster_addr = fd00::1", []),
        ("public_addr = 10.0.0.1:6800/0", []),
        ("public_addr = 10.0.0.2:6800/7\ncluster_addr = 10.0.0.1", ["[osd.3] public_addr 10.0.0.2"]),
        ("cluster-addr = fd00:0::2", ["[osd.3] cluster_addr fd00::2"]),
        ("public_addr =", []),
        ("[osd.4]\npublic_addr = 10.0.0.2", []),  # another host's OSD
        ("[osd]\npublic_addr = 10.0.0.2", []),
    ],
)
def test_an_osd_that_came_from_another_host_with_its_section_is_told(
    python_module: Callable, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, lines: str, found: list[str]
) -> None:
    module = python_module("host_ceph_conf")
    monkeypatch.setattr(module, "CONF", tmp_path / "ceph.conf")
    monkeypatch.setattr(module, "OSDS", tmp_path)
    (tmp_path / "ceph-3").mkdir()
    module.CONF.write_text(f"[osd.3]\n{lines}\n")
    own = {"network.ip_addrs": lambda include_loopback: ["10.0.0.1"], "network.ip_addrs6": lambda: ["fd00::1"]}
    with LoaderModuleMock({module: {"__salt__": own}}):
        assert module.elsewhere() == found


@pytest.mark.parametrize(
    ("theirs", "kept"), [("OTHER", True), ("f", False), ("F", False), ("'f'", False), (None, False)]
)
def test_a_ceph_conf_of_another_cluster_is_not_written_over(
    python_module: Callable, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, theirs: str | None, kept: bool
) -> None:
    """A host may be another cluster's client, or have its daemons, and none of the keys by which deploy knows one."""
    module, state, conf = python_module("host_ceph_conf"), _state(), tmp_path / "ceph.conf"
    monkeypatch.setattr(module, "CONF", conf)
    if theirs:
        conf.write_text(f"[global]\n fsid = {theirs} # theirs\nmon host = 192.0.2.9\n")
    asks = {"host_ceph_conf.adopted": lambda: False, "host_ceph_conf.sections": module.sections}
    writes = {"file.managed": lambda name, **_: {"result": True, "comment": f"{name} is written"}}
    with LoaderModuleMock({state: {"__salt__": asks, "__states__": writes, "__pillar__": {"fsid": "f"}}}):
        answer = state.rendered(str(conf), "salt://own.j2")
    assert answer["result"] is not kept
    assert ("names cluster other, and this host is of f: nothing was written" in answer["comment"]) is kept


def test_a_ceph_conf_that_is_not_utf_8_is_read(
    python_module: Callable, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    module, conf = python_module("host_ceph_conf"), tmp_path / "ceph.conf"
    conf.write_bytes("[global]\n# für alle\nfsid = f\n".encode("latin-1"))
    monkeypatch.setattr(module, "CONF", conf)
    assert module.sections() == {"global": {"fsid": "f"}}


def _state() -> ModuleType:
    spec = importlib.util.spec_from_file_location("state", STATE)
    state = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(state)
    return state
