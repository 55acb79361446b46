"""Which minions are ours: whom a master's pillar names, and where it has to be asked or cannot tell."""

import shutil

import pytest
from saltmaster import Master

from proposals.files import atomic

NAMES = ("db1", "osd1", "web1")


@pytest.fixture(scope="module")
def made(salt_factories):
    master = salt_factories.salt_master_daemon("ours", factory_class=Master)
    for name in NAMES:
        master.accept(name)
    return master


@pytest.fixture
def master(made):
    """A master with accepted minions and no file of its site's; nothing runs."""
    yield made
    for folder in ("pillar", "salt", "prod"):
        shutil.rmtree(made.root / folder, ignore_errors=True)
        (made.root / folder).mkdir()


def ours(master, **settings):
    """What ``minions.ours`` answers: ids, or the error's words."""
    answer = master.runners(**settings)["minions.ours"]()
    return answer["error"] if isinstance(answer, dict) else answer


def elsewhere(master):
    """Settings by which a master serves something else, each with how the message names it."""
    opts, prod = master.opts(), str(master.root / "prod")
    atomic.write(master.root / "prod/top.sls", "prod:\n  '*': [web]\n")
    any_, top = str(master.root / "__env__"), f"{prod}/top.sls"
    return [
        ({"file_roots": {**opts["file_roots"], "prod": [prod]}}, top),
        ({"file_roots": {**opts["file_roots"], "__env__": [any_]}}, top),
        ({"pillar_roots": {**opts["pillar_roots"], "prod": [prod]}}, top),
        ({"master_tops": {"ext_nodes": "/bin/nodes"}}, "master_tops ext_nodes"),
        ({"fileserver_backend": ["gitfs", "roots"]}, "fileserver_backend gitfs"),
        ({"ext_pillar": [{"git": ["main /srv/p"]}, *opts["ext_pillar"]]}, "ext_pillar git"),
        ({"ext_pillar": [*opts["ext_pillar"], {"stack": ["/srv/pillar/stack.cfg"]}]}, "ext_pillar stack"),
    ]


def test_where_nothing_else_is_served_all_accepted_minions_are_ours(master):
    assert ours(master) == list(NAMES)
    (master.root / "prod/top.sls").mkdir(parents=True)  # a folder is no top file
    assert ours(master, file_roots={**master.opts()["file_roots"], "prod": [str(master.root / "prod")]}) == list(NAMES)


def test_a_master_that_serves_something_else_is_asked_which(master):
    for settings, named in elsewhere(master):
        said = ours(master, **settings)
        assert f"something else already ({named})" in said and "accepted are db1, osd1, web1" in said
    atomic.write(master.pillar / "minions.sls", "ceph_minions: 'osd*'\n")
    assert all(ours(master, **settings) == ["osd1"] for settings, _ in elsewhere(master))


def test_a_root_of_the_sites_that_has_stages_of_its_own_is_not_taken_for_ours(master):
    """DeepSea's file root has ceph/stage too."""
    atomic.write(master.root / "salt/ceph/stage/0.sls", "")
    atomic.write(master.root / "salt/top.sls", "base:\n  '*': [ntp]\n")
    assert f"something else already ({master.root}/salt/top.sls)" in ours(master)


@pytest.mark.parametrize("name", ["minions.sls", "site.sls"])
def test_what_salt_would_pass_over_in_a_files_place_is_refused_by_name(master, name):
    path = master.pillar / name
    path.mkdir(parents=True)
    assert f"{path}: expected a file, found a folder" in ours(master)
    path.rmdir()
    path.symlink_to("/mnt/gone")
    assert f"{path} -> /mnt/gone: expected a file, found No such file or directory" in ours(master)
    path.unlink()
    path.symlink_to(master.root / "elsewhere.sls")
    atomic.write(master.root / "elsewhere.sls", "ceph_minions: 'osd*'\n")
    assert ours(master) == ["osd1"]


def test_a_master_that_keeps_pillars_reads_its_own_anew_and_begins_no_stage(master):
    for target, told in (("osd*", ["osd1"]), ("nobody*", [])):
        atomic.write(master.pillar / "minions.sls", f"ceph_minions: '{target}'\n")
        assert ours(master, pillar_cache=True) == told
    begun = master.runners(pillar_cache=True)["stage.begin"]("deploy", members=["osd1"])
    assert "stage deploy: pillar_cache: True hides each change" in begun["error"]
