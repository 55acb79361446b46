"""Every SLS compiles for every OS family, none thinks, and each identifier spells the path of its file."""

import re
from pathlib import Path

import pytest

from proposals.stages.orchestrations import CHECKS
from proposals.validation.moved import MOVED

CHECKOUT = Path(__file__).parent.parent.parent
FAMILIES = ("Debian", "Suse", "RedHat")
SLS = sorted(
    ".".join(path.relative_to(CHECKOUT / "salt").with_suffix("").parts).removesuffix(".init")
    for path in (CHECKOUT / "salt" / "ceph").rglob("*.sls")
)
AT_ONCE = "ceph.stage.all"
STAGES = [name for name in SLS if name.startswith("ceph.stage.") and not name[-1].isdigit() and name != AT_ONCE]
THINKS = re.compile(
    r"\{%-? *(?:if|set|do|macro|import|from|call)\b|salt\[|salt\.[a-z_]+\.[a-z_]+\(|__salt__|split\("
    r"|\{\{[^}]* if |\{\{[^}]* \+ |\{%-? *for [^%]* if "
)
TEMPLATES = [
    path for root in ("salt", "pillar") for end in ("sls", "j2", "cfg") for path in (CHECKOUT / root).rglob(f"*.{end}")
]
# Salt's stack makes paths of what it lists and globs them, and has no other place where an id can be made harmless.
NEEDED = {"pillar/ceph/stack.cfg": ["{%- set"]}
SYNC = {"minions.sync"}


@pytest.mark.parametrize("sls", SLS)
@pytest.mark.parametrize("family", FAMILIES)
def test_sls_compiles_and_its_identifiers_spell_its_path(show_sls, sls, family):
    low = show_sls(sls, family)
    assert isinstance(low, list) and all(isinstance(chunk, dict) for chunk in low), low
    assert low
    if not sls[-1].isdigit():  # a link to the stage of a name
        assert [chunk for chunk in low if not chunk["__id__"].startswith(chunk["__sls__"].replace(".", "-"))] == []


EMPTIED = {
    "ceph.cluster.central-config": ("ceph_config", "options", {}),
    "ceph.stage.prep": ("time_init", "sls", ["ceph.host.repo", "ceph.host.packages", "ceph.host.time.chrony"]),
}


@pytest.mark.slow
@pytest.mark.parametrize("sls", EMPTIED)
def test_a_setting_with_nothing_behind_it_is_as_if_it_were_not_there(show_sls, sls):
    key, argument, value = EMPTIED[sls]
    assert value in [chunk.get(argument) for chunk in show_sls(sls, emptied=(key,))]


@pytest.mark.slow
def test_no_package_sources_are_none(show_sls):
    assert show_sls("ceph.host.repo") and show_sls("ceph.host.repo", emptied=("ceph_repos",)) == []


@pytest.mark.slow
def test_all_parts_of_services_compile_together(show_sls, minion):
    """As one look at a host that has them all applies them."""
    parts = [sls for sls in SLS if sls.startswith(("ceph.service.", "ceph.cluster.keys"))]
    with minion.state_tree.base.temp_file("together.sls", f"include: {parts}\n"):
        low = show_sls("together")
    assert all(isinstance(chunk, dict) for chunk in low), low
    assert {"ceph.service.mds", "ceph.service.rgw", "ceph.service.prometheus"} <= {chunk["__sls__"] for chunk in low}


@pytest.mark.parametrize("sls", [sls for sls in SLS if sls.startswith("ceph.service.")])
def test_what_another_state_may_just_have_started_is_not_reloaded(show_sls, sls):
    """Salt reloads nothing that the same state started; a daemon that is starting may end at the signal."""
    started = set()
    for chunk in (chunk for chunk in show_sls(sls) if chunk["fun"] == "running"):
        assert not (chunk.get("reload") and chunk["name"] in started), chunk["__id__"]
        started.add(chunk["name"])


def test_the_family_chooses_the_packages(show_sls):
    told = {family: next(iter(show_sls("ceph.host.packages", family)))["pkgs"] for family in FAMILIES}
    assert "gdisk" in told["Debian"]
    assert "gptfdisk" in told["Suse"]
    assert "gdisk" in told["RedHat"]
    assert [family for family in FAMILIES if not {"logrotate", "smartmontools"} <= set(told[family])] == []


