"""Fragments that no file holds: lines of policy.cfg choose them as they do files."""

from pathlib import Path

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from proposals.files import tree
from proposals.policy import fragments, policy, policy_draft, store, unwritten
from proposals.text.errors import ProposalError

FSID = "11111111-1111-4111-8111-111111111111"
HOSTS = [*(f"mon{number}" for number in (1, 2, 3)), *(f"osd{number}" for number in range(1, 10)), "salt", "host-1.lab"]
POLICY = """\
cluster-ceph/cluster/*.sls
cluster-unassigned/cluster/osd9.sls
role-mon/cluster/mon*.sls slice=[:2]
role-mgr/cluster/mon[12].sls re=.*1.*
role-*/cluster/salt.sls
role-mds/c*/h*.sls
"""


@pytest.fixture
def few(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same hosts, a file each."""
    root = tmp_path_factory.mktemp("few")
    store.fragments(root, HOSTS, FSID)
    return root


@pytest.fixture
def many(few: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of proposals whose hosts are named."""
    monkeypatch.setattr(unwritten, "MANY", 3)
    store.fragments(tmp_path, HOSTS, FSID)
    return tmp_path


@pytest.mark.slow
def test_no_file_of_a_host_is_written_and_all_lines_choose_the_same(many: Path, few: Path) -> None:
    files = sorted(str(path.relative_to(many)) for path in many.rglob("*") if path.is_file())
    assert files == ["config/stack/default/ceph/cluster.yml", "config/stack/default/global.yml", unwritten.NAME]
    assert policy.resolve(many, POLICY) == policy.resolve(few, POLICY)
    assert policy_draft._hosts(many) == policy_draft._hosts(few) == sorted(HOSTS)
    assert unwritten.folders(many) == tree.folders(few)


# policy.cfg refuses a pattern from the root before it is matched.
PATTERNS = st.text(alphabet="*?[]!-/.abceghilmnorstuv123", max_size=40).filter(lambda typed: not typed.startswith("/"))
LIKELY = st.sampled_from(["role-*/*/*", "*/cluster/*", "role-mon/*", "*", "**/*/*", "role-mon/cluster/[!m]*.sls"])


@pytest.mark.slow
@given(PATTERNS | LIKELY)
def test_any_pattern_matches_what_it_would_of_files(pattern: str) -> None:
    hosts = ["a", "b1", "mon-2", "x.lab"]
    folders = ["cluster-ceph", "role-mon", "role-rgw-1"]
    names = {f"{folder}/cluster/{host}.sls" for folder in folders for host in hosts}
    matched = unwritten.named_matching(unwritten.Named(tuple(folders), tuple(hosts)), pattern)
    assert set(matched) <= names
    assert set(matched) == set(glob_of(names, pattern))


def glob_of(names: set[str], pattern: str) -> list[str]:
    """What Python's own glob finds of such files."""
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        for name in names:
            path = Path(folder, name)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.touch()
        return [found for found in tree.matching(folder, pattern) if Path(folder, found).is_file()]


def test_a_file_that_lies_there_counts_and_stays(many: Path) -> None:
    own = many / "role-mon/cluster/mon1.sls"
    own.parent.mkdir(parents=True)
    own.write_text("roles: [mon, mine]\n")
    store.fragments(many, HOSTS, FSID)
    assert policy.resolve(many, "role-mon/cluster/mon*.sls").contents["cluster/mon1.sls"] == {
        "role-mon/cluster/mon1.sls": {"roles": ["mon", "mine"]}
    }
    assert own.read_text() == "roles: [mon, mine]\n"


@pytest.mark.slow
def test_files_that_say_no_more_go_once_their_hosts_are_named(few: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = policy.resolve(few, POLICY)
    (few / "role-mon/cluster/mon2.sls").write_text("roles: [mon]  # mine\n")
    (few / "role-mon/cluster/other.sls").write_text("roles:\n- mon\n")
    (few / "role-mon/cluster/mon1.sls").write_text("")  # as a power failure leaves it
    monkeypatch.setattr(unwritten, "MANY", 3)
    store.fragments(few, HOSTS, FSID)
    left = sorted(path.name for folder in few.glob("role-*") for path in folder.rglob("*.sls"))
    assert left == ["mon2.sls", "other.sls"]
    assert policy.resolve(few, POLICY).contents == before.contents
    assert len(policy.resolve(few, "role-mon/cluster/*.sls").contents) == len(HOSTS) + 1


@pytest.mark.slow
def test_killed_between_naming_and_removing_nothing_is_lost(few: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = policy.resolve(few, POLICY)
    monkeypatch.setattr(unwritten, "MANY", 3)

    def killed(_: Path) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(unwritten.atomic, "remove", killed)
        with pytest.raises(KeyboardInterrupt):
            store.fragments(few, HOSTS, FSID)
    assert policy.resolve(few, POLICY) == before
    store.fragments(few, HOSTS, FSID)
    assert policy.resolve(few, POLICY) == before and not list(few.glob("role-*/cluster/*.sls"))


def test_hosts_and_roles_are_added_and_none_is_forgotten(many: Path) -> None:
    store.fragments(many, ["new"], FSID, roles=["silver"])
    named = unwritten.read(many)
    assert named.hosts == tuple(sorted([*HOSTS, "new"])) and "role-silver" in named.folders
    assert yaml.load((many / unwritten.NAME).read_text(), yaml.CSafeLoader)["hosts"] == list(named.hosts)
    written = (many / unwritten.NAME).stat()
    store.fragments(many, ["new"], FSID)
    assert (many / unwritten.NAME).stat() == written


BROKEN = {
    "[]": "a list each",
    "{folders: [role-mon]}": "a list each",
    "{folders: [role-mon], hosts: 7}": "a list each",
    "{folders: [profile-x], hosts: [a]}": "'profile-x' is none",
    "{folders: ['role-'], hosts: [a]}": "'role-' is none",
    "{folders: [role-mon], hosts: [1]}": "'1' is none",
    "{folders: [role-mon], hosts: ['../x']}": "is none",
    "{folders: [role-../../x], hosts: [a]}": "is none",
    "{": "",
}


@pytest.mark.parametrize("text", BROKEN)
def test_a_broken_file_is_one_message(many: Path, text: str) -> None:
    (many / unwritten.NAME).write_text(text)
    with pytest.raises(ProposalError) as caught:
        policy.resolve(many, POLICY)
    assert unwritten.NAME in str(caught.value) and BROKEN[text] in str(caught.value)
    with pytest.raises(ProposalError):
        store.fragments(many, HOSTS, FSID)
    assert (many / unwritten.NAME).read_text() == text


def test_what_is_named_says_what_the_files_would() -> None:
    for path, text in fragments.assignments(["a"]).items():
        assert unwritten.content(path.partition("/")[0]) == text


def test_what_is_named_is_read_once_a_line_and_not_for_each_host(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The names of ten thousand take 160 KB, which were read and searched for each of them and each of their roles."""
    hosts = [f"osd{number:04}" for number in range(1000)]
    store.fragments(tmp_path, hosts, FSID)
    reads: list[str] = []
    read = unwritten.read
    monkeypatch.setattr(unwritten, "read", lambda root: reads.append(root) or read(root))
    resolved = policy.resolve(tmp_path, "cluster-ceph/cluster/*.sls\nrole-mgr/cluster/*.sls\n")
    assert len(resolved.contents) == 1000 and len(reads) == 3


def test_a_line_that_names_one_host_is_not_compared_with_all(monkeypatch: pytest.MonkeyPatch) -> None:
    named = unwritten.Named(("role-mon",), tuple(f"osd{number:04}" for number in range(1000)))
    compared: list[str] = []
    match = unwritten.fnmatchcase
    monkeypatch.setattr(unwritten, "fnmatchcase", lambda *words: compared.append(words[0]) or match(*words))
    assert unwritten.named_matching(named, "role-mon/cluster/osd0007.sls") == ["role-mon/cluster/osd0007.sls"]
    assert unwritten.named_matching(named, "role-mon/cluster/osd7.sls") == []
    assert unwritten.named_matching(named, "profile-default/cluster/*.sls") == [] and len(compared) == 6
