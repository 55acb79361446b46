"""Recovery under load on paper: dips of curves, the document's table and ratios, the page; what is typed."""

import re

import pytest

from proposals.benchmarks import curves, dips, plots, scenarios
from proposals.text.errors import ArgumentError

FACTS = {"osds": 12, "size": 3, "free": 10**13}


def test_seconds_are_cut_from_sums_wherever_samples_lie():
    samples = [(at + 0.4, at * 100.0) for at in range(11)]
    assert dips.each_second(samples, 2, 5) == pytest.approx([100] * 5)
    assert dips.each_second(samples, 9, 4) == pytest.approx([100, 40, 0, 0]), "it tells nothing any more"
    assert dips.each_second([], 0, 3) == [0, 0, 0]
    assert dips.together([[1, 2], [10, 20]]) == [11, 22]


@pytest.mark.parametrize(
    ("curve", "depth", "length", "back"),
    [
        ([100] * 30, 0, 0, 0),
        ([100] * 10 + [0] * 10 + [100] * 20, 1, 19, 29),
        ([50] * 20 + [100] * 20, 0.5, 28, 28),
        ([100] * 10 + [90] + [100] * 10, 0.01, 0, 0),
        ([100] * 20 + [10] * 20, 0.9, 20, None),
        ([], 0, 0, 0),
    ],
    ids=["none", "all is lost", "half is lost", "one slow second", "not back", "nothing told"],
)
def test_a_dip_has_depth_and_length(curve, depth, length, back):
    found = dips.dip(curve, 100)
    assert (round(found.depth, 2), found.length, found.back) == (depth, length, back)


def run(scenario, profile, **more):
    told = {"before": 100.0, "depth": 0.5, "length": 30, "best": 60, "clean": 50, "moved": 3 << 30, "busy": 0.2}
    return {"scenario": scenario, "profile": profile, **told, "lead": 3, "curve": [100.0] * 3 + [50.0] * 60, **more}


def test_the_table_has_the_documents_values_beside_and_ratios():
    _, first, second = scenarios.table([run("osd-out", "fast"), run("osd-out", "least", best=180)])
    assert first == ["osd-out", "fast", "100", "50", "30", "60 s", "13 min", "50 s", first[8], "1", "1"]
    assert second[5:8] == ["3.0 min", "45 min", "50 s"] and second[9:] == ["3.0", "3.5"]


@pytest.mark.parametrize("more", [{"busy": 0.95}, {"best": None}, {"best": None, "clean": None}])
def test_a_run_that_says_nothing_of_disks_shows_no_ratio(more):
    told = [run("host-in", "fast"), run("host-in", "least", **more)]
    assert list(scenarios.table(told))[2][9] == "-"
    assert len(scenarios.notes(told)) == 1 and "host-in, least" in scenarios.notes(told)[0]
    assert list(scenarios.table(told[::-1]))[2][9] == "-", "nor does one that is compared with it"


def test_another_profile_has_no_value_of_the_document():
    _, first, second = scenarios.table([run("osd-in", "default"), run("osd-in", "least")])
    assert first[6] == "-" and second[10] == "-"


@pytest.mark.parametrize(
    "bad",
    [
        lambda: scenarios.several("what", "osd,rack", scenarios.WHAT),
        lambda: scenarios.several("what", "", scenarios.WHAT),
        lambda: scenarios.percent(0),
        lambda: scenarios.percent(True),
        lambda: scenarios.percent("many"),
        lambda: scenarios.size("huge", FACTS, 1),
    ],
)
def test_bad_input_is_named(bad):
    with pytest.raises(ArgumentError, match="expected"):
        bad()


def test_each_osd_gets_so_much_data():
    size = scenarios.size("quick", FACTS, 2)
    assert size.image * 2 * FACTS["size"] == scenarios.PER_OSD * FACTS["osds"]
    assert scenarios.size("paper", FACTS, 2).image * 2 * FACTS["size"] <= FACTS["free"] * scenarios.SHARE


@pytest.mark.slow
def test_the_page_asks_for_no_other_file_and_takes_no_markup():
    told = [run(name, profile) for name in scenarios.TITLES for profile in ("fast", "least")]
    result = {"curves": told, "notes": ["<script>x</script>"], "id": "recovery-1", "chosen": {"osd": "<b>"}}
    made = curves.files(scenarios.TITLE, result)
    page = made["report.html"].decode()
    assert "<script" not in page and "&lt;b&gt;" in page
    assert not re.search(r"src=|<link|<image|url\(h|href=\"h", page)
    assert made["table.txt"].decode().count("\n") == 10
    if plots.available():
        assert {f"{name}.{kind}" for name in scenarios.TITLES for kind in ("svg", "png")} <= set(made)
        assert [page.index(title) for title in scenarios.TITLES.values()] == sorted(
            page.index(title) for title in scenarios.TITLES.values()
        ), "figures 20 to 23 in their order"
        assert page.count("<svg") == 4 and made == curves.files(scenarios.TITLE, result)
