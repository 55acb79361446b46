"""From what policy.cfg selects to one generation of the pillar: the files that Salt's ``stack`` will read.

Nothing here opens a file. A generation is named by its content: the same choice gives the same name.
"""

import hashlib
import re
from collections.abc import Mapping
from dataclasses import dataclass, field

import yaml

from proposals.files.site import minion_file
from proposals.pillar import chosen, conf, named, problems, secrets, tunings
from proposals.pillar.chosen import TEMPLATE, Chosen
from proposals.services import planning, table
from proposals.services.planning import ServicePlans
from proposals.services.service import CRASH, PlannedCluster
from proposals.text.errors import PolicyError

POSTED = ["ceph.cluster.crash"]  # what services' hosts apply beside, where crashes are posted
STAGES = ("master", "admin", "mon", "mgr", "storage")  # roles by which stages name their minions
BRING_UP = {"mgr": "ceph.cluster.mgr", "storage": "ceph.cluster.osd"}  # a role's daemons, once monitors run


@dataclass(frozen=True)
class Generation:
    """One generation: its name, its files by path, who is what, and what may leave later (``named.hosts``)."""

    name: str
    files: Mapping[str, str]
    members: Mapping[str, list[str]]
    roles: Mapping[str, list[str]]
    hostnames: Mapping[str, str]
    services: ServicePlans
    named: Mapping[str, Mapping]
    adopted_caps: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    crash_reports: bool = True
    cipher: str = secrets.OLD

    @property
    def entities(self) -> dict[str, Mapping[str, str]]:
        """The capabilities of every key that this generation needs."""
        managers = [self.hostnames[each] for each in self.members["mgr"]]
        every = secrets.entities(managers, self.services.whole.entities)
        every |= {name: caps for name, caps in self.adopted_caps.items() if name in every}
        return {name: caps for name, caps in every.items() if self.crash_reports or name not in CRASH["crash"]}

    def secrets(self, minion: str, keys: Mapping[str, str]) -> dict[str, str]:
        """What a minion may know, by use, of all keys, passwords and files by name."""
        host, more = self.hostnames.get(minion, minion), self.services.whole.secrets.get(minion, {})
        return secrets.minion(keys, self.entities, self.roles[minion], host, more, self.crash_reports)


def build(choice: Chosen, kept: Mapping[str, str] | None = None) -> Generation:
    """Return the generation that a choice makes. Raises PolicyError with every problem found, one line each.

    kept
        Texts of files that are carried over as they are, by path.
    """
    _refuse(problems.unreadable(choice))
    members, crashes = _members(choice), bool(choice.settings["crash_reports"])
    hostnames = {minion: choice.hosts[minion]["hostname"] for minion in choice.roles if minion in choice.hosts}
    services = planning.plan(PlannedCluster(choice.roles, choice.hosts, choice.settings, choice.given))
    monitors, absent = conf.derived(members["mon"], choice.hosts, choice.settings, choice.monitors)
    derived = {**monitors, "sections": services.conf(), "crash": POSTED if crashes else []}
    files = {**_files(choice, services), minion_file(choice.orchestrator): _orchestrator(choice, members, services)}
    alerting = {minion_file(minion) for minion in services.whole.parts.get("alertmanager", ())}
    told = {path: (dump_secrets if path in alerting else dump)(content) for path, content in files.items()}
    texts = {**told, **(kept or {})}
    marked = _templates({**texts, **{path: _beside(files[path]) for path in alerting}})
    _refuse([*problems.found(choice), *absent, *services.whole.problems, *marked])
    unnamed = dump({"ceph": derived})
    name = hashlib.sha256(repr(sorted({**texts, "derived": unnamed}.items())).encode()).hexdigest()[:16]
    texts["stack/default/ceph/derived.yml"] = dump({"ceph": {**derived, "generation": name}})
    once, caps = named.hosts(files, hostnames, crashes), choice.settings["adopted_caps"]
    cipher = secrets.cipher(choice.hosts[minion] for minion in hostnames)
    return Generation(name, texts, members, choice.roles, hostnames, services, once, caps, crashes, cipher)


