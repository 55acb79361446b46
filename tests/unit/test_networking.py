"""Network planning: every case under fixtures/networking, what holds for all hosts, and the files that are written."""

import json
from functools import cache

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st
from planning import FIXTURES

from proposals.cli import main
from proposals.files import tree
from proposals.networking import arguments, assigned_check, fragments, plan, proof, switches
from proposals.policy import policy, store
from proposals.reference import machines
from proposals.text.errors import ProposalError

CASES = yaml.load((FIXTURES / "networking/cases.yaml").read_text(), yaml.CSafeLoader)
TOLD = yaml.load((FIXTURES / "networking/told.yaml").read_text(), yaml.CSafeLoader)
PORT = {"kind": "ethernet", "mtu": 1500, "link": True, "speed": 100_000, "driver": "mlx5_core", "addresses": []}
GUIDE = "name=apollo cluster-network=192.168.100.0/24 cluster-vlan=3001"


def port(place, told):
    return {**PORT, "path": f"pci-0000:01:00.{place}", **told}


def host(told):
    """A host of the inventory from short words: ``nics``, ``disks`` (hard disks, 1) and ``flash``."""
    disks = [{"rotational": True}] * told.get("disks", 1) + [{"rotational": False}] * told.get("flash", 0)
    nics = [port(place, nic) for place, nic in enumerate(told["nics"])] if told["nics"] is not None else None
    return {"ceph_nics": nics, "ceph_disks": disks, "gateway": told.get("gateway")}


def peek(raw, words=""):
    return plan.peek(raw, arguments.parse(words.split())).as_dict()


@pytest.mark.parametrize("name", CASES)
def test_case(name):
    case = CASES[name]
    raw = {"hosts": {key: host(told) for key, told in (case.get("hosts") or {"a": {"nics": case["nics"]}}).items()}}
    wanted = dict(case["expect"])
    if error := wanted.pop("error", None):
        with pytest.raises(ProposalError) as caught:
            peek(raw, case.get("arguments", ""))
        assert error in str(caught.value)
        assert "\n" not in str(caught.value)
        return
    answer = peek(raw, case.get("arguments", ""))
    found = answer["hosts"][min(answer["hosts"])]
    for key, value in wanted.items():
        SHOWN[key](answer, found, value)


def _links(found):
    return {link["name"]: {key: value for key, value in link.items() if key != "name"} for link in found["links"]}


def _equal(told):
    def check(_, found, value):
        assert told(found) == value

    return check


def _among(key):
    def check(answer, _, wanted):
        assert [part for part in wanted if not any(part in line for line in answer[key])] == [], answer[key]

    return check


def _reasons(_, found, wanted):
    roles = {one["name"]: one for one in found["ports"]}
    for name, reason in wanted.items():
        assert roles[name]["role"] == "unused" and reason in roles[name]["reason"]


SHOWN = {
    "links": _equal(_links),
    "addresses": _equal(lambda found: {link["name"]: link["addresses"] for link in found["links"]}),
    "ports": _equal(lambda found: [one["name"] for one in found["ports"] if one["role"] == "bond0"]),
    "gateways": _equal(lambda found: {one["name"]: one["gateway"] for one in found["links"] if "gateway" in one}),
    "reached_by": _equal(lambda found: found["reached_by"]),
    "reasons": _reasons,
    "warnings": _among("warnings"),
    "hints": _among("hints"),
}


@pytest.mark.parametrize("name", machines.CATALOGUE)
def test_every_reference_deployment_is_planned(name):
    answer = peek(machines.inventory(name), "mode=none" if name.startswith(("mellanox", "infiniflash")) else "")
    assert answer["summary"]["hosts"] == len(answer["hosts"]) > 0


def test_the_guides_network_is_planned_as_it_stands():
    answer = peek(machines.inventory("apollo"), GUIDE)
    addresses = {
        name: {link["name"]: link["addresses"] for link in each["links"]} for name, each in answer["hosts"].items()
    }
    for number in range(1, 5):
        assert addresses[f"osdnode{number}"] == {
            "bond0": [f"192.168.124.{30 + number}/24"],
            "bond0.3001": [f"192.168.100.{30 + number}/24"],
        }
    assert addresses["saltmaster"] == {"bond0": ["192.168.124.20/24"]}
    assert addresses["monnode3"] == {"bond0": ["192.168.124.23/24"]}


