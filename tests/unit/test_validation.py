"""Every check on a site where all is well and on one where something is not: cases are data."""

import copy
from pathlib import Path

import pytest
import yaml

from proposals.policy.profiles import Profile
from proposals.text.errors import ArgumentError, InventoryError
from proposals.validation import check, facts, hardware_facts, host_questions, subject, table

FIXTURES = Path(__file__).parent.parent / "fixtures" / "validation"
SITE = yaml.load((FIXTURES / "site.yaml").read_text(), yaml.CSafeLoader)
CASES = yaml.load((FIXTURES / "cases.yaml").read_text(), yaml.CSafeLoader)
ADDRESSES = {name: f"10.0.0.{number}" for number, name in enumerate(SITE["roles"], start=1)}


def raw(name):
    """What a host of the site answers."""
    number = ADDRESSES[name].rpartition(".")[2]
    interfaces = {"eth0": {"mtu": 1500, "up": True, "addresses": [ADDRESSES[name]]}}
    if name.startswith("osd"):
        interfaces["eth1"] = {"mtu": 1500, "up": True, "addresses": [f"10.1.0.{number}"]}
    names = {
        each: {"expected": ADDRESSES[each], "addresses": [ADDRESSES[each]], "back": each}
        for each in (name, "mon1", "mon2", "mon3", "salt")
    }
    for one in names.values():
        one["back_addresses"] = one["addresses"]
    own = {
        "hostname": name,
        "nodename": name,
        "machine_id": f"id{number}",
        "serial": f"S{number}",
        "interfaces": interfaces,
    }
    return copy.deepcopy({**SITE["host"], **own, "names": names})


def site(changes):
    """The subject of a site with changes: keys joined by ``/``; None takes a key away where the form has it not."""
    parts = {key: copy.deepcopy(value) for key, value in SITE.items() if key not in ("host", "machine")}
    answered = {name: raw(name) for name in SITE["roles"]}
    parts |= {"hosts": dict(answered), "failed": {}, "unknown": {}}
    parts["hardware"] = {name: copy.deepcopy(SITE["machine"]) for name in SITE["roles"]}
    for path, value in changes.items():
        *keys, last = path.split("/")
        place = parts
        for key in keys:
            place = place[key]
        if value is None and last not in ("generation", "synchronised"):
            place.pop(last)
        else:
            place[last] = value
    for name in parts.pop("stores"):
        answered[name]["monitor"] = True
    odd = parts["failed"].keys() | parts.get("silent", {}).keys()
    parts["answered"] = {name: facts.read(answer) for name, answer in answered.items() if name not in odd}
    parts["hosts"] = {name: parts["answered"][name] for name in parts["hosts"]}
    parts["hardware"] = {name: hardware_facts.read(answer) for name, answer in parts["hardware"].items()}
    parts["took"] = dict.fromkeys(parts["hosts"], parts["took"])
    parts["profiles"] = {name: Profile(**profile) for name, profile in parts.get("profiles", {}).items()}
    return subject.Subject(**parts, hostnames={name: name for name in SITE["roles"]})


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["name"])
def test_a_site_is_found_to_be_as_it_is(case):
    found = check.run(table.CHECKS, site(case["set"]))
    told = [(one.check, one.severity, list(one.hosts)) for one in found]
    assert sorted(told) == sorted((one["check"], one["severity"], one["hosts"]) for one in case["finds"])
    for wanted in case["finds"]:
        mine = [one for one in found if (one.check, list(one.hosts)) == (wanted["check"], wanted["hosts"])]
        assert any(wanted["says"] in one.message and wanted.get("fix", "") in one.fix for one in mine), mine


def test_every_check_has_been_seen_to_fail():
    seen = {wanted["check"] for case in CASES for wanted in case["finds"]}
    assert {one.id for one in table.CHECKS} == seen


@pytest.mark.slow
def test_small_site_allows_what_is_about_size_and_nothing_else():
    allowed = {w["check"] for case in CASES for w in case["finds"] if w["severity"] == "allowed"}
    assert allowed <= {one.id for one in table.CHECKS if one.size}
    for case in CASES:
        found = check.run(table.CHECKS, site({**case["set"], "settings/small_site": True}))
        sized = {one.id for one in table.CHECKS if one.size}
        assert all((one.severity == "allowed") == (one.check in sized) for one in found)


