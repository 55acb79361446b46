"""Benchmarks: suites as data, what tools printed, statistics, tables, comparisons, pages; nothing runs."""

import json
import re
from dataclasses import replace
from pathlib import Path

import pytest

from proposals.benchmarks import baseline, compare, figures, loads, places, plots, report, results, suites
from proposals.text.errors import ArgumentError, ProposalError

RECORDED = Path(__file__).parents[1] / "fixtures/benchmarks"  # fio 3.33 of Debian 12
FACTS = {
    "osds": 36, "per_osd": 250, "used": 3, "size": 3, "hosts": {f"osdnode{at}": 9 for at in (1, 2, 3, 4)},
    "free": 10**13, "host_free": {f"osdnode{at}": 10**13 // 4 for at in (1, 2, 3, 4)},
    "standby_mds": 2, "pools": ["cephfs_data"],
}  # fmt: skip


def recorded(name):
    return json.loads((RECORDED / f"{name}.json").read_text())


@pytest.mark.parametrize("name", suites.known())
def test_each_value_that_a_document_prints_has_a_row_and_a_column(name):
    suite = suites.read(name)
    assert len(set(suite.rows)) == len(suite.rows)
    for rows in suite.printed.values():
        assert set(rows) <= set(suite.rows)
        assert all(len(cells) <= len(suite.columns) for cells in rows.values())
    assert set(suite.columns) <= results.COLUMNS.keys() and set(suite.targets) <= suites.TARGETS.keys()
    assert suite.tool in suites.TOOLS and all(plot["column"] in suite.columns for plot in suite.plots)
    assert all(any(row.startswith(plot["rows"]) for row in suite.rows) for plot in suite.plots)
    assert {way for job in suite.jobs for way in job.rows} <= set(suites.DIRECTIONS)


@pytest.mark.slow
def test_the_suites_are_what_the_documents_measured():
    sizes = {name: (len(suites.read(name).jobs), len(suites.read(name).rows)) for name in suites.known()}
    assert sizes == {
        "apollo": (17, 20),
        "infiniflash": (12, 12),
        "mellanox": (12, 12),
        "moc": (5, 5),
        "tigershark": (12, 12),
    }
    apollo = suites.read("apollo")
    assert {target: len(rows) for target, rows in apollo.printed.items()} == {
        "cephfs": 19, "cephfs-ec": 20, "rbd": 20, "rbd-ec": 10,
    }  # fmt: skip
    assert len(suites.read("mellanox").printed) * 12 == 36
    clients = {name: suites.read(name).clients for name in suites.known()}
    assert clients == {"apollo": 2, "infiniflash": 8, "mellanox": 1, "moc": 6, "tigershark": 0}
    assert suites.clients(apollo, 2) == suites.clients(suites.read("tigershark"), 2) == []
    assert suites.clients(apollo, 1) == ["load from 1 host, where the document had 2"]
    flash = suites.read("infiniflash").sizes["paper"]
    assert (flash.repeats, flash.drop, flash.images, flash.seconds) == (5, 1, 1, 1200)
    depths = {job.options["bs"]: job.options["iodepth"] for job in suites.read("infiniflash").jobs}
    assert (depths["4k"], depths["1M"], len(depths)) == (128, 32, 6), "a depth of its own for each block size"
    phases = [job.name for job in suites.read("tigershark").jobs]
    assert phases[3:6] == ["mdtest-hard-write", "find", "ior-easy-read"], "IO500's order"
    for name in suites.known():
        assert {size: each.settle for size, each in suites.read(name).sizes.items()} == {"quick": 3, "paper": 30}


@pytest.mark.parametrize(
    ("asked", "says"),
    [
        (lambda: suites.read("apolo"), "there is no such suite: did you mean 'apollo'?"),
        (lambda: suites.read(7), "there is no such suite"),
        (lambda: suites.size(suites.read("moc"), "huge"), "expected quick or paper"),
        (lambda: suites.targets(suites.read("moc"), "volumes"), "no benchmark runs on a pool that exists"),
        (lambda: suites.targets(suites.read("apollo"), ""), "target=: expected some of rbd, "),
        (lambda: suites.targets(suites.read("apollo"), " "), "target= : expected some of rbd, "),
        (lambda: suites.targets(suites.read("apollo"), ","), "target=,: expected some of rbd, "),
        (lambda: baseline.parts(""), "parts=: expected some of disks, osds, links; leave it out for all"),
        (lambda: baseline.parts(" ,"), "parts= ,: expected some of disks, osds, links"),
    ],
)
def test_names_that_nobody_knows(asked, says):
    with pytest.raises(ArgumentError, match=re.escape(says)):
        asked()


def test_what_fio_printed_is_read_with_its_histogram():
    read = figures.fio(recorded("randrw"))
    assert read.keys() == {"read", "write"}
    told = read["read"].as_dict()
    assert told["operations"] == 56185 and round(told["mib_s"], 1) == 109.7 and round(told["iops"]) == 28078
    assert told["p50_ms"] < told["p95_ms"] < told["p99_ms"] < told["p99_9_ms"] <= told["max_ms"]
    assert sum(told["histogram_ns"].values()) == told["operations"]


def test_phases_make_one_score_where_all_were_measured():
    suite = suites.read("tigershark")
    cells = {
        row: [{"mib_s": 2048.0, "iops": 1.0} if row.startswith("ior") else {"mib_s": 0.0, "iops": 8000.0}]
        for row in suite.rows
    }
    told = {"id": "t", "suite": "tigershark", "label": "", "targets": ["cephfs"], "cells": {"cephfs": cells}}
    (line,) = results.scores(suite, told)
    assert line == "cephfs: score of these phases: 4.0000 (document: 14.9067, 12.434)"  # the root of 2 GiB/s x 8 k/s
    assert results.plain(suite, told).splitlines()[-1] == line
    assert line in report.page(suite, [{**told, "notes": []}], {})
    faster = {**cells, "find": [{"mib_s": 0.0, "iops": 8000.0 * 2**8}]}
    (line,) = results.scores(suite, {**told, "cells": {"cephfs": faster}})
    assert "score of these phases: 5.6569 " in line, "find is one of eight rates: twice their mean, root 2 of the score"
    for phase in ("find", "mdtest-hard-read"):
        less = {row: each for row, each in cells.items() if row != phase}
        assert list(results.scores(suite, {**told, "cells": {"cephfs": less}})) == []
    assert list(results.scores(suites.read("apollo"), result())) == []


def test_small_files_have_a_number_and_no_time():
    suite = suites.read("tigershark")
    for job in suite.jobs:
        for size in suite.sizes.values():
            seconds = loads.limit(loads.job(suite, size, job, {"kind": "fs"}, 1 << 30))
            files = size.options["files"] * size.options["numjobs"]
            bandwidth = job.name.startswith("ior")
            assert seconds >= (size.seconds + 180 if bandwidth else files / 50)


@pytest.mark.parametrize("name", ["filecreate", "filestat", "filedelete"])
def test_engines_of_metadata_count_files(name):
    (figure,) = figures.fio(recorded(name)).values()
    assert figure.operations == 50 and figure.iops > 1000 and figure.max_ms > figure.mean_ms > 0


def test_files_that_find_looked_at_make_its_rate():
    told = figures.find({"files": 1000, "matched": 9, "seconds": 0.5})["read"].as_dict()
    assert (told["iops"], told["mean_ms"], told["operations"], told["mib_s"]) == (2000, 0.5, 1000, 0)
    assert figures.find({"files": 1000, "matched": 0, "seconds": 0.5}) == {}, "IO500 calls it invalid"
    for odd in ({}, {"files": 0, "matched": 1, "seconds": 1}, {"files": 9, "matched": 1, "seconds": 0}, {"files": "x"}):
        with pytest.raises(ProposalError, match="another form"):
            figures.find(odd)


def test_what_rados_bench_printed_is_read():
    """The keys are those of ObjBencher::aio_bench with --format json; numbers stand there as text."""
    printed = {
        "bandwidth": "81.2",
        "average_iops": "20",
        "average_latency": "0.5",
        "max_latency": "2",
        "total_time_run": "3.0",
    }
    read = figures.rados({**printed, "total_writes_made": "61"})
    assert read["write"].as_dict() == {
        "mib_s": 81.2, "iops": pytest.approx(61 / 3), "operations": 61, "mean_ms": 500, "max_ms": 2000,
        "histogram_ns": {},
    }  # fmt: skip
    assert figures.rados({**printed, "total_reads_made": 9}).keys() == {"read"}


@pytest.mark.parametrize(("counted", "says"), [(64 << 20, []), (59 << 20, []), (30 << 20, ["write: its counters say"])])
def test_a_pools_own_counters_stand_beside_what_tools_say(counted, says):
    told = {"write": figures.Figures(8.0, 2.0, 16, 1.0, 1.0)}  # 16 of 4 MiB
    lines = figures.disagreement(told, {"write": counted, "read": 0})
    assert len(lines) == len(says) and all(line.startswith(start) for line, start in zip(lines, says, strict=True))


@pytest.mark.parametrize("reader", [figures.fio, figures.rados])
@pytest.mark.parametrize("odd", [{}, {"jobs": [{}]}, {"jobs": 7}, {"bandwidth": "x", "total_writes_made": 1}])
def test_an_answer_of_another_form_is_one_message(reader, odd):
    with pytest.raises(ProposalError, match="another form"):
        reader(odd)


def test_fios_own_error_is_told():
    printed = recorded("filestat")
    printed["jobs"][0]["error"] = 2
    with pytest.raises(ProposalError, match="fio says of its jobs: error 2"):
        figures.fio(printed)


def test_hosts_together_are_sums_weighted_means_and_the_worst():
    one = figures.Figures(10, 100, 100, 1.0, 5.0, {10**6: 100})
    other = figures.Figures(30, 300, 300, 3.0, 9.0, {3 * 10**6: 300})
    both = figures.together([{"read": one}, {"read": other}])["read"]
    assert (both.mib_s, both.iops, both.operations, both.mean_ms, both.max_ms) == (40, 400, 400, 2.5, 9.0)
    assert figures.percentiles(both.bins)["p50_ms"] == 3 and figures.percentiles({}) == {}


def test_how_far_hosts_ran_in_step():
    assert figures.overlap([(0, 10), (1, 11)]) == {"apart": 1, "overlap": 0.9}
    assert figures.overlap([(0, 10), (20, 30)])["overlap"] == 0


@pytest.mark.parametrize(
    ("repeats", "drop", "mean", "count"),
    [([5, 1, 2, 3, 100], 1, 10 / 3, 3), ([7], 1, 7, 1), ([1, 3], 1, 2, 2), ([1, 2, 6], 0, 3, 3)],
)
def test_the_highest_and_lowest_are_dropped(repeats, drop, mean, count):
    assert results.value(repeats, drop)[::2] == (pytest.approx(mean), count)


def result(run="apollo-20260101T120000", factor=1.0, repeats=1, **more):
    """A run of apollo on RBD, each figure the document's by a factor."""
    suite = suites.read("apollo")
    cells = {
        row: [{"mib_s": values[0] * factor, "iops": values[1] * factor, "mean_ms": 2 / factor, "max_ms": 9.0}] * repeats
        for row, values in suite.printed["rbd"].items()
    }
    told = {"id": run, "suite": "apollo", "size": "quick", "label": "", "targets": ["rbd"], "cells": {"rbd": cells}}
    return {**told, "notes": [], "drop": 0, **more}


def test_the_documents_value_and_the_ratio_stand_beside():
    suite = suites.read("apollo")
    plain = results.plain(suite, result(factor=0.5))
    (line,) = (line for line in plain.splitlines() if "rand read 64k" in line)
    assert "127.0 (document: 254, x 0.5)" in line and "4.00 (document: 11.8, x 0.34)" in line
    assert results.empty(suite, result()) == []
    short = result()
    del short["cells"]["rbd"]["backup 64M"]
    assert results.empty(suite, short) == ["rbd: backup 64M"]
    assert len(results.table(suite, short)) == 20


@pytest.mark.slow
def test_a_partial_run_is_called_so_wherever_it_is_shown():
    suite = suites.read("apollo")
    told = result(label="x", partial="it ended at rbd: seq write 4k: <b>no</b> answer")
    assert results.named(told) == "apollo-20260101T120000 x (partial)" and results.named(result()) == result()["id"]
    assert results.plain(suite, told).splitlines()[-1] == f"partial: {told['partial']}"
    page = report.page(suite, [told], {})
    assert "x (partial)</h2>" in page and "&lt;b&gt;no&lt;/b&gt; answer" in page
    assert compare.lacking(result(), told) == [f"{told['id']} is partial: {told['partial']}"]


def test_a_label_chooses_what_is_printed():
    suite = suites.read("mellanox")
    told = {"id": "m", "suite": "mellanox", "targets": ["rbd"], "cells": {}, "label": "10gbe"}
    (cell,) = (line.cells["iops"] for line in results.table(suite, told) if line.row == "random read 8M")
    assert cell == (None, 141, None)


@pytest.mark.parametrize(
    ("label", "says"),
    [
        ("10gbe", "links of the public network: 9470 to 9800 Mb/s (document: 9480 to 9780)"),
        ("1gbe", "links of the public network: 9470 to 9800 Mb/s"),
        ("", "links of the public network: 9470 to 9800 Mb/s"),
    ],
)
def test_what_links_carried_stands_below_the_table(label, says):
    suite = suites.read("mellanox")
    links = {"public": [9470.0, 9500.0, 9800.0], "cluster": []}
    told = {"id": "m", "targets": ["rbd"], "cells": {}, "label": label, "links": links, "notes": []}
    assert results.plain(suite, told).splitlines()[-1] == says
    assert says in report.page(suite, [told], {})


@pytest.mark.slow
def test_better_and_worse_beyond_noise():
    slower = compare.differences(result(), result("b", 0.8))
    assert len(compare.regressions(slower, 10)) == 60 and compare.regressions(slower, 30) == []
    assert compare.lines(slower)[0].startswith("worse by 25%: rbd, ") and "average ms" in compare.lines(slower)[0]
    assert compare.lines(compare.differences(result(), result("b", 1.02))) == [
        "nothing is better or worse beyond noise"
    ]
    assert "better by 100%" in "\n".join(compare.lines(compare.differences(result(), result("b", 2.0))))


def test_repeats_that_lie_apart_are_noise():
    far = result("b", 0.8, repeats=2)
    for repeats in far["cells"]["rbd"].values():
        repeats[1] = {key: value * 2 for key, value in repeats[1].items()}
    assert compare.regressions(compare.differences(result(), far), 10) == []


def test_percentiles_are_judged_where_repeats_tell_their_noise():
    for repeats, judged in ((1, False), (5, True)):
        slow = [{"mib_s": 1.0, "p99_ms": 9.0 + at / 100} for at in range(repeats)]
        before = {**result(), "cells": {"rbd": {"random read 4k": [{**each, "p99_ms": 3.0} for each in slow]}}}
        after = {**result("b"), "cells": {"rbd": {"random read 4k": slow}}}
        found = compare.regressions(compare.differences(before, after), 10)
        assert [each.column for each in found] == (["p99_ms"] if judged else [])


@pytest.mark.parametrize("more", [{"size": "paper"}, {"label": "x"}, {"suite": "moc"}, {"cells": {}}])
def test_runs_that_are_not_of_a_kind_are_not_compared(more):
    with pytest.raises(ArgumentError):
        compare.differences(result(), {**result(), **more})


def test_what_is_made_carries_the_prefix_and_is_recorded():
    suite = suites.read("apollo")
    size = suites.size(suite, "quick")
    made = places.plan(suite.targets, FACTS, ["client1", "client2"], size, 256 << 20)
    assert all(any(word.startswith(places.PREFIX) for word in words) for words in made.commands)
    pools = [words[3] for words in made.commands if words[:3] == ["osd", "pool", "create"]]
    assert pools == made.record["pools"] and len(set(pools)) == 5
    assert list(made.places) == list(suite.targets) and made.record["fs"] == places.PREFIX
    assert made.places["rbd-ec"]["images"]["client2"] == ["rbd-ec-client2-0", "rbd-ec-client2-1"]
    assert sum(words[0] == "rbd" for words in made.commands) == 8
    assert made.caps["mds"] == "allow rwp fsname=halocline-bench", "p: the folder of cephfs-ec gets its pool"
    assert made.caps["osd"].split(", ") == [f"allow rwx pool={pool}" for pool in pools]


def test_a_hosts_own_pool_moves_no_host_in_the_crush_map():
    made = places.plan(("hosts",), FACTS, ["client1"], suites.read("moc").sizes["quick"], 0)
    assert made.commands[0] == [
        "osd",
        "crush",
        "rule",
        "create-replicated",
        "halocline-bench-osdnode1",
        "osdnode1",
        "osd",
    ]
    assert not any(word in words for words in made.commands for word in ("move", "add-bucket", "set-device-class"))
    assert list(made.places) == sorted(FACTS["hosts"]) == [rule.split("-")[-1] for rule in made.record["rules"]]


@pytest.mark.parametrize(
    ("change", "generators", "says"),
    [
        ({}, [], "no load generator: give a host the role benchmark"),
        ({"hosts": {"a": 1, "b": 1}}, ["c"], "2+2 needs 4 hosts with OSDs, there are 2"),
        ({"standby_mds": 0}, ["c"], "no metadata server stands by"),
        ({"free": 1 << 30}, ["c"], "no room: it would write"),
        ({"pools": ["halocline-bench-rbd"]}, ["c"], "and no run of ours made them: halocline-bench-rbd"),
    ],
)
def test_what_stands_against_a_run(change, generators, says):
    suite = suites.read("apollo")
    facts = {**FACTS, **change}
    why = places.against(suite.targets, facts, generators, suite.sizes["quick"], 256 << 20)
    assert any(says in line for line in why), why
    assert places.against(suite.targets, FACTS, ["c"], suite.sizes["quick"], 256 << 20) == []


def test_images_of_the_documents_size_are_a_share_of_what_is_free():
    paper = suites.read("apollo").sizes["paper"]
    assert places.image(["rbd"], paper, FACTS, 2) == 10**12 // 10 // 2 >> 20 << 20
    assert places.image(["rbd"], paper, {**FACTS, "free": 10**18}, 2) == 150 << 30
    assert places.image(["rbd"], suites.read("mellanox").sizes["quick"], FACTS, 1, own=8) == 8 * 64 << 20


@pytest.mark.parametrize("targets", [("rbd",), ("rbd", "cephfs"), ("rbd", "rbd-ec", "cephfs", "cephfs-ec")])
@pytest.mark.parametrize("free", [10**12, 10**13, 10**15])
def test_a_share_leaves_room_whatever_it_is_run_on(targets, free):
    """Of benchmaster's share each of four targets has its copies: together all that is free."""
    paper, facts = suites.read("apollo").sizes["paper"], {**FACTS, "free": free}
    each = places.image(targets, paper, facts, 2)
    assert each > 0 and places.against(targets, facts, ["c", "d"], paper, each) == []


def test_rados_bench_never_fills_a_host():
    moc = suites.read("moc")
    for size in moc.sizes.values():
        made = places.plan(("hosts",), FACTS, ["a", "b"], size, 0)
        told = [loads.job(moc, size, job, made.places["osdnode1"], 0) for job in moc.jobs]
        most = sum(one["options"].get("most", 0) for one in told)
        written = most * size.repeats * 2 * FACTS["size"]  # from two load generators, with all copies
        assert 0 < written <= FACTS["host_free"]["osdnode1"] * places.SHARE
        assert ["most" in one["options"] for one in told] == [job.options["rw"] == "write" for job in moc.jobs]


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"hosts": {"a": 2, "b": 1}, "osds": 3, "host_free": {"a": 1 << 50, "b": 1 << 50}}, "one OSD on b,"),
        (
            {"host_free": {**FACTS["host_free"], "osdnode2": 1 << 31}},
            "no room: each load generator could write 341 MiB on osdnode2",
        ),
    ],
)
def test_what_stands_against_pools_of_single_hosts(change, says):
    why = places.against(("hosts",), {**FACTS, **change}, ["c"], suites.read("moc").sizes["quick"], 0)
    assert any(says in line for line in why), why


