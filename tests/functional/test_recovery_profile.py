"""Recovery profiles: what is set, what is refused, what is taken away; Salt's runners, a cluster that is played."""

import pytest
from salt.exceptions import CommandExecutionError
from saltfactories.utils.loader import LoaderModuleMock
from saltmaster import Master

from proposals.cluster import recovery
from proposals.text.errors import ProposalError
from runners.engine.asking import jobs, minions
from runners.engine.runs import stage_lock, stage_log

LEAST = {"osd_max_backfills": "1", "osd_recovery_max_active": "1", "osd_recovery_op_priority": "1"}


class Cluster:
    """Central configuration, and what the monitors keep; ``told`` is what changed them."""

    def __init__(self):
        self.config, self.kept, self.told, self.queue = {}, {}, [], "wpq"
        self.known = set(recovery.OPTIONS) | {"osd_op_queue"}

    def ask(self, words):
        if words == ["config", "ls"]:
            return sorted(self.known)
        assert words == ["config", "dump"]
        split = ((*section.partition("/"), name, value) for (section, name), value in self.config.items())
        return [{"section": who, "mask": mask, "name": name, "value": value} for who, _, mask, name, value in split]

    def tell(self, words, stdin=None):
        if words[:2] == ["config", "get"]:
            return f"{self.queue}\n"
        self.told.append(words)
        match words:
            case ["config", "set", section, name, value]:
                self.config[section, name] = value
            case ["config", "rm", section, name]:
                del self.config[section, name]
            case ["config-key", "set", key, "-i", "-"]:
                self.kept[key] = stdin
            case _:
                raise AssertionError(words)
        return ""


@pytest.fixture(scope="module")
def runners(salt_factories):
    return salt_factories.salt_master_daemon("recovery", factory_class=Master).runners()


@pytest.fixture
def cluster(python_module, monkeypatch):
    """The runners' cluster, with the modules that really look and set."""
    made, pillar = Cluster(), {}
    made.pillar = pillar
    asked = {"cluster_cli.ask": made.ask, "cluster_cli.tell": made.tell, "cluster_cli.kept": made.kept.get}
    asked["cluster_cli.ask_all"] = lambda questions: [made.ask(words) for words in questions]
    modules = {name: python_module(name) for name in ("cluster_config", "cluster_recovery", "cluster_recovery_measure")}

    def job(opts, function, words=(), kind=None):
        module, name = function.split(".")
        try:
            return getattr(modules[module], name)(*words)
        except CommandExecutionError as err:
            raise ProposalError(str(err)) from err

    monkeypatch.setattr(jobs, "cluster", job)
    monkeypatch.setattr(minions, "pillar", lambda opts: pillar)
    monkeypatch.setattr(stage_lock, "free", lambda opts: None)
    monkeypatch.setattr(stage_log, "note", lambda *_, **__: None)
    with LoaderModuleMock({module: {"__salt__": asked} for module in modules.values()}):
        yield made


@pytest.mark.slow
def test_a_profile_is_set_told_and_taken_away(runners, cluster):
    said = runners["recovery.profile"]("least", test=True)
    assert "osd_max_backfills 1" in str(said) and cluster.told == []
    runners["recovery.profile"]("least")
    assert {name: value for (_, name), value in cluster.config.items()} == LEAST
    cluster.told.clear()
    assert "nothing changed" in str(runners["recovery.profile"]("least")) and cluster.told == []
    assert "profile least, osd_op_queue wpq" in str(runners["recovery.profile"]())
    runners["recovery.profile"]("fast")
    assert cluster.config["osd", "osd_recovery_max_active"] == "15" and len(cluster.config) == 6
    runners["recovery.profile"]("default")
    assert cluster.config == {} and "profile default" in str(runners["recovery.profile"]())


@pytest.mark.slow
def test_mclock_has_profiles_of_its_own(runners, cluster):
    cluster.queue = "mclock_scheduler"
    runners["recovery.profile"]("fast")
    assert cluster.config == {("osd", "osd_mclock_profile"): "high_recovery_ops"}


def test_what_others_set_is_not_replaced(runners, cluster):
    cluster.config["osd", "osd_max_backfills"] = "3"
    said = str(runners["recovery.profile"]("least"))
    assert "osd_max_backfills is 3 for osd" in said and "ceph config rm osd osd_max_backfills" in said
    assert cluster.told == []
    del cluster.config["osd", "osd_max_backfills"]
    cluster.config["osd/class:hdd", "osd_max_backfills"] = "3"
    assert "is 3 for osd/class:hdd, set by somebody: it stays" in str(runners["recovery.profile"]("least"))
    assert cluster.config["osd/class:hdd", "osd_max_backfills"] == "3"


def test_what_the_site_sets_is_not_replaced(runners, cluster):
    cluster.pillar["ceph_config"] = {"osd": {"osd_max_backfills": 2}}
    said = str(runners["recovery.profile"]("fast"))
    assert "the site's ceph_config sets osd_max_backfills for osd" in said and cluster.told == []


def test_what_the_release_does_not_know_is_named(runners, cluster):
    cluster.known.discard("osd_recovery_op_priority")
    said = str(runners["recovery.profile"]("least"))
    assert "the running Ceph does not know osd_recovery_op_priority" in said and cluster.told == []


@pytest.mark.parametrize("name", ["leest", "", 7, ["least"]])
def test_a_profile_that_is_none_is_refused(runners, cluster, name):
    said = str(runners["recovery.profile"](name))
    expected = "one word was expected" if isinstance(name, list) else "expected a profile, default, least, fast"
    assert expected in said and cluster.told == []
