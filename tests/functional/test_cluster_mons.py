"""A monitor is out of the map where the map says so: Ceph answers `mon rm` before it is, and may lose it."""

import pytest
from salt.exceptions import CommandExecutionError


@pytest.fixture
def mons(python_module, monkeypatch):
    """The module; its monitors lose the first ``lost`` commands to remove one, or do not answer so often."""
    module = python_module("cluster_mons")
    module.there, module.told, module.lost, module.silent = ["a", "b", "c"], [], 0, 0

    def tell(words):
        module.told.append(words[1])
        if words[1] == "rm" and module.told.count("rm") > module.lost and words[2] in module.there:
            module.there.remove(words[2])

    def ask(words):
        if words == ["quorum_status"] and module.silent:
            module.silent -= 1
            raise CommandExecutionError("timed out")
        return {"monmap": {"mons": [{"name": name} for name in module.there]}, "quorum_names": ["a", "b"]}

    monkeypatch.setattr(module, "__salt__", {"cluster_cli.tell": tell, "cluster_cli.ask": ask}, raising=False)
    monkeypatch.setattr(module.halocline.time, "sleep", lambda _: None)
    return module


@pytest.mark.parametrize(("lost", "silent", "told"), [(0, 0, 1), (1, 0, 2), (0, 2, 3), (2, 1, 3)])
def test_it_is_told_until_the_map_has_it_no_more(mons, lost, silent, told):
    mons.lost, mons.silent = lost, silent
    assert mons.remove("c") == {"names": ["a", "b"], "quorum": ["a", "b"]}
    assert mons.told == ["ok-to-rm", *["rm"] * told]


def test_where_the_map_keeps_it_that_is_said(mons, monkeypatch):
    mons.lost = 10_000
    monkeypatch.setattr(mons, "LIMIT", 0)
    with pytest.raises(CommandExecutionError, match=r"told to remove mon\.c and have it still: run this again"):
        mons.remove("c")


def test_without_ceph_s_leave_nothing_is_removed(mons, monkeypatch):
    def refused(words):
        assert words[1] == "ok-to-rm"
        raise CommandExecutionError("EBUSY: removing mon.c will break quorum")

    monkeypatch.setitem(mons.__salt__, "cluster_cli.tell", refused)
    with pytest.raises(CommandExecutionError, match="will break quorum"):
        mons.remove("c")
