"""Which minions are ours: whom a master's pillar names, and where it has to be asked or cannot tell."""

import shutil

import pytest
import salt.cache
from saltmaster import Master

from proposals.files import atomic
from runners.engine.master import planning

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


@pytest.mark.slow
def test_where_nothing_else_is_served_all_accepted_minions_are_ours(master):
    assert ours(master) == list(NAMES)
    (master.root / "prod/top.sls").mkdir(parents=True)  # a folder is no top file
    assert ours(master, file_roots={**master.opts()["file_roots"], "prod": [str(master.root / "prod")]}) == list(NAMES)


@pytest.mark.slow
def test_a_master_that_serves_something_else_is_asked_which(master):
    for settings, named in elsewhere(master):
        said = ours(master, **settings)
        assert f"something else already ({named})" in said and "accepted are db1, osd1, web1" in said
    atomic.write(master.pillar / "minions.sls", "ceph_minions: 'osd*'\n")
    assert all(ours(master, **settings) == ["osd1"] for settings, _ in elsewhere(master))


@pytest.mark.slow
def test_a_root_of_the_sites_that_has_stages_of_its_own_is_not_taken_for_ours(master):
    """DeepSea's file root has ceph/stage too."""
    atomic.write(master.root / "salt/ceph/stage/0.sls", "")
    atomic.write(master.root / "salt/top.sls", "base:\n  '*': [ntp]\n")
    assert f"something else already ({master.root}/salt/top.sls)" in ours(master)


@pytest.mark.slow
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


@pytest.mark.slow
def test_a_master_that_keeps_pillars_reads_its_own_anew_and_begins_no_stage(master):
    for target, told in (("osd*", ["osd1"]), ("nobody*", [])):
        atomic.write(master.pillar / "minions.sls", f"ceph_minions: '{target}'\n")
        assert ours(master, pillar_cache=True) == told
    begun = master.runners(pillar_cache=True)["stage.begin"]("deploy", members=["osd1"])
    assert "stage deploy: pillar_cache: True hides each change" in begun["error"]


CACHED = {"osd1": {"role": "ceph", "ipv4": ["10.0.0.1"]}, "web1": {"role": "web", "ipv4": ["10.1.0.1"]}}
TARGETS = [  # a match; who is ours where db1 has nothing in the cache: "" where that cannot be told
    ("G@role:ceph", ""),
    ("P@role:c.*", ""),
    ("S@10.0.0.0/24", ""),
    ("I@role:ceph", ""),
    ("* and not G@role:web", ""),
    ("N@stores", ""),
    ("osd* and G@role:ceph", "osd1"),  # whatever db1 is
    ("G@role:ceph and not L@db1", "osd1"),
    ("( I@role:ceph or G@role:web ) and not db*", "osd1 web1"),
    ("db1 or G@role:ceph and osd*", "db1 osd1"),
    ("*", "db1 osd1 web1"),
    (" or ".join(f"osd{number} and G@a:{number}" for number in range(9)), ""),  # too many to be tried
]


@pytest.mark.slow
@pytest.mark.parametrize(("target", "told"), TARGETS)
def test_nobody_is_ours_whom_the_masters_cache_does_not_tell_of(master, target, told):
    """Salt counts a minion that it knows nothing of in, or leaves it out, without a word."""
    cache = salt.cache.factory(master.opts())
    for bank in ("grains", "pillar"):
        cache.flush(bank)
        for name, data in CACHED.items():
            cache.store(bank, name, data)
    atomic.write(master.pillar / "minions.sls", f"ceph_minions: '{target}'\n")
    said = ours(master, nodegroups={"stores": "G@role:ceph"})
    if told:
        assert said == told.split()
        return
    assert f"'{target}' asks for grains or pillar that the master has not cached of db1: run" in said
    assert '"salt -L db1 saltutil.refresh_grains"' in said
    for bank in ("grains", "pillar"):
        cache.store(bank, "db1", {"role": "db", "ipv4": ["10.2.0.1"]})
    assert set(ours(master, nodegroups={"stores": "G@role:ceph"})) <= {"db1", "osd1"}


@pytest.mark.slow
def test_a_planner_target_asks_about_our_minions_alone(master):
    atomic.write(master.pillar / "minions.sls", "ceph_minions: '*1 and not db1'\n")
    cache = salt.cache.factory(master.opts())
    cache.flush("grains")
    for name, data in CACHED.items():
        cache.store("grains", name, data)
    assert planning.minions_of(master.opts(), "G@role:web") == ["web1"]


@pytest.mark.slow
def test_a_master_that_keeps_no_data_of_its_minions_is_told_what_to_set(master):
    assert "minion_data_cache: False in the master's configuration" in ours(master, minion_data_cache=False)


WRONG = [  # what minions.sls says; what is said of it
    ("# ceph_minions: 'osd*'\n", "{}: expected ceph_minions, found no such key: write"),
    ("ceph_minion: 'osd*'\n", "{}: expected ceph_minions, found ceph_minion: write"),
    ("cephminions: &all\n  x: 'osd*'\n", "{}: expected ceph_minions, found cephminions: write"),
    ("ceph_minions: [\n", "Rendering SLS 'ceph.minions' failed. Please see master log for details.): mend that"),
    ("ceph_minions:\n", "ceph_minions is None: expected a Salt compound match such as 'osd*': correct it in {}"),
    ("ceph_minions: [osd1, web1]\n", "ceph_minions is ['osd1', 'web1']: expected a Salt compound match"),
]


@pytest.mark.slow
@pytest.mark.parametrize(("text", "said"), WRONG)
def test_a_minions_file_that_names_none_is_said_to(master, text, said):
    path = master.pillar / "minions.sls"
    atomic.write(path, text)
    assert said.format(path) in ours(master)


@pytest.mark.slow
def test_where_the_minions_file_is_right_the_installer_is_named(master):
    """A top file of the site's hides ours, and the master does not serve it beside: the drop-in is an old one."""
    atomic.write(master.pillar / "minions.sls", "ceph_minions: 'osd*'\n")
    atomic.write(master.root / "pillar/top.sls", "base:\n  '*': []\n")
    base = {"base": master.opts()["pillar_roots"]["base"]}
    assert "(no error): run srv/install again" in ours(master, pillar_roots=base)
