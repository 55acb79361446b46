"""A broken policy.cfg stops configure before anything changes, with line and fix; the old pillar is still served."""

from collections.abc import Iterator

import pytest
from product import PILLAR, STORAGE, Product
from saltcli import salt

POLICY = f"{PILLAR}/proposals/policy.cfg"
TWIN = f"{PILLAR}/proposals/profile-twin"
# What is wrong: how policy.cfg becomes so (sed, or a line more), and what is said.
BROKEN = {
    "typo": (r"s/role-mon/role-mno/", ["policy.cfg line ", "role-mno/cluster/node*.sls", "role-mon"]),
    "slice": (r"s/\(role-mgr.*\)/\1 slice=[:x]/", ["policy.cfg line ", "slice=[:x]"]),
    "no monitors": (r"/role-mon/d", ["no minion has the role mon: add a line to policy.cfg"]),
    "one disk in two profiles": (
        r"$ a profile-twin/stack/default/ceph/minions/node1.yml",
        ["node1: ", "profile-tiny and in profile-twin", "let policy.cfg select one of them"],
    ),
}


@pytest.fixture
def policy(cluster: Product) -> Iterator[Product]:
    """The cluster, whose policy.cfg is put back, and a profile that names the same disks as another."""
    folder = "stack/default/ceph/minions"
    cluster.run(
        "saltmaster", f"mkdir -p {TWIN}/{folder} && cp {PILLAR}/proposals/profile-tiny/{folder}/* {TWIN}/{folder}"
    )
    cluster.run("saltmaster", f"cp -p {POLICY} /tmp/policy.cfg")
    yield cluster
    cluster.run("saltmaster", f"cp -p /tmp/policy.cfg {POLICY}; rm -r {TWIN}")


# One here, which needs all that configure reads; the others' texts stand in tests/unit: test_policy, test_generation.
@pytest.mark.parametrize(
    "what",
    [what if what == "one disk in two profiles" else pytest.param(what, marks=pytest.mark.big) for what in BROKEN],
)
def test_a_broken_policy_changes_nothing(policy: Product, what: str) -> None:
    edit, says = BROKEN[what]
    policy.run("saltmaster", f"cp -p /tmp/policy.cfg {POLICY}; sed -i '{edit}' {POLICY}")
    before = policy.written()
    assert not served(policy, "0123456789abcdef")  # the test can tell another one
    done = policy.run("saltmaster", "salt-run stage.run configure", check=False)
    assert (done.code, done.err) == (2, "")
    for words in says:
        assert words in done.out
    assert policy.written() == before
    assert served(policy, policy.run("saltmaster", f"readlink {PILLAR}/current").out.strip().rpartition("/")[2])


def served(cluster: Product, generation: str) -> bool:
    """Whether every node is told this generation; its own state says so, as Salt masks printed pillar."""
    words = ("state.single", "generation.equal", "told", f"expected={generation}")
    answers = salt(cluster.session, ",".join(STORAGE), "-L", *words, check=False).data
    assert sorted(answers) == list(STORAGE)
    return all(state["result"] for states in answers.values() for state in states.values())
