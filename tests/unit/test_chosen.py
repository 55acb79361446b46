"""All that configure reads: each file once, the site's own files as far as they are plain."""

import json
import sys
from collections import Counter
from pathlib import Path

import pytest
import yaml
from planning import FIXTURES, GUIDE, apollo

from proposals.disks import arguments, plan
from proposals.files.site import Site
from proposals.inventory import spares
from proposals.pillar import chosen, strays
from proposals.pillar.chosen import Chosen
from proposals.policy import merging, store
from proposals.text.errors import StoreError
from proposals.validation import judging

POLICY = """cluster-ceph/cluster/*.sls
config/stack/default/ceph/cluster.yml
profile-apollo/cluster/*.sls
profile-apollo/cluster/osdnode1.sls
profile-apollo/stack/default/ceph/minions/*.yml
"""
LAYERS = yaml.load((FIXTURES / "settings-layers.yaml").read_text(), yaml.CSafeLoader)
OPENED: list[str] = []
WATCHES: list[Path] = []  # below which folder files are counted; an audit hook cannot be taken away again


def _watch(event: str, words: tuple) -> None:
    if WATCHES and event == "open" and isinstance(words[0], str) and words[0].startswith(str(WATCHES[-1])):
        OPENED.append(words[0])


sys.addaudithook(_watch)


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    made = Site(tmp_path_factory.mktemp("site") / "ceph", Path("/nowhere"))
    asked = plan.peek(apollo(), arguments.parse(GUIDE))
    store.populate(made.proposals, asked, propose_policy=False)
    (made.proposals / "policy.cfg").write_text(POLICY)
    made.inventory.mkdir()
    for name, host in apollo()["hosts"].items():
        (made.inventory / f"{name}.json").write_text(json.dumps(host))
    (made.root / "stack/ceph").mkdir(parents=True)
    return made


@pytest.mark.slow
def test_every_file_is_opened_once(site):
    WATCHES.append(site.root)
    read = chosen.read(site, "salt_master", {})
    WATCHES.pop()
    opened = Counter(OPENED)
    assert len(read.contents["cluster/osdnode1.sls"]) == 2 and len(read.osds["osdnode1"]) == 54
    files = {str(site.proposals / source) for sources in read.contents.values() for source in sources}
    assert files <= set(opened)
    # the networks and the fsid that discovery wrote are part of the inventory too
    assert {path for path, times in opened.items() if times > 1} <= {
        f"{site.proposals}/config/stack/default/ceph/cluster.yml"
    }


@pytest.mark.slow
def test_the_sites_own_files(site):
    own = {"site.sls": "ready_timeout: 5", "stack/global.yml": "small_site: true\nredundancy: 2"}
    own |= {"stack/ceph/cluster.yml": "redundancy: 3", "minions.sls": "ceph_minions: {{ grains.id }}"}
    for path, text in own.items():
        (site.root / path).write_text(text)
    assert set(chosen.own_files(site.root)) == {"site.sls", "stack/global.yml", "stack/ceph/cluster.yml"}
    assert chosen.own_settings(site.root) == {"small_site": True, "redundancy": 3}
    read = chosen.read(site, "salt_master", {"ready_timeout": 7, "redundancy": 4, "fsid": "served"})
    assert read.written["redundancy"] == 3 and read.settings["ready_timeout"] == 7
    assert read.written.get("fsid") != "served"  # policy.cfg chooses it anew
    for text, found in (
        ("# ours\n\nsmall_site true\n", "small_site true"),
        ("- a: 1\n", "- a: 1"),
    ):  # Salt ignores these
        (site.root / "stack/ceph/cluster.yml").write_text(text)
        with pytest.raises(StoreError, match=f"cluster.yml is not a mapping: expected lines .* found '{found}'"):
            chosen.own_files(site.root)
    (site.root / "stack/ceph/cluster.yml").write_text("# nothing yet\n")
    assert set(chosen.own_files(site.root)) == {"site.sls", "stack/global.yml"}


@pytest.mark.parametrize("case", LAYERS, ids=lambda case: case["name"])
def test_where_settings_come_from(case):
    new, own = case.get("chosen", {}), case.get("own", {})
    for before in (case.get("before", {}), new):
        pillar = merging.merge([case.get("sls", {}), before, case.get("templated", {}), own])  # as Salt serves it
        choice = Chosen({chosen.CHOSEN[1]: {"one": new}}, {}, "salt", pillar, {chosen.LAYERS[1]: own}, before=before)
        assert choice.written == case["written"]


@pytest.mark.slow
def test_what_is_served_of_an_earlier_choice_is_known(site):
    path = site.current / chosen.CHOSEN[1]
    path.parent.mkdir(parents=True)
    path.write_text("crash_reports: false\n")
    assert "crash_reports" not in chosen.read(site, "salt_master", {"crash_reports": False}).written
    path.write_text("a: [")  # configure writes it again
    assert chosen.read(site, "salt_master", {}).before == {}
    path.unlink()