@pytest.mark.slow
@pytest.mark.parametrize("sls", ["ceph.service.mds", "ceph.service.rgw", "ceph.service.rbd-mirror"])
def test_a_daemons_host_posts_crashes_where_the_site_says_so(show_sls, sls):
    posting = [{chunk["__sls__"] for chunk in show_sls(sls, crash=crash)} for crash in (("ceph.cluster.crash",), ())]
    assert posting[0] - posting[1] == {"ceph.cluster.crash"} and sls in posting[1]


def test_no_template_thinks():
    planted = ("{% if pillar.x %}", "{%- set x = 1 %}", "{{ salt['cmd.run']('id') }}", "{{ sls.split('.') }}")
    for line in (*planted, "{{ 'a' if pillar.x else 'b' }}", "{{ (a + b) | join(' ') }}", "{% for a in b if a %}"):
        assert THINKS.search(line), line
    found = {str(path.relative_to(CHECKOUT)): THINKS.findall(path.read_text()) for path in TEMPLATES}
    assert {path.rpartition(".")[2] for path in found} == {"sls", "j2", "cfg"}
    assert {path: hits for path, hits in found.items() if hits} == NEEDED


def test_no_state_has_a_condition_for_which_salt_loads_each_of_its_modules():
    """It looks whether one has conditions of its own: 0.5 s of a processor (``_states/host_ceph_conf``)."""
    condition = re.compile(r"^ +- (?:unless|onlyif|creates):", re.MULTILINE)
    assert condition.search("file.managed:\n    - unless:\n      - fun: test.true\n")
    assert [path for path in TEMPLATES if condition.search(path.read_text())] == []


@pytest.mark.parametrize("stage", STAGES)
def test_every_step_fails_hard(show_sls, stage):
    low = show_sls(stage)
    assert [chunk["__id__"] for chunk in low if chunk.get("failhard") is not True] == []


@pytest.mark.parametrize("stage", STAGES)
def test_every_stage_changes_the_hosts_that_are_named_and_tells_at_its_end_what_it_did(show_sls, stage):
    """``stage.run STAGE only=…`` gives the pillar's key, which plain ``state.orch`` is given too."""
    first, *rest, last = show_sls(stage)
    assert (first["fun"], first["name"], first["only"]) == ("begin", "stage.begin", "node[1-4]*")
    assert (last["fun"], last["name"]) == ("end", "targets.left")
    assert [chunk["__id__"] for chunk in rest if chunk.get("only", first["only"]) != first["only"]] == []
    assert {chunk["state"] for chunk in rest} == {"step"}  # Salt's own would take every host


@pytest.mark.parametrize("stage", STAGES)
def test_nothing_changes_before_the_last_check(show_sls, stage):
    steps = [chunk["name"] for chunk in show_sls(stage)]
    looks = [step in CHECKS for step in steps if step not in SYNC]
    assert looks == sorted(looks, reverse=True), steps


def test_all_stages_at_once_are_each_as_it_is_alone_in_their_order(show_sls):
    stages = [f"ceph.stage.{name}" for name in ("prep", "discovery", "configure", "deploy", "services")]
    own = ("__id__", "fun", "name", "only", "failhard", "sls", "hosts", "members", "stage")
    alone = [chunk for stage in stages for chunk in show_sls(stage)]
    begin, *steps, rest = show_sls(AT_ONCE)
    assert [[step.get(key) for key in own] for step in steps] == [[step.get(key) for key in own] for step in alone]
    assert (begin["fun"], begin["stage"], rest["fun"], rest["sls"]) == ("begin", "all", "rest", stages[3:])
    assert begin["only"] == "node[1-4]*" and begin["failhard"] is rest["failhard"] is True


def test_numbers_are_names(checkout):
    for number, name in enumerate(("prep", "discovery", "configure", "deploy", "services", "removal")):
        assert (checkout / f"salt/ceph/stage/{number}.sls").resolve().name == f"{name}.sls"


def test_steps_have_moved_as_the_table_and_the_changelog_say(checkout):
    changes = (checkout / "CHANGELOG.md").read_text()
    for old, new in MOVED.items():
        assert (checkout / "salt" / new).is_dir() and not (checkout / "salt" / old).exists()
        assert f"| `{old}` | `{new}` |" in changes


def test_salt_is_not_a_package(checkout):
    assert not (checkout / "salt" / "__init__.py").exists()
    assert not list((checkout / "tests").rglob("__init__.py"))