nics = st.lists(
    st.fixed_dictionaries(
        {
            "speed": st.sampled_from([1000, 10000, 10000, None]),
            "driver": st.sampled_from(["igb", "ixgbe"]),
            "link": st.sampled_from([True, True, True, False, None]),
            "card": st.integers(0, 2),
            "addresses": st.integers(0, 9),
            "vlans": st.lists(st.sampled_from([7, 30]), max_size=2, unique=True),
        }
    ),
    max_size=6,
)


@cache
def _names():
    return [f"p{number}" for number in range(6)]


def built(drawn, place):
    """A host of drawn ports; some have an address, each its own, and VLANs with one."""
    nics = []
    for at, (name, one) in enumerate(zip(_names(), drawn, strict=False)):
        has = {0: [f"10.0.0.{place * 10 + at + 1}/24"], 1: [f"10.1.0.{place * 10 + at + 1}/24"]}.get(
            one["addresses"], []
        )
        nics.append({**one, "name": name, "path": f"pci-0000:0{one['card']}:00.{at}", "addresses": has})
        for vlan in one["vlans"]:
            on = {"name": f"{name}.{vlan}", "kind": "vlan", "vlan": vlan, "lower": [name], "path": None}
            nics.append({**on, "addresses": [f"10.{vlan}.{place}.{at + 1}/16"]})
    return host({"nics": nics})


def deployed(before, answer, lost):
    """A host's ports as discovery sees them once the plan has been applied and the cable of one has fallen out."""
    ports = {nic["name"]: dict(nic) for nic in before["ceph_nics"]}
    for link in answer["links"]:
        known = ports.setdefault(
            link["name"], {"name": link["name"], "kind": link["kind"], "lower": [link.get("lower")]}
        )
        for name in link.get("ports", ()):
            ports[name] |= {"addresses": [], "master": link["name"], "mtu": link["mtu"]}
            ports[name] |= {} if name != lost else {"link": False, "speed": None}
            ports = {key: nic for key, nic in ports.items() if nic.get("lower") != [name]}  # its VLANs are the bond's
        known |= {"addresses": link["addresses"], "mtu": link["mtu"], "vlan": link.get("id")}
        known["lower"] = link.get("ports") or known.get("lower")
    return {**before, "ceph_nics": list(ports.values())}


@pytest.mark.slow
@settings(max_examples=80, deadline=None)
@given(
    st.lists(nics, min_size=1, max_size=3),
    st.sampled_from(["", "cluster-vlan=30", "width=3", "mode=none", "mtu=1500"]),
    st.sampled_from([None, "p0", "p1"]),
)
def test_what_holds_for_every_host(drawn, words, lost):
    words = f"{words} public-network=10.0.0.0/24 cluster-network=10.1.0.0/24"
    raw = {"hosts": {f"h{place}": built(each, place) for place, each in enumerate(drawn)}}
    answer = peek(raw, words)
    for name, planned in answer["hosts"].items():
        before = {nic["name"]: nic for nic in raw["hosts"][name]["ceph_nics"]}
        roles = {one["name"]: one for one in planned["ports"]}
        assert set(roles) == set(before)
        assert all((one["role"] == "unused") == bool(one["reason"]) for one in roles.values())
        bonds = [link for link in planned["links"] if link["kind"] == "bond"]
        for bond in bonds:
            assert len({(before[each]["speed"], before[each]["driver"]) for each in bond["ports"]}) == 1
            assert len(bond["ports"]) >= 2
            assert all(before[each]["link"] for each in bond["ports"])
        for nic in before.values():  # a VLAN on a planned port is planned, or the port's host file would drop it
            if nic.get("vlan") and roles[nic["lower"][0]]["role"] != "unused":
                assert any(set(nic["addresses"]) <= set(link["addresses"]) for link in planned["links"] if "id" in link)
        # no address is lost, none comes twice, and none but the cluster network's is new
        kept = [each for one in roles.values() if one["role"] == "unused" for each in before[one["name"]]["addresses"]]
        now = kept + [each for link in planned["links"] for each in link["addresses"]]
        was = [each for nic in before.values() for each in nic["addresses"]]
        assert len(now) == len(set(now)) and set(was) <= set(now)
        assert all(each.startswith("10.1.") for each in set(now) - set(was))
    shuffled = {
        "hosts": {key: {**one, "ceph_nics": one["ceph_nics"][::-1]} for key, one in [*raw["hosts"].items()][::-1]}
    }
    assert json.dumps(peek(shuffled, words)) == json.dumps(answer)
    again = {"hosts": {key: deployed(one, answer["hosts"][key], lost) for key, one in raw["hosts"].items()}}
    replanned = peek(again, words)["hosts"]
    assert {key: one["links"] for key, one in replanned.items()} == {
        key: one["links"] for key, one in answer["hosts"].items()
    }


