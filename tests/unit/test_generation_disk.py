"""A generation's files are as it says, or none of it gets its name; secrets are told as they are."""

import resource
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace

import jinja2
import pytest
import yaml
from hypothesis import example, given
from hypothesis import strategies as st

from proposals.files import atomic
from proposals.files.site import Site
from proposals.pillar import generation, generation_disk
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


@pytest.mark.slow
@given(st.text(alphabet="{%#}x \\\"':\n\x07\x85\u00e9\U0001f600", max_size=2000))
@example("k{#9xPq-secret!")
@example("{{ __opts__['saltenv'] }}")
def test_any_password_is_rendered_and_read_as_it_is(password: str) -> None:
    content = {"ceph_secrets": {"keystone": password, password: "x"}, "ceph_earlier_keys": {"client.a": []}}
    rendered = jinja2.Environment(extensions=["jinja2.ext.do"]).from_string(generation.dump_secrets(content)).render()
    assert yaml.load(rendered, yaml.CSafeLoader) == content


def giving(*uses: str) -> SimpleNamespace:
    """A generation that tells one minion the password for these uses."""
    asked = SimpleNamespace(whole=SimpleNamespace(passwords={"rgw_keystone"}))
    told = {"secrets": lambda minion, keys: dict.fromkeys(uses, keys["rgw_keystone"])}
    return SimpleNamespace(roles={"node1": []} if uses else {}, entities={}, services=asked, cipher="aes", **told)


def test_a_given_file_that_salt_could_not_read_changes_no_hosts_pillar(tmp_path: Path) -> None:
    """Salt reads YAML by libyaml, which takes no lone surrogate: the host would have no pillar at all."""
    site = Site(tmp_path / "site", tmp_path / "shipped")
    for name, content in (("rgw_keystone", b"good\n"), ("unused.der", b"\x30\x82")):
        atomic.write(site.given / name, "")
        (site.given / name).write_bytes(content)
    assert generation_disk.tell(site, giving("a")) == ["node1.yml"]
    (site.given / "rgw_keystone").write_bytes("g\u00e9".encode("latin-1"))
    before = (site.secrets / "node1.yml").read_bytes()
    with pytest.raises(StoreError, match=r"given/rgw_keystone: UTF-8 text was expected.*found.*iconv"):
        generation_disk.tell(site, giving("a"))
    assert (site.secrets / "node1.yml").read_bytes() == before


def test_what_is_served_is_known_until_another_generation_is(tmp_path: Path) -> None:
    site = Site(tmp_path / "site", tmp_path / "shipped")
    file, password = site.secrets / "node1.yml", "k{#9xPq"
    atomic.write(site.given / "rgw_keystone", f"{password}\n")

    def known() -> dict[str, str]:
        assert "{#" not in file.read_text() and file.stat().st_mode & 0o777 == 0o600
        return yaml.load(file.read_text(), yaml.CSafeLoader)["ceph_secrets"]

    assert generation_disk.tell(site, giving("a", "b")) == ["node1.yml"]
    assert generation_disk.tell(site, giving("b", "c")) == ["node1.yml"]
    assert known() == dict.fromkeys("abc", password)
    assert generation_disk.forget(site, giving("b", "c")) == ["node1.yml"]
    assert known() == dict.fromkeys("bc", password)
    assert generation_disk.tell(site, giving("b")) == []
    assert generation_disk.forget(site, giving("b"), ["node2"]) == [] and known().keys() == {"b", "c"}
    file.write_text("a: [")
    assert generation_disk.tell(site, giving("b")) == ["node1.yml"] and known() == {"b": password}
    assert generation_disk.forget(site, giving()) == ["node1.yml"] and not file.exists()
