"""policy.cfg: the guide's as it stands, filters, hostile ones, and what a minion is told in the end."""

import time

import pytest
from planning import GUIDE, apollo

from proposals.disks import arguments, plan
from proposals.policy import merging, policy, store
from proposals.text.errors import PolicyError

GUIDES = """cluster-ceph/cluster/*.sls
role-master/cluster/salt*.sls
role-admin/cluster/salt*.sls
role-mon/cluster/mon*.sls
role-mgr/cluster/mon*.sls
role-mds/cluster/mon*.sls
role-openattic/cluster/salt*.sls
config/stack/default/global.yml
config/stack/default/ceph/cluster.yml
profile-apollo/cluster/*.sls
profile-apollo/stack/default/ceph/minions/*.yml
"""


@pytest.fixture(scope="module")
def root(tmp_path_factory):
    folder = tmp_path_factory.mktemp("policy") / "proposals"
    store.populate(folder, plan.peek(apollo(), arguments.parse(GUIDE)))
    return folder


def resolve(root, text):
    (root / "policy.cfg").write_bytes(text if isinstance(text, bytes) else text.encode())
    return policy.resolve(root)


@pytest.mark.slow
def test_the_guides_policy_resolves_as_it_stands(root):
    resolution = resolve(root, GUIDES)
    assert [line.matches and len(line.matches) for line in resolution.lines] == [8, 1, 1, 3, 3, 3, 1, 1, 1, 4, 4]
    assert merging.minion(resolution.contents, "monnode1") == {"cluster": "ceph", "roles": ["mon", "mgr", "mds"]}
    minion = merging.minion(resolution.contents, "osdnode3")
    assert minion["roles"] == ["storage"]
    assert len(minion["ceph"]["storage"]["osds"]) == 54
    assert len(minion["ceph"]["storage"]["disks"]) == 60
    assert merging.minion(resolution.contents, "unknown") == {}


def test_the_json_form(root):
    answer = resolve(
        root, "cluster-ceph/cluster/osdnode1.sls\n\nprofile-apollo/cluster/osdnode1.sls # twice\n"
    ).as_dict()
    assert answer["targets"] == {
        "cluster/osdnode1.sls": ["cluster-ceph/cluster/osdnode1.sls", "profile-apollo/cluster/osdnode1.sls"]
    }
    assert answer["lines"][1] == {"line": 3, "pattern": "profile-apollo/cluster/osdnode1.sls", "matches": 1}


LINES = [
    ("role-mon/cluster/*.sls slice=[:3]", ["monnode1", "monnode2", "monnode3"]),
    ("role-mon/cluster/*.sls\tslice=[-2:]", ["osdnode4", "saltmaster"]),
    ("role-mon/cluster/*.sls slice=[::4]", ["monnode1", "osdnode2"]),
    ("role-mon/cluster/*.sls slice=[::-1]   slice=[:1]", ["saltmaster"]),
    ("role-mon/cluster/*.sls re=node[13]", ["monnode1", "monnode3", "osdnode1", "osdnode3"]),
    ("role-mon/cluster/*.sls re=/(osd)?node.*[2-4]\\.sls", ["osdnode2", "osdnode3", "osdnode4"]),
    ("role-mon/cluster/*.sls re=[[s]alt", ["saltmaster"]),
    ("role-mon/cluster/*.sls re=.*osd.*[^4]\\.sls$ slice=[1:]", ["osdnode2", "osdnode3"]),
    ("role-mon/cluster/[ms]*.sls # comment slice=[0:1]", ["monnode1", "monnode2", "monnode3", "saltmaster"]),
    ("  role-mon/cluster/mon?ode1.sls  ", ["monnode1"]),
]


@pytest.mark.parametrize(("line", "hosts"), LINES)
def test_filters(root, line, hosts):
    found = resolve(root, line)
    assert [path.rpartition("/")[2].removesuffix(".sls") for path in found.lines[0].matches] == hosts