def otherwise(network, change):
    """A copy of a network with some places changed, each named by its path."""
    changed = json.loads(json.dumps(network))
    for path, value in change.items():
        *above, last = path.split(".")
        place = changed
        for key in above:
            place = place[key]
        place[last] = value
    return changed


@pytest.mark.parametrize("name", TOLD)
def test_what_was_edited_by_hand_is_judged_before_it_is_told(name):
    bond = {"kind": "bond", "mtu": 9000, "addresses": ["10.0.0.1/24"], "ports": ["p1", "p2"], "mode": "802.3ad"}
    vlan = {"kind": "vlan", "mtu": 9000, "addresses": ["10.1.0.1/24"], "lower": "bond0", "id": 3001}
    network = {"links": {"bond0": bond, "v": vlan}, "ports": {"p1": None, "p2": None}}
    assert assigned_check.problems(otherwise(network, TOLD[name]["change"])) == TOLD[name]["told"]


@pytest.mark.slow
def test_what_is_planned_is_told():
    for name in machines.CATALOGUE:
        made = plan.peek(machines.inventory(name), arguments.parse(["mode=none"] if "inf" in name else []))
        for text in fragments.wanted(made).files.values():
            network = assigned_check.of(yaml.load(text, yaml.CSafeLoader))
            assert network is None or assigned_check.problems(network) == []


@pytest.mark.slow
@given(st.integers(2, 70))
@settings(max_examples=30, deadline=None)
def test_rounds_are_as_many_as_hosts_and_hold_each_host_once(count):
    hosts = [f"h{number:02}" for number in range(count)]
    found = proof.rounds(hosts)
    assert len(found) == count - 1 + count % 2
    assert all(len({host for pair in each for host in pair}) == 2 * len(each) for each in found)
    pairs = [tuple(sorted(pair)) for each in found for pair in each]
    assert len(pairs) == len(set(pairs)) == count * (count - 1) // 2


def test_every_client_has_a_port_that_its_server_serves():
    hosts = ["b", "c", "a"]
    served = proof.served(hosts)
    assert served == {"a": [5201, 5202, 5203], "b": [5201], "c": [5201]}
    rounds = [*proof.schedule(hosts), proof.all_against_first(hosts)]
    assert len(rounds) == 4 and rounds[-1] == {"b": ("a", 5202), "c": ("a", 5203)}
    assert all(port in served[server] for clients in rounds for server, port in clients.values())
    assert all(len(set(clients.values())) == len(clients) for clients in rounds)  # one client a port at a time


def test_a_pair_without_a_rate_is_named_with_what_its_client_said():
    clients = {"b": ("a", 5202), "c": ("a", 5203), "d": ("a", 5204)}
    found = proof.rates(clients, {"b": 9500, "c": "iperf3 is not installed", "d": None})
    assert found == ({("b", "a"): 9500.0}, ["c to a: iperf3 is not installed", "d to a: no answer"])


def test_64_hosts_take_63_rounds():
    assert len(proof.rounds([f"h{number}" for number in range(64)])) == 63


def matrix(hosts, bad=()):
    return {one: {other: (one, other) not in bad for other in hosts if other != one} for one in hosts}


HOSTS = ["a", "b", "c", "d", "e"]


@pytest.mark.parametrize(
    ("bad", "said"),
    [
        ([], []),
        ([("a", each) for each in "bcde"] + [(each, "a") for each in "bcde"], ["a: reaches and is reached by nobody"]),
        ([("a", "b")], ["a does not reach b"]),
        (
            [(x, y) for x in "ab" for y in "abcde"] + [(y, x) for x in "ab" for y in "abcde"],
            ["a: reaches", "b: reaches"],
        ),
    ],
)
def test_the_odd_one_out_is_named(bad, said):
    found = proof.unreached(matrix(HOSTS, bad))
    assert len(found) == len(said)
    assert all(any(part in line for line in found) for part in said), found


def test_two_hosts_are_both_told():
    both = [("a", "b"), ("b", "a")]
    assert proof.unreached(matrix(["a", "b"], both)) == ["a does not reach b", "b does not reach a"]