@pytest.mark.parametrize(
    ("facts", "groups", "told"),
    [
        ({"osds": 32, "size": 2, "per_osd": 500}, 4096, []),
        (
            {"osds": 32, "size": 2, "per_osd": 250, "used": 0},
            2048,
            ["halocline-bench-rbd: 128 placement groups an OSD"],
        ),
        ({"osds": 2, "size": 2, "per_osd": 1000}, 512, []),
    ],
)
def test_two_hundred_placement_groups_an_osd_where_ceph_allows_them(facts, groups, told):
    size = suites.read("infiniflash").sizes["paper"]
    made = places.plan(("rbd",), {**FACTS, **facts}, ["c"], size, 1 << 30)
    assert made.commands[0][4] == str(groups) and len(made.notes) == len(told)
    assert all(line.startswith(start) for line, start in zip(made.notes, told, strict=True))


def test_jobs_of_the_documents_size_go_over_nine_tenths_of_what_is_written():
    """benchmaster's filesize; its prefill writes images whole, and files as large as they are used."""
    apollo = suites.read("apollo")
    quick, paper = apollo.sizes["quick"], apollo.sizes["paper"]
    images, files = {"kind": "rbd"}, {"kind": "fs"}
    assert loads.job(apollo, paper, apollo.jobs[0], images, 1000 << 20)["bytes"] == 900 << 20
    assert loads.prefill(apollo, paper, images, 1000 << 20)["bytes"] == 1000 << 20
    assert loads.prefill(apollo, paper, files, 1000 << 20)["bytes"] == 900 << 20
    assert loads.job(apollo, quick, apollo.jobs[0], images, 1000 << 20)["bytes"] == 1000 << 20