def _refuse(against: list[str]) -> None:
    if against:
        raise PolicyError("policy.cfg cannot be configured, nothing was changed:\n" + "\n".join(against))


def _members(choice: Chosen) -> dict[str, list[str]]:
    """Who has the roles by which stages name their minions; ``daemons``: those with any of ``_daemons``; ``networks``:
    those with a network proposal."""
    members = {role: sorted(each for each, has in choice.roles.items() if role in has) for role in STAGES}
    return {
        **members,
        "all": sorted(choice.roles),
        "daemons": sorted(minion for minion, roles in choice.roles.items() if _daemons(choice, roles)),
        "networks": sorted(set(chosen.networks(choice.files)) & set(choice.roles)),
        "admin": sorted({*members["admin"], *members["master"]}),
    }


def _daemons(choice: Chosen, roles: list[str]) -> list[str]:
    """What brings up the daemons of a minion's roles, in this order, beside its monitor."""
    posted = POSTED if choice.settings["crash_reports"] and set(secrets.DAEMONS) & set(roles) else []
    brought = [sls for role, sls in BRING_UP.items() if role in roles]
    return [*posted, *brought]


def _files(choice: Chosen, services: ServicePlans) -> dict[str, dict]:
    """What was chosen, with what each minion is told beside it: its tunings, daemons and services."""
    profiles = tunings.chosen(choice.roles, choice.osds, choice.hosts, table.roles(choice.settings))
    files = dict(choice.files)
    for minion, roles in choice.roles.items():
        content = files.get(minion_file(minion), {})
        before = {"tuning": profiles[minion]} if minion in profiles else {}
        told = _services(services, roles, minion)
        daemons = _daemons(choice, roles)
        after = {**({"services": told} if told else {}), **({"daemons": daemons} if daemons else {})}
        if before or after:
            files[minion_file(minion)] = {**content, "ceph": {**before, **content.get("ceph", {}), **after}}
    return files


def _orchestrator(choice: Chosen, members: Mapping[str, list[str]], services: ServicePlans) -> dict:
    """What the master is told: who is addressed by which step, and which profile gave whom its layout."""
    layouts = {name: list(profile.minions) for name, profile in choice.profiles.items()}
    return {"ceph": {"members": members, "services": services.steps(), **({"profiles": layouts} if layouts else {})}}


def _services(services: ServicePlans, roles: list[str], minion: str) -> dict[str, Mapping]:
    """What a minion is told of services; the master's host also what is planned of the cluster itself."""
    cluster = {name: plan.cluster for name, plan in services.plans.items() if plan.cluster and "master" in roles}
    return {**cluster, **services.told(minion)}


def _templates(texts: Mapping[str, str]) -> list[str]:
    """Files that hold what Salt would render as a template."""
    return [
        f"{path}: holds '{mark}', which Salt would run as a template"
        for path, text in texts.items()
        for mark in TEMPLATE
        if mark in text
    ]


def _beside(content: Mapping) -> str:
    """What a minion is told beside Alertmanager's configuration, in which a site may have templates of that one's."""
    services = {part: told for part, told in content["ceph"]["services"].items() if part != "alertmanager"}
    return dump({**content, "ceph": {**content["ceph"], "services": services}})


def dump(content: Mapping) -> str:
    """Return a mapping as the plain YAML that a generation consists of."""
    return yaml.safe_dump(dict(content), default_flow_style=False, allow_unicode=False, width=1000)


def dump_secrets(content: Mapping) -> str:
    """The same of what may hold any text of a site's, as a password: Salt renders it too, and must see no template."""
    text = dump(content)
    if not any(mark in text for mark in TEMPLATE):
        return text
    # All text stands in double quotes, where a brace may be written as its number; each before a mark's end is text.
    quoted = yaml.safe_dump(dict(content), default_style='"', allow_unicode=False, width=1000)
    return re.sub(r"\{(?=[{%#])", r"\\x7b", quoted)
