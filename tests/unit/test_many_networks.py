"""What tests of the networks say of many hosts: judged in little time, read on a screen."""

import time
from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proposals.networking import proof, tables
from proposals.stages.replies import SILENT, Problem, Replies
from proposals.text.errors import PolicyError
from runners.engine.cluster import network_proof

FEW = ["a", "b", "c", "d", "e", "f"]
MANY = [f"osd{number:03}" for number in range(100)]
RACKS = [(one, other) for one in MANY[:50] for other in MANY[50:]]


def matrix(hosts, bad=()):
    return {one: {other: (one, other) not in bad for other in hosts if other != one} for one in hosts}


def brute(bad, everyone):
    """The hosts that are cut off, counted anew for each."""
    left, cut = list(everyone), []
    while len(left) > 2:
        counts = {host: sum(host in pair and set(pair) <= set(left) for pair in bad) for host in left}
        worst = max(left, key=lambda host: counts[host])
        if counts[worst] < 2 * (len(left) - 1) * 3 // 4:
            break
        left.remove(worst)
        cut.append(worst)
    return cut


@pytest.mark.slow
@given(st.sets(st.sampled_from([(one, other) for one in FEW for other in FEW if one != other])))
def test_who_is_cut_off_is_counted_once(bad):
    found = proof.unreached(matrix(FEW, bad))
    cut = brute(bad, FEW)
    assert [line.partition(":")[0] for line in found if "cut off" in line] == cut
    left = sorted(pair for pair in bad if not set(pair) & set(cut))
    assert found[len(cut) :] == [f"{one} does not reach {other}" for one, other in left]


@pytest.mark.parametrize(
    ("bad", "said"),
    [
        (RACKS, ["osd000, osd001 and 48 more hosts do not reach osd050, osd051 and 48 more hosts"]),
        (RACKS[:11], ["osd000 does not reach osd050, osd051 and 9 more hosts"]),
        (RACKS[:2], ["osd000 does not reach osd050", "osd000 does not reach osd051"]),
        ([(one, other) for one in MANY for other in MANY[:11] if one != other] +
         [(other, one) for one in MANY for other in MANY[:11] if one != other],
         ["osd000, osd001 and 9 more hosts: reaches and is reached by nobody: is it cut off?"]),
        ([(one, other) for at, one in enumerate(MANY[:12]) for other in (MANY[at + 20], MANY[at + 40])],
         [*(f"osd{at:03} does not reach osd{at + 20:03}, osd{at + 40:03}" for at in range(10)), "and 4 more pairs"]),
    ],
    ids=["racks", "one", "few", "cut off", "odd"],
)  # fmt: skip
def test_pairs_that_are_alike_share_a_line(bad, said):
    assert proof.unreached(matrix(MANY, set(bad)), every=False) == said


@pytest.mark.slow
def test_many_hosts_are_judged_by_what_was_counted_once():
    hosts = [f"osd{number:03}" for number in range(400)]
    rates = {
        (one, other): 900.0 if one == hosts[0] else 9500.0 for at, one in enumerate(hosts) for other in hosts[at + 1 :]
    }
    off = {host: number < 40 for number, host in enumerate(hosts)}
    answers = {one: {other: not off[one] and not off[other] for other in hosts if other != one} for one in hosts}
    before = time.process_time()
    assert [line[:18] for line in proof.slow(rates)] == ["osd000: at most 90"]
    assert len(proof.below(rates, dict.fromkeys(hosts, 20000))) == 400
    assert len(proof.unreached(answers)) == 40
    assert time.process_time() - before < 4  # the third took 100 s, the first two seconds each


@pytest.mark.slow
def test_of_many_hosts_no_square_is_shown():
    assert tables.matrix("public", MANY, matrix(MANY)) == "public: all 100 hosts reach all"
    answers = matrix(MANY, set(RACKS))
    del answers[MANY[99]]
    told = tables.matrix("public", MANY, answers)
    assert told == "public: of 9900 pairs of 100 hosts 7301 answered, 2500 did not, 99 were not asked"
    rates = {pair: 9000.0 + number for number, pair in enumerate(RACKS)}
    first, *slowest = tables.rates("public", MANY, rates).splitlines()
    assert first.startswith("public, Mb/s of 2500 of 4950 pairs: least 9000, median 10250, largest 11499; the slowest")
    assert slowest[0] == "  osd000 to osd050: 9000" and len(slowest) == 10
    assert tables.rates("public", MANY, {}) == "public: none of 4950 pairs was measured"
    assert len(tables.matrix("public", MANY[:24], matrix(MANY[:24])).splitlines()) >= 24


def bond(partner):
    ports = {name: {"speed": 25000, "link": True, "lacp": "ok", "errors": 0} for name in ("eno1", "eno2")}
    return {"bond0": {"mode": "802.3ad", "partner": partner, "ports": ports, "problems": []}}


@pytest.mark.slow
def test_bonds_that_are_equal_share_a_line():
    told = tables.bonds({host: bond("x") for host in MANY}).splitlines()
    assert len([line for line in told if "osd000, osd001 and 98 more hosts" in line]) == 2 and len(told) < 8
    told = tables.bonds({host: bond(host) for host in MANY}).splitlines()
    assert told[-1] == "and 150 more lines: --out json has each" and len(told) < 60
    assert len(tables.bonds({host: bond(host) for host in MANY[:24]}).splitlines()) >= 48


@pytest.fixture
def network(monkeypatch):
    """One network of all hosts, each with a large MTU; what they answer is given."""
    place = {"address": "10.0.0.1", "mtu": 9000, "name": "bond0", "speed": 20000}
    monkeypatch.setattr(network_proof, "_networks", lambda *_: [("public", dict.fromkeys(MANY, place))])
    monkeypatch.setattr(network_proof.minions, "ours", lambda _: MANY)
    return lambda answers: monkeypatch.setattr(network_proof.jobs, "ask", lambda *_, **__: Replies(answers, []))