def test_a_prefill_is_for_fio_alone_and_has_its_time():
    moc, apollo = suites.read("moc"), suites.read("apollo")
    place = {"kind": "pool", "pool": "halocline-bench-a", "room": 1 << 30}
    assert loads.prefill(moc, moc.sizes["quick"], place, 0) is None
    fill = loads.prefill(apollo, apollo.sizes["quick"], place, 100 << 30)
    assert loads.limit(fill) > 3600
    assert loads.limit(loads.job(apollo, apollo.sizes["quick"], apollo.jobs[0], place, 1)) == 205


def test_what_is_under_way_when_the_time_is_over_has_its_time():
    """Four blocks of 64 MiB for each of four jobs."""
    apollo = suites.read("apollo")
    backup = next(job for job in apollo.jobs if job.name == "backup 64M")
    assert loads.limit(loads.job(apollo, apollo.sizes["quick"], backup, {"kind": "rbd"}, 1)) == 205 + 512


@pytest.fixture(scope="module")
def drawn():
    """Two plots of apollo, drawn once: matplotlib takes its time."""
    suite = replace(suites.read("apollo"), plots=suites.read("apollo").plots[:2])
    told = result(notes=["<script>alert(1)</script>"], policy="<b>x</b>", config=["osd a = b"])
    return suite, told, report.files(suite, [told])


