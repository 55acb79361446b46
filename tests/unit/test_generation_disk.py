"""A generation's files are as it says, or none of it gets its name."""

import resource
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace

import pytest

from proposals.files import atomic
from proposals.files.site import Site
from proposals.pillar import generation_disk
from proposals.text.errors import StoreError

FILES = {"cluster/a.sls": "a: 1\n" * 2000, "stack/default/ceph/minions/a.yml": "b: 1\n"}


@contextmanager
def room(size: int) -> Iterator[None]:
    """Files take this many bytes each: a write that does not fit is cut first, as on a full disk."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


def test_a_disk_that_is_full_cuts_no_file(tmp_path: Path) -> None:
    with room(4096), pytest.raises(StoreError, match=r"cannot write .*new"):
        atomic.write_tree(tmp_path / "new", FILES)
    assert list(tmp_path.iterdir()) == []


def test_what_is_not_as_a_generation_says_is_written_again(tmp_path: Path) -> None:
    site = Site(tmp_path / "site", tmp_path / "shipped")
    generation = SimpleNamespace(name="01", files=FILES)
    folder = generation_disk.prepare(site, generation)
    assert generation_disk.mend(folder, generation) == []
    first, second = (folder / name for name in FILES)
    first.write_text("a: 1\n")
    second.unlink()
    assert generation_disk.mend(folder, generation) == list(FILES)
    assert [first.read_text(), second.read_text()] == list(FILES.values())