PLACE = {"address": "10.0.0.1", "mtu": 9000, "name": "bond0", "speed": 20000}
BOTH = {"public": PLACE, "cluster": PLACE}


@pytest.mark.parametrize(
    ("places", "members", "told", "proved"),
    [
        ({"a": BOTH, "b": BOTH, "c": BOTH}, True, [], {"public": 3, "cluster": 3}),
        (
            {"a": BOTH, "b": BOTH, "c": {"public": PLACE}},
            True,
            ["cluster: c: has no address in 10.1.0.0/24, which its role needs"],
            {"public": 3, "cluster": 2},
        ),
        ({"a": BOTH, "b": BOTH, "mon": {"public": PLACE}}, True, [], {"public": 3, "cluster": 2}),
        (
            {"a": {"public": PLACE}, "b": {"public": PLACE}},
            False,
            ["cluster: no host has an address in 10.1.0.0/24"],
            {"public": 2},
        ),
        ({"a": BOTH, "b": BOTH, "d": None}, True, [f"d: {SILENT}"], {"public": 2, "cluster": 2}),
    ],
    ids=["whole", "one lacks it", "a monitor needs one alone", "nobody has it", "silent"],
)
def test_a_host_that_is_in_no_proof_is_told(monkeypatch, places, members, told, proved):
    def ask(opts, asked, function, *_, **__):
        if function != "links_proof.places":
            return Replies(matrix(sorted(asked)), [])
        silent = [Problem(host, SILENT, True) for host, place in places.items() if place is None]
        return Replies({host: place for host, place in places.items() if place is not None}, silent)

    def served(opts):
        if not members:
            raise PolicyError("nothing is configured yet")
        return {"all": list(places), "master": ["mon"], "mon": ["mon"], "storage": ["a", "b", "c", "d"]}

    networks = {"public_network": "10.0.0.0/24", "cluster_network": "10.1.0.0/24"}
    monkeypatch.setattr(network_proof, "site", lambda _: SimpleNamespace(inventory=None))
    monkeypatch.setattr(network_proof.kept, "load_inventory", lambda _: {"networks": networks})
    monkeypatch.setattr(network_proof.minions, "pillar", lambda _: {})
    monkeypatch.setattr(network_proof.minions, "ours", lambda _: list(places))
    monkeypatch.setattr(network_proof.minions, "members", served)
    monkeypatch.setattr(network_proof.jobs, "ask", ask)
    monkeypatch.setattr(network_proof, "_measured", lambda *_: ({("a", "b"): 900.0}, {"b": 900.0}, []))
    seen = network_proof.ping({})
    assert seen.problems == told and network_proof.iperf({}, 1, 1).problems == told
    assert {kind: len(one["matrix"]) for kind, one in seen.data.items()} == proved


@pytest.mark.slow
def test_all_that_was_asked_is_data(network):
    network(matrix(MANY, set(RACKS)))
    seen = network_proof.ping({}, 9001)
    assert seen.problems == [
        "public: osd000, osd001 and 98 more hosts: its bond0 has MTU 9000, and not 9001",
        "public: osd000, osd001 and 48 more hosts do not reach osd050, osd051 and 48 more hosts",
        "public: --out json has each",
    ]
    assert len(seen.data["public"]["problems"]) == 100 + 2500
    network({host: bond("x") | {"bond1": {**bond("x")["bond0"], "problems": ["eno1 is down"]}} for host in MANY})
    assert network_proof.bonds({}).problems == ["osd000, osd001 and 98 more hosts: eno1 is down", "--out json has each"]


def test_pairs_that_could_not_measure_share_a_line(network, monkeypatch):
    failed = [f"{host} to osd000: iperf3 is not installed" for host in MANY[1:]]
    monkeypatch.setattr(network_proof, "_measured", lambda *_: (dict.fromkeys(RACKS, 900.0), {}, failed))
    seen = network_proof.iperf({}, 1, 1)
    assert seen.problems == [
        "public: osd001 to osd000, osd002 to osd000 and 97 more pairs: iperf3 is not installed",
        "public: --out json has each",
    ]
    data = seen.data["public"]
    assert data["problems"] == failed and len(data["below"]) == 100
    assert "osd000, osd001 and 98 more hosts: 900 Mb/s of the 20000 Mb/s" in "\n".join(seen.tables)


@pytest.mark.parametrize("when", ["links_proof.serve", "links_proof.rate"])
def test_a_host_that_does_not_answer_is_waited_for_once(monkeypatch, when):
    """Two minutes: not in each of a hundred rounds."""
    waited = []

    def ask(_, hosts, function, arguments=(), kind=dict, timeout=60):
        away = {"b"} & set(hosts) if arguments and arguments[0] in (when, "links_proof.rate") else set()
        waited.extend(away)
        answer = True if not arguments or arguments[0] == "links_proof.serve" else 9000.0
        return Replies(dict.fromkeys(sorted({*hosts} - away), answer), [Problem(host, SILENT, True) for host in away])

    monkeypatch.setattr(network_proof.jobs, "ask", ask)
    hosts = {host: {"address": f"10.0.0.{number}"} for number, host in enumerate(FEW, start=1)}
    rates, together, failed = network_proof._measured({}, hosts, 1, 1)
    assert waited == ["b"] and {host for pair in (*rates, *together) for host in pair} == set(FEW) - {"b"}
    assert (
        len(rates) == 10 and len(together) == 4 and len(failed) == 6 and all("does not answer" in it for it in failed)
    )