@pytest.mark.parametrize(
    ("severities", "status"), [([], 0), (["allowed"], 0), (["warning"], 1), (["warning", "error"], 2)]
)
def test_status(severities, status):
    assert check.status([check.Finding("x", severity, (), "m", "f") for severity in severities]) == status


def test_text_for_people():
    found = check.run(table.CHECKS, site({"hosts/osd1/memory": 1 << 33, "roles/mon3": ["mon"], "roles/mon2": ["mon"]}))
    lines = check.text(found, "30 checks of 8 hosts").splitlines()
    assert lines[0].startswith("error    managers: 1, expected 2 or more") and lines[0].endswith("[mgr_few]")
    assert lines[1].strip().startswith("-> add role-mgr lines")
    assert lines[2].startswith("warning  osd1: OSDs: 9, which aim at 36 GiB")
    assert lines[-1] == "30 checks of 8 hosts: errors 1, warnings 1"


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ("'host.facts' is not available.", "it answered ''host.facts' is not available.'"),
        ({"format": 2}, "format 2, expected 1"),
        ({"memory": "much"}, "its memory is not of the form"),
        ({"memory": True}, "its memory is not of the form"),
        ({"clock": [1.0]}, "its clock is not of the form"),
        ({"interfaces": {"eth0": {"mtu": 1500, "up": True, "addresses": [1]}}}, "its interfaces is not"),
        ({"blocked": [{}], "space": None}, "its space, blocked is not"),
    ],
)
def test_an_answer_that_is_none_is_named(change, says):
    answer = {**raw("osd1"), **change} if isinstance(change, dict) else change
    with pytest.raises(InventoryError) as refused:
        facts.read(answer)
    assert says in str(refused.value)


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (None, "boot, threads, governors"),
        ({"format": 2}, "expected: format 2"),
        ({"raid": [{"tool": "storcli"}]}, "expected: raid"),
        ({"neighbours": [{"port": "p1", "switch": 7}], "threads": True}, "expected: threads, neighbours"),
    ],
)
def test_what_is_told_of_a_machine_has_a_form_too(change, says):
    with pytest.raises(InventoryError, match=says):
        hardware_facts.read(change and {**SITE["machine"], **change})


@pytest.mark.slow
def test_who_is_asked_what_does_not_grow_with_hosts():
    """Names are those of monitors and the master; probes name two peers, whatever the number of hosts."""
    roles = {**SITE["roles"], **{f"osd{number}": ["storage"] for number in range(5, 200)}}
    inventory = {
        name: {"hostname": name, "addresses": [f"10.0.{number // 250}.{number % 250 + 1}/16", f"10.1.0.{number}/16"]}
        for number, name in enumerate(roles)
    }
    settings = {"public_network": "10.0.0.0/16", "cluster_network": "10.1.0.0/16"}
    asked = host_questions.ask(subject.Subject(roles, settings, {}), inventory)
    assert asked["network"] == "10.0.0.0/16"
    assert set(asked["names"]) == {"salt", "mon1", "mon2", "mon3"} and asked["names"]["mon1"] == "10.0.0.2"
    assert [(one["network"], one["ports"], len(one["sources"])) for one in asked["probes"]] == [
        ("10.0.0.0/16", [3300, 6789], 2),
        ("10.0.0.0/16", [6800, 7300], 2),
        ("10.1.0.0/16", [6800, 7300], 2),
    ]


def test_a_check_that_is_not_there():
    assert table.find("mtu").id == "mtu"
    with pytest.raises(ArgumentError, match="did you mean 'mtu'"):
        table.find("mut")


def test_ids_are_unique_and_every_row_says_what_to_do():
    ids = [one.id for one in table.CHECKS]
    assert len(ids) == len(set(ids))
    assert all(one.about and one.fix and one.look.__doc__ for one in table.CHECKS)


@pytest.mark.parametrize(
    ("text", "hosts"),
    [(3, 3), ("4+2", 6), ("8+3", 11), (0, None), ("2+", None), (True, None), ("-1", None), ("²", None)],
)
def test_hosts_that_a_redundancy_needs(text, hosts):
    made = subject.Subject({}, {"redundancy": text}, {})
    assert (None if made.site.problems else made.hosts_needed()) == hosts
