"""A pool whose name begins with a dot: Ceph 16 makes it, newer ones where it is asked for twice; ``ceph`` is played."""

import pytest

CEPH = """#!/bin/sh
shift 2
case "$*" in
    "osd pool ls --format json") cat {0}/pools ;;
    *really-mean-it) [ {1} != old ] || exit 22; echo '[".nfs"]' >{0}/pools ;;
    "osd pool create .nfs"*) [ {1} = new ] || echo '[".nfs"]' >{0}/pools ;;
esac
echo "$*" >>{0}/typed
"""
CREATE = ["osd", "pool", "create", ".nfs", "1", "1", "replicated", "replicated_rule", "--autoscale-mode=on"]


@pytest.mark.parametrize(("release", "typed"), [("old", 1), ("new", 2)])
def test_it_is_made_by_every_release(release, typed, modules, tmp_path, monkeypatch):
    (tmp_path / "pools").write_text("[]")
    (tmp_path / "ceph").write_text(CEPH.format(tmp_path, release))
    (tmp_path / "ceph").chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    modules["cluster_crush.apply"]([CREATE, ["osd", "pool", "set", ".nfs", "size", "3"]])
    assert (tmp_path / "pools").read_text().strip() == '[".nfs"]'
    told = [line for line in (tmp_path / "typed").read_text().splitlines() if "create" in line]
    assert len(told) == typed and told[0].endswith("--autoscale-mode=on")