HOSTILE = [
    (b"role-mon/cluster/*.sls slice=[:]+[__import__('os')]", "slice=.* is not understood"),
    (b"role-mon/cluster/*.sls slice=.__class__", "slice=.* is not understood"),
    (b"role-mon/cluster/*.sls slice=[0]", "slice=.* is not understood"),
    (b"role-mon/cluster/*.sls slice=[::0]", "step of zero"),
    (b"../../etc/shadow", "'..'"),
    (b"role-mon/../../x", "'..'"),
    (b"/etc/shadow", "begins with '/'"),
    (b"x" * 10_000_000, "10000000 characters"),
    (b"role-mon\x00/cluster/*.sls", "control character at column 9"),
    (b"role-mon/\xff\xfe/*.sls", "bytes that are not UTF-8 at column 10"),
    (b"*" * 4000, "matches no file"),
    (b"*/*/*/*/*/*/*/*/*/*/*/*/*a*a*a*a*b", "matches no file"),
    (b"role-mon/cluster/*.sls re=(?:[a-z]|[a-z./-])+[0-9]{3}", "takes longer than 1 s for 8 files"),
    (b"role-mon/cluster/*.sls re=^(?:[^Q]|.[a-z]|.)*[A-Z]$", "takes longer than 1 s for 8 files"),
    (b"role-mon/cluster/*.sls re=" + b".?" * 60 + b"Q", "its filters leave none"),
    (b"role-mon/cluster/*.sls re=" + b".{0,25}" * 20 + b"Q", "its filters leave none"),
    (b"role-mon//cluster/mon1.sls", "write 'role-mon/cluster/mon1.sls'"),
    (b"./role-mon/cluster/*.sls", "write 'role-mon/cluster/\\*.sls'"),
    (b"role-mon/./cluster/*.sls", "write 'role-mon/cluster/\\*.sls'"),
    (b"role-mon", "a line names files, such as 'role-mon/\\*/\\*'"),
    (b"etc", "folders there: "),
    (b"role-mon/cluster/*.sls re=[", "not a regular expression"),
    (b"role-mon/cluster/*.sls re=" + b"a" * 201, "201 characters"),
    (b"role-mon/cluster/*.sls slcie=[:1]", "did you mean 'slice'"),
    (b"role-mon/cluster/*.sls slice=[9:]", "its filters leave none"),
    (b"role-mno/cluster/*.sls", "did you mean 'role-mon/cluster/\\*.sls'"),
    (b"role-mon/cluster/nod*.sls", "role-mon/cluster holds monnode1.sls"),
    (b"profile-apolo/cluster/*.sls", "did you mean 'profile-apollo"),
]


@pytest.mark.slow
@pytest.mark.parametrize(("text", "message"), HOSTILE, ids=[text[:40] for text, _ in HOSTILE])
def test_hostile_and_wrong_lines_give_one_message_soon(root, text, message):
    start = time.process_time()
    with pytest.raises(PolicyError, match=message) as caught:
        resolve(root, b"# a comment\n" + text)
    assert "policy.cfg line 2" in str(caught.value)
    assert len(str(caught.value)) < 600
    assert time.process_time() - start < 5, "a guard against hours, not a benchmark"


@pytest.mark.parametrize("wrong", ["etc/passwd.sls", "role-mon/cluster/*.sls slcie=[:1]"])
def test_wrong_lines_are_told_at_once_and_many_are_cut(root, wrong):
    def said(count):
        with pytest.raises(PolicyError) as caught:
            resolve(root, f"{wrong}\nrole-mon/cluster/*.sls\n" * count)
        return str(caught.value).splitlines()

    assert [line.partition(":")[0] for line in said(2)] == ["policy.cfg line 1", "policy.cfg line 3"]
    assert len(said(99)) == 7 and said(99)[-1] == "what is behind these lines was not read"


def test_a_selected_file_that_is_broken_is_named(root):
    (root / "config/stack/default/site.yml").write_text("a: [1\nb: 2\n")
    with pytest.raises(PolicyError, match="line 1: .*site.yml line 2 is not YAML"):
        resolve(root, "config/stack/default/site.yml")
    (root / "config/stack/default/site.yml").write_text("- a\n")
    with pytest.raises(PolicyError, match="not a mapping"):
        resolve(root, "config/stack/default/site.yml")
    (root / "config/stack/default/site.yml").write_text("a: !!python/object/apply:os.system [id]\n")
    with pytest.raises(PolicyError, match="not YAML"):
        resolve(root, "config/stack/default/site.yml")


