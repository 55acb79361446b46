"""The grain by which a job sees that the files that other grains come from have changed since Salt read them."""

import runpy
from pathlib import Path

GRAIN = Path(__file__).parents[2] / "salt/_grains/grain_sources.py"


def test_each_file_that_is_edited_added_or_removed_makes_it_another(tmp_path: Path) -> None:
    grain = runpy.run_path(str(GRAIN))["grain_sources"]
    sources = [tmp_path / "os-release", tmp_path / "grains"]
    grain.__globals__["SOURCES"] = sources
    sources[0].write_text("VERSION_ID=12\n")
    seen = [grain()["grain_sources"]]
    for change in (
        lambda: sources[0].write_text("VERSION_ID=13\n"),
        lambda: sources[1].write_text("room: a\n"),
        lambda: sources[1].write_text("room: b\n"),
        sources[1].unlink,
        lambda: sources[0].rename(sources[1]),
    ):
        change()
        seen.append(grain()["grain_sources"])
    assert seen[1] == seen[4], "what is as it was has the hash that it had"
    assert len({*seen[:4], seen[5]}) == 5