@pytest.mark.slow
def test_plots_are_drawn_as_svg_and_png(drawn):
    """matplotlib is a pin of the tests: here it is never missing."""
    suite, told, files = drawn
    assert plots.available()
    assert sorted(files) == ["1.png", "1.svg", "2.png", "2.svg", "report.html", "table.txt"]
    assert files["1.png"].startswith(b"\x89PNG") and b"in the document" in files["1.svg"]
    assert files["1.svg"] == plots.draw(replace(suite, plots=suite.plots[:1]), [told])["1.svg"]


def test_several_runs_have_a_curve_each():
    suite = suites.read("mellanox")
    told = [
        {"id": "m", "suite": "mellanox", "targets": ["rbd"], "label": label, "cells": {"rbd": {}}}
        for label in ("1gbe", "10gbe", "40gbe")
    ]
    rows, measured, printed = plots.series(suite, told, suite.plots[2])
    assert list(measured) == ["1gbe rbd", "10gbe rbd", "40gbe rbd"] and len(rows) == 6
    assert printed["40gbe rbd"] == [31, 757, 1773, 8.4, 208, 416]


def test_figure_4_shows_how_each_row_grows_with_the_network():
    suite = suites.read("mellanox")
    runs = [
        {"id": f"m{at}", "suite": "mellanox", "targets": ["rbd"], "label": label,
         "cells": {"rbd": {row: [{"mib_s": at * 10.0, "iops": 1.0}] for row in suite.rows}}}
        for at, label in enumerate(("1gbe", "10gbe", "mine"), 1)
    ]  # fmt: skip
    below, measured, printed = plots.series(suite, runs, suite.plots[0])
    assert below == ["1gbe rbd", "10gbe rbd", "mine rbd"] and len(measured) == 6
    assert measured["sequential read 8M"] == [10, 20, 30]
    assert printed["sequential read 8M"] == [115, 1130, None]
    assert plots.series(suite, runs[2:], suite.plots[0])[2] == {}, "no value of the document"
    assert plots.series(suite, [], suite.plots[0]) == ([], {}, {})


