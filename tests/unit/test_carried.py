"""Configure for some hosts: they are as policy.cfg chooses, all others as they are served."""

import copy

import pytest
import yaml
from test_generation import CHOSEN, INVENTORY, PROFILE

from proposals.files.site import minion_file
from proposals.pillar import carried, generation
from proposals.pillar.chosen import Chosen
from proposals.text.errors import PolicyError


def choice(chosen, inventory=INVENTORY):
    return Chosen({target: {f"one/{target}": content} for target, content in chosen.items()}, inventory, "salt_master")


def served(made):
    """What is served of single minions."""
    return {path: text for path, text in made.files.items() if path.startswith(("cluster/", "stack/default/ceph/min"))}


@pytest.fixture
def before():
    return served(generation.build(choice(CHOSEN)))


@pytest.fixture
def changed():
    """Everything differs: roles of both nodes, and settings of their own."""
    made = copy.deepcopy(CHOSEN)
    made["cluster/node1.sls"]["roles"].append("mds")
    made["cluster/node2.sls"]["roles"].append("mds")
    made[PROFILE]["ceph"]["tuning"] = "ceph-flash"
    made[minion_file("node2")] = {"ceph": {"tuning": "ceph-flash"}}
    return made


@pytest.mark.slow
def test_the_others_files_are_as_they_were(before, changed):
    made = carried.build(choice(changed), before, ["node2"])
    whole = generation.build(choice(changed))
    for path in ("cluster/node1.sls", PROFILE):
        assert made.files[path] == before[path] != whole.files[path]
    for path in ("cluster/node2.sls", minion_file("node2")):
        assert made.files[path] == whole.files[path]
    assert made.roles == {**whole.roles, "node1": ["mon", "storage"]}
    assert (
        yaml.load(made.files["stack/default/ceph/derived.yml"], yaml.CSafeLoader)["ceph"]["monitors"][0]["name"]
        == "node1"
    )
    assert len({made.name, whole.name, generation.build(choice(CHOSEN)).name}) == 3


@pytest.mark.slow
def test_all_hosts_one_after_the_other_are_the_whole(before, changed):
    first = carried.build(choice(changed), before, ["node2"])
    assert carried.build(choice(changed), served(first), ["node1"]).name == generation.build(choice(changed)).name
    assert carried.build(choice(CHOSEN), before, ["node1"]).name == generation.build(choice(CHOSEN)).name


@pytest.mark.slow
def test_a_host_that_is_new_comes_with_its_own_run_and_one_that_left_goes_with_its_own(before):
    more = copy.deepcopy(CHOSEN)
    more["cluster/node3.sls"] = {"cluster": "ceph", "roles": ["mgr"]}
    del more["cluster/node2.sls"]
    inventory = {**INVENTORY, "node3": {**INVENTORY["node2"], "hostname": "node3"}}
    assert set(carried.build(choice(more, inventory), before, ["node1"]).roles) == {"node1", "node2", "salt.lab"}
    grown = carried.build(choice(more, inventory), before, ["node3"])
    assert set(grown.roles) == {"node1", "node2", "node3", "salt.lab"}
    assert set(carried.build(choice(more, inventory), served(grown), ["node2"]).roles) == {"node1", "node3", "salt.lab"}


def test_whoever_is_served_can_be_named(before):
    assert carried.minions(before) == {"node1", "node2", "salt.lab", "spare"}


def test_all_of_the_choice_is_checked(before):
    broken = copy.deepcopy(CHOSEN)
    broken["cluster/node1.sls"]["roles"].append("monn")
    with pytest.raises(PolicyError, match="node1: unknown role 'monn'"):
        carried.build(choice(broken), before, ["node2"])


def test_without_a_generation_there_is_nothing_to_carry():
    with pytest.raises(PolicyError, match="run ceph.stage.configure without only= first"):
        carried.build(choice(CHOSEN), {}, ["node2"])