ROLES = [
    ("roles: storage", "roles is 'storage': expected a list such as [storage]"),
    ("roles: mon", "roles is 'mon': expected a list such as [mon]"),
    ("roles: {mon: true}", ": expected a list such as [storage]"),
    ("roles:", "roles is empty: expected a list such as [storage]"),
    ("roles: [mon, 1]", "roles is '['mon', 1]': expected a list such as [storage]"),
    ("roles: [mon, {__: remove}]", "expected a list such as [storage]"),
]


@pytest.mark.parametrize(("text", "message"), ROLES)
def test_roles_that_are_no_list_are_refused(root, text, message):
    """Merged, they would take the roles away that other files give this host."""
    (root / "profile-apollo/cluster/odd.sls").write_text(f"{text}\n")
    with pytest.raises(PolicyError) as caught:
        resolve(root, "role-mon/cluster/*.sls\nprofile-apollo/cluster/odd.sls\n")
    assert message in str(caught.value) and "line 2: profile-apollo/cluster/odd.sls: " in str(caught.value)


@pytest.mark.parametrize("text", ["roles: []", "roles: [{__: remove}, mon]", "{__: remove, roles: }", "cluster: ceph"])
def test_lists_of_roles_and_strategies_are_read(root, text):
    (root / "profile-apollo/cluster/odd.sls").write_text(f"{text}\n")
    found = resolve(root, "profile-apollo/cluster/odd.sls").contents["cluster/odd.sls"]
    assert isinstance(merging.merge(found.values()), dict)


def test_an_empty_file_is_skipped_with_a_warning(root):
    (root / "config/stack/default/site.yml").write_text("")
    found = resolve(root, "config/stack/default/site.yml")
    assert found.targets == {}
    assert "is empty and skipped" in found.warnings[0]
    for name in ("a", "b"):
        (root / f"config/stack/default/{name}.yml").write_text("\n")
    (told,) = resolve(root, "config/stack/default/[ab].yml").warnings
    assert told.endswith("config/stack/default/a.yml, config/stack/default/b.yml are empty and skipped")


def test_no_policy_says_how_to_get_one(tmp_path):
    with pytest.raises(PolicyError, match="populate writes a proposed one"):
        policy.resolve(tmp_path)


MERGES = [
    ([{"a": 1}, {"a": 2}], {"a": 2}),
    ([{"a": {"b": 1}}, {"a": {"c": 2}}], {"a": {"b": 1, "c": 2}}),
    ([{"r": ["x", "y"]}, {"r": ["y", "z"]}], {"r": ["x", "y", "z"]}),
    ([{"a": {"b": 1}}, {"a": {"__": "overwrite", "c": 2}}], {"a": {"c": 2}}),
    ([{"a": {"b": 1, "c": 2}}, {"a": {"__": "remove", "b": None}}], {"a": {"c": 2}}),
    ([{"a": {"b": 1}}, {"a": {"__": "merge-first", "b": 2, "c": 3}}], {"a": {"b": 1, "c": 3}}),
    ([{"a": {"b": 1}}, {"a": {"__": "merge-last", "b": 2}}], {"a": {"b": 2}}),
    ([{"r": ["x"]}, {"r": [{"__": "overwrite"}, "y"]}], {"r": ["y"]}),
    ([{"r": ["x", "y"]}, {"r": [{"__": "remove"}, "x"]}], {"r": ["y"]}),
    ([{"r": ["x"]}, {"r": [{"__": "merge-first"}, "y"]}], {"r": ["y", "x"]}),
    ([{"a": [1]}, {"a": {"b": 1}}], {"a": {"b": 1}}),
    ([{}, {"a": {"__": "overwrite", "b": 1}}], {"a": {"b": 1}}),
]


@pytest.mark.parametrize(("documents", "merged"), MERGES)
def test_merge(documents, merged):
    assert merging.merge(documents) == merged


def test_an_unknown_strategy_is_refused():
    with pytest.raises(PolicyError, match="known are merge-last"):
        merging.merge([{"a": {}}, {"a": {"__": "explode"}}])
