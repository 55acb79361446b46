"""All that configure reads: each file once, the site's own files as far as they are plain."""

import json
import sys
from collections import Counter
from pathlib import Path

import pytest
import yaml
from planning import GUIDE, apollo

from proposals.disks import arguments, plan
from proposals.files.site import Site
from proposals.inventory import spares
from proposals.pillar import chosen
from proposals.policy import store
from proposals.text.errors import StoreError

POLICY = """cluster-ceph/cluster/*.sls
config/stack/default/ceph/cluster.yml
profile-apollo/cluster/*.sls
profile-apollo/cluster/osdnode1.sls
profile-apollo/stack/default/ceph/minions/*.yml
"""
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


def test_a_file_of_the_site_that_is_no_yaml_is_named(site):
    (site.root / "stack/ceph/cluster.yml").write_text("a: [")
    with pytest.raises(StoreError, match=r"stack/ceph/cluster.yml line \d+ is not YAML"):
        chosen.read(site, "salt_master", {})
    (site.root / "stack/ceph/cluster.yml").unlink()


def test_a_spare_that_a_chosen_fragment_names_is_kept_back(site):
    fragment = site.proposals / "config/stack/default/ceph/cluster.yml"
    disk = apollo()["hosts"]["osdnode1"]["ceph_disks"][0]
    before = fragment.read_text()
    fragment.write_text(yaml.safe_dump({**yaml.safe_load(before), "hot_spares": {"osdnode1": [disk["serial"]]}}))
    read = chosen.read(site, "salt_master", {})
    kept = [each["id"] for each in read.hosts["osdnode1"]["ceph_disks"] if spares.REASON in each["in_use"]]
    fragment.write_text(before)
    assert kept == [disk["id"]]