def test_slow_hosts_and_pairs_are_named():
    pairs = [(one, other) for at, one in enumerate(HOSTS) for other in HOSTS[at + 1 :]]
    assert proof.slow(dict.fromkeys(pairs, 9500.0)) == []
    assert proof.below(dict.fromkeys(pairs, 9500.0), dict.fromkeys(HOSTS, 10000)) == []
    (told_,) = proof.slow({pair: 900.0 if "c" in pair else 9500.0 for pair in pairs})
    assert told_.startswith("c: at most 900 Mb/s, the others 9500")
    (told_,) = proof.slow({pair: 900.0 if pair == ("a", "b") else 9500.0 for pair in pairs})
    assert told_ == "a to b: 900 Mb/s, the others 9500"
    assert len(proof.below(dict.fromkeys(pairs, 4000.0), dict.fromkeys(HOSTS, 10000))) == 5


def test_hosts_take_turns_where_a_cluster_runs():
    assert proof.turns(HOSTS, "c", True) == [["a"], ["b"], ["d"], ["e"], ["c"]]
    assert proof.turns(HOSTS, "c", False) == [["a", "b", "d", "e"], ["c"]]
    assert proof.turns(["a"], "master", False) == [["a"]]


def populate(root, words=GUIDE):
    made = plan.peek(machines.inventory("apollo"), arguments.parse(words.split()))
    return store.populate_network(root, fragments.wanted(made), made.arguments.force)


def test_populate_writes_fragments_that_policy_chooses(tmp_path):
    report = populate(tmp_path)
    assert report.status == 0
    line = "network-apollo/stack/default/ceph/minions/*.yml"
    assert line in report.messages
    (tmp_path / "policy.cfg").write_text(f"{line}\nnetwork-apollo/stack/default/ceph/cluster.yml\n")
    resolved = policy.resolve(tmp_path)
    assert len(resolved.targets) == 9
    told = tree.read_yaml(tmp_path / "network-apollo/stack/default/ceph/minions/osdnode1.yml")
    assert told["ceph"]["network"] == {
        "links": {
            "bond0": {
                "kind": "bond",
                "mtu": 9000,
                "addresses": ["192.168.124.31/24"],
                "ports": ["ens1f0", "ens1f1"],
                "mode": "802.3ad",
                "miimon": 100,
                "lacp_rate": "fast",
                "xmit_hash_policy": "layer3+4",
                "min_links": 1,
            },
            "bond0.3001": {
                "kind": "vlan",
                "mtu": 9000,
                "addresses": ["192.168.100.31/24"],
                "lower": "bond0",
                "id": 3001,
            },
        },
        "ports": {"ens1f0": "pci-0000:5d:00.0", "ens1f1": "pci-0000:5d:00.1"},
    }
    cluster = tree.read_yaml(tmp_path / "network-apollo/stack/default/ceph/cluster.yml")
    assert cluster == {"public_network": "192.168.124.0/24", "cluster_network": "192.168.100.0/24"}
    assert store.stored_network(tmp_path, "apollo")["hosts"]["osdnode1"]["reached_by"] == "bond0"


@pytest.mark.slow
def test_populate_keeps_what_was_edited(tmp_path):
    populate(tmp_path)
    assert populate(tmp_path).written == ()
    edited = tmp_path / "network-apollo/stack/default/ceph/minions/osdnode1.yml"
    edited.write_text(edited.read_text().replace("9000", "1500"))
    assert populate(tmp_path).status == 0
    changed = populate(tmp_path, f"{GUIDE} lacp-rate=slow")
    assert changed.status == 1
    assert changed.kept == ("stack/default/ceph/minions/osdnode1.yml",)
    assert "1500" in edited.read_text()
    assert populate(tmp_path, f"{GUIDE} lacp-rate=slow force=true").status == 0
    assert "slow" in edited.read_text()


def test_a_plan_of_some_hosts_may_give_the_cluster_network_to_others_alone():
    answer = peek(machines.inventory("apollo"), f"{GUIDE} target=osdnode1 cluster-hosts=osdnode2")
    assert "bond0.3001" not in {link["name"] for link in answer["hosts"]["osdnode1"]["links"]}


@pytest.mark.parametrize("system", switches.SYSTEMS)
def test_the_guides_switches_are_told(system):
    told_ = switches.text(peek(machines.inventory("apollo"), GUIDE), system)
    assert told_ == (FIXTURES / f"networking/apollo/switches/{system}.txt").read_text()


CABLES = {f"osdnode{number}": {"ens1f0": f"leaf1 1/{number}", "ens1f1": f"leaf2 1/{number}"} for number in (1, 2)}