@pytest.mark.slow
def test_a_file_of_the_site_that_is_no_yaml_is_named(site):
    (site.root / "stack/ceph/cluster.yml").write_text("a: [")
    with pytest.raises(StoreError, match=r"stack/ceph/cluster.yml line \d+ is not YAML"):
        chosen.read(site, "salt_master", {})
    (site.root / "stack/ceph/cluster.yml").unlink()


@pytest.mark.slow
def test_a_spare_that_a_chosen_fragment_names_is_kept_back(site):
    fragment = site.proposals / "config/stack/default/ceph/cluster.yml"
    disk = apollo()["hosts"]["osdnode1"]["ceph_disks"][0]
    before = fragment.read_text()
    fragment.write_text(
        yaml.safe_dump({**yaml.load(before, yaml.CSafeLoader), "hot_spares": {"osdnode1": [disk["serial"]]}})
    )
    read = chosen.read(site, "salt_master", {})
    kept = [each["id"] for each in read.hosts["osdnode1"]["ceph_disks"] if spares.REASON in each["in_use"]]
    fragment.write_text(before)
    assert kept == [disk["id"]]


@pytest.mark.slow
def test_a_file_that_lost_its_content_is_told(site):
    fragment = site.proposals / "cluster-ceph/cluster/osdnode1.sls"
    before = fragment.read_text()
    fragment.write_text("")
    warned = [each.message for each in judging.judge(chosen.read(site, "salt_master", {})).findings]
    fragment.write_text(before)
    assert "policy.cfg line 1: cluster-ceph/cluster/osdnode1.sls is empty and skipped" in warned


READ = ("stack/ceph/cluster.yml", "stack/global.yml", "stack/ceph/roles/mon.yml", "stack/ceph/minions/osdnode1.yml")
BESIDE = (
    "stack/ceph/minions/salt_master.yml",
    "site.sls",
    "minions.sls",
    "stack/ceph/notes.txt",
    "mine.sls",
    "top.jinja",
)
UNREAD = {
    "stack/ceph/cluster.yaml": ": did you mean stack/ceph/cluster.yml?",
    "stack/cluster.yml": ": did you mean stack/ceph/cluster.yml?",
    "stack/ceph/role/mon.yml": ": did you mean stack/ceph/roles/mon.yml?",
    "stack/ceph/roles/monn.yml": ": did you mean stack/ceph/roles/mon.yml?",
    "stack/ceph/minions/osdnode1.sls": ": did you mean stack/ceph/minions/osdnode1.yml?",
    "stack/ceph/minions/elsewhere.lab.yml": "",
    "minion.sls": ": did you mean minions.sls?",
}


@pytest.fixture
def own(site):
    """A function: a file of the site's own, there until the test ends."""
    made = []

    def write(path, text="{}\n"):
        made.append(site.root / path)
        made[-1].parent.mkdir(parents=True, exist_ok=True)
        made[-1].write_text(text)

    yield write
    for path in made:
        path.unlink(missing_ok=True)


@pytest.mark.slow
def test_files_of_the_site_that_nothing_reads_are_named(site, own):
    for path in (*READ, *BESIDE, *UNREAD):
        own(path)
    read = chosen.read(site, "salt_master", {})
    assert strays.found(read) == [f"{path}: nothing reads this file{near}" for path, near in sorted(UNREAD.items())]
    warned = [each.message for each in judging.judge(read).findings if each.check == "unread_file"]
    assert warned == strays.found(read)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("path", "near"),
    [
        ("config/stack/default/ceph/cluster.yaml", ": did you mean stack/default/ceph/cluster.yml?"),
        ("config/stack/default/ceph/role/mon.yml", ": did you mean stack/default/ceph/roles/*.yml?"),
        ("profile-apollo/cluster/osdnode1.sls.bak", ""),
    ],
)
def test_a_line_that_chooses_what_is_of_no_layer_is_told(site, path, near):
    (site.proposals / path).parent.mkdir(parents=True, exist_ok=True)
    (site.proposals / path).write_text("roles: [mon]\n")
    (site.proposals / "policy.cfg").write_text(f"{POLICY}{path}\n")
    read = chosen.read(site, "salt_master", {})
    (site.proposals / path).unlink()
    (site.proposals / "policy.cfg").write_text(POLICY)
    assert strays.found(read) == [f"policy.cfg chooses {path}, which is of no layer{near}"]


@pytest.mark.slow
@pytest.mark.parametrize("path", ["stack/ceph/roles/mon.yml", "stack/ceph/minions/osdnode1.yml"])
def test_a_broken_file_of_a_role_or_a_minion_is_named(site, own, path):
    own(path, "[1,2\n")
    with pytest.raises(StoreError, match=f"{path} line .* is not YAML"):
        chosen.read(site, "salt_master", {})
    own(path, "[1, 2]\n")
    with pytest.raises(StoreError, match=f"{path} is not a mapping"):
        chosen.read(site, "salt_master", {})
    own(path, 'note: "{{ minion_id | upper }}"\n')
    assert path not in chosen.read(site, "salt_master", {}).own
