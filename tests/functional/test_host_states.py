"""What a host's states would do, seen in Salt's test mode: a drift of each kind is told, and nothing is changed."""

import pytest
from played_monitors import monitors  # noqa: F401  a fixture
from saltfactories.utils.loader import LoaderModuleMock

SLS = """
drift-file:
  file.managed:
    - name: {folder}/conf
    - contents: as planned
    - mode: '0640'
drift-folder:
  file.directory:
    - name: {folder}/made
drift-reload:
  module.run:
    - test.exception: ['never run']
    - onchanges:
      - file: drift-file
"""
DRIFTS = {
    "edited": (lambda folder: (folder / "conf").write_text("mine\n"), "drift-file: "),
    "removed": (lambda folder: (folder / "conf").unlink(), "drift-file: "),
    "another mode": (lambda folder: (folder / "conf").chmod(0o600), "drift-file: "),
    "a folder gone": (lambda folder: (folder / "made").rmdir(), "drift-folder: "),
}


@pytest.fixture
def folder(minion, tmp_path):
    """A folder as the SLS ``drift`` says."""
    (tmp_path / "made").mkdir()
    (tmp_path / "conf").write_text("as planned\n")
    (tmp_path / "conf").chmod(0o640)
    with minion.state_tree.base.temp_file("drift.sls", SLS.format(folder=tmp_path)):
        yield tmp_path


def differing(modules, *sls, minions=("node1",)):
    return modules["host_states.differing"]([[list(sls), list(minions)]])


@pytest.mark.slow
def test_a_host_that_is_as_told_has_no_line(modules, folder):
    assert differing(modules, "drift") == []
    assert differing(modules, "drift", minions=["another"]) == []
    assert modules["host_states.differing"]([[["drift"], None]], {}, waits=False, anew=True) == []


@pytest.mark.slow
@pytest.mark.parametrize("drift", DRIFTS)
def test_each_drift_is_told_and_stays(modules, folder, drift):
    plant, told = DRIFTS[drift]
    plant(folder)
    before = sorted((path.name, path.stat().st_mode, path.stat().st_mtime_ns) for path in folder.iterdir())
    lines = differing(modules, "drift")
    assert [line for line in lines if line.startswith(told)] != [], lines
    assert sorted((path.name, path.stat().st_mode, path.stat().st_mtime_ns) for path in folder.iterdir()) == before


@pytest.mark.slow
def test_what_cannot_be_read_is_told_as_salt_tells_it(modules, folder):
    assert "No matching sls found for 'no.such'" in " ".join(differing(modules, "no.such"))


CERTIFICATE = """
drift-certificate:
  host_certificate.self_signed:
    - name: {folder}/a.crt
    - key: {folder}/a.key
    - common_name: ceph
    - names_of: DNS:node1
"""


@pytest.mark.slow
def test_a_private_key_that_everybody_may_read_is_told(minion, modules, tmp_path):
    """Salt's own state tells owner and mode as a state beside it."""
    with minion.state_tree.base.temp_file("certificate.sls", CERTIFICATE.format(folder=tmp_path)):
        modules["state.sls"]("certificate")
        assert differing(modules, "certificate") == []
        for file, mode in {"a.key": 0o644, "a.crt": 0o600}.items():
            (tmp_path / file).chmod(mode)
            (line,) = differing(modules, "certificate")
            assert line.startswith(f"drift-certificate: File {tmp_path}/{file} will be "), line
            modules["state.sls"]("certificate")
            assert differing(modules, "certificate") == []
        assert (tmp_path / "a.key").stat().st_mode & 0o777 == 0o600


ASKING = """
first:
  cluster_config.managed:
    - options: {osd: {osd_max_backfills: 1}}
second:
  cluster_config.growth:
    - hold: true
third:
  file.managed:
    - name: /no/folder
"""


@pytest.mark.slow
def test_monitors_that_hang_are_waited_for_once(minion, modules, monitors):  # noqa: F811
    """30 s each: a stage's look at the master has a dozen states that ask them."""
    monitors.silence()
    with minion.state_tree.base.temp_file("asking.sls", ASKING):
        lines = differing(modules, "asking")
        assert [line.partition(":")[0] for line in lines] == ["first", "second", "third"]
        assert len([line for line in lines if "no monitor answered: look at " in line]) == 2
        assert len(monitors.connected()) == 1
        assert differing(modules, "asking") == lines and len(monitors.connected()) == 1, "they are asked anew"


@pytest.mark.parametrize(
    "state",
    [
        {"result": None, "changes": {}},
        {"result": False, "changes": {}},
        {"result": True, "changes": {"a": 1}},
        {"result": True, "changes": {}, "warnings": ["ceph.conf has mon_x"]},
    ],
)
def test_what_would_change_fails_or_warns_is_a_line(python_module, state):
    whole = {"result": True, "changes": {}, "__id__": "well", "comment": "", "__run_num__": 0}
    odd = {**state, "__id__": "odd", "name": "/odd", "comment": "why", "__run_num__": 1}
    module = python_module("host_states")
    mocks = {"__salt__": {"state.sls": lambda *_, **__: {"a": odd, "b": whole}}, "__opts__": {"id": "node1"}}
    with LoaderModuleMock({module: mocks}):
        assert module.differing([[["a"], ["node1"]]]) == ["odd: why"]
        del odd["__id__"]  # its module is missing
        assert module.differing([[["a"], ["node1"]]]) == ["/odd: why"]


@pytest.fixture
def played(python_module, tmp_path, monkeypatch):
    """A function: what a host says that has these of Ceph's files and grains, and whether it asked its states, how."""
    module = python_module("host_states")
    monkeypatch.setattr(module, "FOLDERS", [tmp_path / "mon", tmp_path / "osd"])

    def said(*sls, files=(), sources="a", **more):
        asked = []
        for file in files:
            (tmp_path / file).mkdir(parents=True)
        read = {"grain_sources.grain_sources": lambda: {"grain_sources": sources}}
        monkeypatch.setattr(module.salt.loader, "grain_funcs", lambda _: read)
        mocks = {
            "__salt__": {"state.sls": lambda *words, **told: asked.append((*words, told)) or {}},
            "__opts__": {"id": "node1"},
            "__grains__": {"grain_sources": "a"},
        }
        with LoaderModuleMock({module: mocks}):
            return module.differing([[list(sls), ["node1"]]], **more), asked

    return said


def test_a_host_on_which_no_daemon_ever_was_asks_no_state(played):
    assert played("conf", "ceph.cluster.daemons") == (["no daemon of Ceph's was ever here"], [])
    assert played("conf", "ceph.host.packages")[0] == []  # as a host without daemons
    lines, asked = played("conf", "ceph.cluster.daemons", files=["osd/ceph-1"])
    assert lines == [] and asked == [(["conf", "ceph.cluster.daemons"], {"test": True, "queue": True, "pillar": {}})]


def test_where_a_stage_begins_nobody_waits_for_states_that_run(played):
    _, [(_, told)] = played("conf", waits=False)
    assert told["queue"] is False


def test_that_salt_may_have_read_other_grains_is_a_line(played):
    assert played("conf", anew=True)[0] == []
    assert played("conf", anew=True, sources="b") == (
        ["the files that grains come from changed since Salt has read them"],
        [],
    )
    assert played("conf", sources="b")[0] == []  # as prep has read them