def test_a_port_map_says_where_each_cable_is():
    answer = peek(machines.inventory("apollo"), f"{GUIDE} target=osdnode[12]")
    one, two = switches.switches(answer, CABLES)
    assert (one.name, two.name) == ("leaf1", "leaf2")
    assert [channel.cables for channel in two.channels] == [(("1/1", "ens1f1"),), (("1/2", "ens1f1"),)]
    assert {channel.number for channel in one.channels} == {channel.number for channel in two.channels}


@pytest.mark.parametrize(
    ("change", "error"),
    [
        (
            {"osdnode2": {"ens1f0": "leaf1 1/1", "ens1f1": "leaf2 1/2"}},
            "leaf1 1/1 is given to osdnode1 ens1f0 and to osdnode2",
        ),
        (
            {"osdnode2": {"ens1f0": "leaf1 1/2"}},
            "osdnode2 ens1f1: a switch and its port, as in 'leaf1 1/7', was expected",
        ),
        ({"osdnode2": None}, "osdnode2: '{PORT: SWITCH 1/7}' was expected"),
        ({"osdnode2": {**CABLES["osdnode2"], "ens1fO": "leaf1 1/9"}}, "osdnode2 has no port ens1fO: did you mean"),
    ],
)
def test_a_wrong_port_map_is_one_message(change, error):
    answer = peek(machines.inventory("apollo"), f"{GUIDE} target=osdnode[12]")
    with pytest.raises(ProposalError, match=error):
        switches.text(answer, "nx-os", {**CABLES, **change})
    with pytest.raises(ProposalError, match="did you mean 'nx-os'"):
        switches.text(answer, "nxos")


@pytest.mark.slow
@pytest.mark.parametrize("verb", ["switch", "page"])
@pytest.mark.parametrize(
    ("written", "says"),
    [
        ("", "the port map is not one: 'HOST: {PORT: SWITCH 1/7}' was expected, as networks.cables prints it; found "),
        ("# nothing\n", "found nothing"),
        ("[]", "found []"),
        (None, "found nothing"),
        ("nodeX: {ens1f0: leaf1 1/7}", "port map: the proposal has no host nodeX"),
        ("monnode1: {ens1f0: 7}", "monnode1 ens1f0: a switch and its port, as in 'leaf1 1/7', was expected"),
        ("monnode1: {ens1fX: leaf1 1/7}", "monnode1 has no port ens1fX: did you mean"),
        ("monnode1: 5", "monnode1: '{PORT: SWITCH 1/7}' was expected"),
    ],
)
def test_a_port_map_that_is_none_is_never_taken_for_no_map(tmp_path, capsys, verb, written, says):
    assert main(["networks", "populate", "reference:apollo", *GUIDE.split(), "--root", str(tmp_path)]) == 0
    capsys.readouterr()
    file = tmp_path / "cables.yml"
    file.write_text(written or "")
    ports = ["--ports", "" if written is None else str(file)]
    picture = tmp_path / "a.html"
    words = {
        "switch": ["networks", "switch", str(tmp_path), "apollo", "--as", "nx-os"],
        "page": ["page", str(tmp_path), "apollo", str(picture), "--networks"],
    }
    assert main([*words[verb], *ports]) == 2
    told = capsys.readouterr()
    assert told.out == "" and says in told.err and not picture.exists()


def test_active_backup_needs_no_port_channel():
    told_ = switches.text(peek(machines.inventory("apollo"), f"{GUIDE} mode=active-backup"), "mlnx-os")
    assert "channel" not in told_ and "lacp" not in told_ and "mtu 9216" in told_


@pytest.mark.slow
def test_on_the_command_line(tmp_path, capsys):
    assert main(["networks", "peek", "reference:apollo", *GUIDE.split(), "--format", "json"]) == 0
    assert json.loads(capsys.readouterr().out)["summary"]["bonds"] == 8
    assert main(["networks", "populate", "reference:apollo", *GUIDE.split(), "--root", str(tmp_path)]) == 0
    assert main(["network", "show", str(tmp_path), "apollo"]) == 0  # the older word
    assert "bond0.3001" in capsys.readouterr().out
    assert main(["networks", "switch", str(tmp_path), "apollo", "--as", "nx-os"]) == 0
    assert "vpc 8" in capsys.readouterr().out
    assert main(["networks", "peek", "reference:apollo", "cluster-vlan=9999"]) == 2
    told = capsys.readouterr()
    assert told.out == "" and told.err.startswith("error: cluster-vlan=9999: a VLAN from 1 to 4094")