@pytest.mark.slow
def test_the_page_needs_no_other_file_and_shows_what_hosts_said_as_text(drawn):
    page = drawn[2]["report.html"].decode()
    assert "<script" not in page and "&lt;b&gt;x" in page
    assert page.count("<svg") == 2 and "254, x 1" in page
    linked = re.findall(r"""(?:src|href)=["']([^"'#][^"']*)""", page)
    assert linked == [] and "@import" not in page


def test_a_master_without_matplotlib_gets_the_page_and_is_told(monkeypatch):
    monkeypatch.setattr(plots, "available", lambda: False)
    files = report.files(suites.read("apollo"), [result()])
    assert sorted(files) == ["report.html", "table.txt"] and b"matplotlib is not installed" in files["report.html"]


def disks(*speeds):
    host = {f"/dev/{at}": {"mib_s": speed, "model": "X", "size": 10**12} for at, speed in enumerate(speeds)}
    return baseline.of_disks({"node1": host})


def test_a_slow_disk_is_named_beside_its_equals():
    assert baseline.slow(disks(200, 198, 60, 202)) == [
        "node1 /dev/2 is slow: 60.0 MiB/s, 199.0 MiB/s is usual for X of 1000 GB"
    ]
    assert baseline.slow(disks(200, 185, 195)) == [] and baseline.slow(disks(200, 185, 195), 2) != []
    assert baseline.slow(disks(200, 20)) == [], "of two nobody knows which is the slow one"
    assert baseline.lines(disks(200, 100, 300)) == ["X of 1000 GB: 3, 100.0 MiB/s to 300.0 MiB/s, median 200.0 MiB/s"]


def test_osds_of_another_class_are_no_equals():
    speeds = {"osd.0": 900.0, "osd.1": 100.0, "osd.2": 101.0, "osd.3": 50.0, "osd.4": 880.0, "osd.5": 910.0}
    classes = {osd: "ssd" if speed > 500 else "hdd" for osd, speed in speeds.items()}
    (line,) = baseline.slow(baseline.of_osds(speeds, classes))
    assert line.startswith("osd.3 is slow: 50.0 MiB/s")


def test_a_slow_link_is_the_hosts_and_not_its_peers():
    hosts = ("a", "b", "c", "d")
    rates = {f"{one} {two}": 100.0 if "d" in (one, two) else 950.0 for one in hosts for two in hosts if one != two}
    assert baseline.slow(baseline.of_links({"public": {"rates": rates}})) == [
        "d's link is slow: 100.0 Mb/s, 950.0 Mb/s is usual for the public network"
    ]


def test_parts_that_nobody_measures():
    assert baseline.parts("osds, links") == ("osds", "links")
    with pytest.raises(ArgumentError, match="did you mean 'disks'"):
        baseline.parts("disk")
