"""A cluster that others made, taken in: its hosts and one monitor are asked, the master alone is written to.

The monitor's answer holds keys: it is sealed for this one run (``sealed``). Files are written one by one, each whole;
one that is there stays. So whatever interrupts it, the same command goes on. The keys come before policy.cfg: without
them configure refuses.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from difflib import unified_diff
from pathlib import Path
from typing import Any

from proposals.adoption import conf, deepsea, found, judging, writing
from proposals.adoption.found import Cluster, Host
from proposals.adoption.writing import Written
from proposals.files import atomic, documents, tree
from proposals.files.site import Site, minion_file, site
from proposals.inventory import kept
from proposals.pillar import chosen, generation_disk, key_store
from proposals.policy import policy_draft
from proposals.settings.cluster import NETWORKS
from proposals.stages import replies
from proposals.text.errors import InventoryError, ProposalError
from proposals.text.names import printable
from proposals.text.notes import by_host, several
from runners.engine.asking import jobs, minions, sealed
from runners.engine.looks import installed

FRAGMENTS = "ceph/configuration/files/ceph.conf.d"
CLUSTER = "config/stack/default/ceph/cluster.yml"
OTHERS = (
    "{0}: minions are sent it in place of Halocline's own: a DeepSea's is to be moved aside, then run ceph.stage.prep"
)
KEPT = "{}: is there with another content, and stays: compare it with what adoption would write (test=true)"


@dataclass(frozen=True)
class Look:
    """What was found, what it would write, what stands against it and what stays as it is."""

    paths: Site
    conf_folder: Path
    hosts: Sequence[Host]
    cluster: Cluster
    written: Written
    keys: Mapping[str, str] = field(repr=False)
    against: Sequence[str]
    notes: Sequence[str]

    def files(self) -> dict[Path, str]:
        """What is written, but for keys and policy.cfg."""
        own = {self.paths.proposals / path: text for path, text in self.written.files.items()}
        return {**own, **{self.conf_folder / f"{name}.conf": text for name, text in self.written.fragments.items()}}

    def missing(self) -> list[str]:
        """The paths that are not there yet; the file of keys where it lacks one."""
        absent = [str(path) for path in self.files() if not path.exists()]
        lacks = self.keys.keys() - key_store.held(self.paths).known.keys()
        policy = self.paths.proposals / "policy.cfg"
        return [*absent, *([str(self.paths.keys)] if lacks else []), *([] if policy.exists() else [str(policy)])]

    def lines(self) -> list[str]:
        """What was found, for a person."""
        roles = judging.members(self.hosts, self.cluster)
        forms: dict[str, int] = {}
        for osd in (osd for host in self.hosts for osd in host.osds if osd.fsid in self.cluster.osds):
            forms[osd.form] = forms.get(osd.form, 0) + 1
        told = [f"{count} OSDs ({form})" for form, count in sorted(forms.items())]
        named = [f"{role}: {', '.join(named)}" for role, named in roles.items() if named]
        return [f"cluster {self.cluster.fsid}, release {self.cluster.release}", *named, *told]


def look(opts: Mapping) -> Look:
    """Ask every minion of ours, and one monitor; return what was found. Raises ProposalError.

    opts
        The master's options.
    """
    paths = site(opts)
    if not (paths.proposals / CLUSTER).exists() or not paths.inventory.is_dir():
        raise InventoryError(
            "discovery has not looked yet: run ceph.stage.prep and ceph.stage.discovery, then this again"
        )
    asked = jobs.ask(opts, minions.ours(opts), "host_adopt.inspect")
    if asked.failed:
        raise InventoryError("\n".join(["nothing was written:", *replies.lines(asked.failed)]))
    hosts = [found.host(minion, answer) for minion, answer in sorted(asked.answers.items())]
    askers = [host.minion for host in hosts if host.hostname in host.daemons.get("mon", ())]
    if not askers:
        raise InventoryError(_no_monitor(hosts, asked.silent))
    asker, cluster = _told(opts, askers)
    strange = judging.strangers(hosts, cluster)
    hosts = [host for host in hosts if host not in strange]
    theirs = [host for host in hosts if not _ours(paths, host)]
    told = writing.written(theirs, cluster, minions.master(opts))
    against = [*judging.refusals(hosts, cluster, _known(paths)), *generation_disk.obstacles(paths)]
    notes = by_host((minion, "does not answer: what it has is not taken in; run it again") for minion in asked.silent)
    notes += by_host((host.minion, f"its ceph.conf names cluster {host.fsid}: left alone") for host in strange)
    notes += [OTHERS.format(path) for path in installed.replaced(opts)]
    notes += [*judging.notes(hosts, cluster), *told.left, *_confs(theirs, asker), *_deepsea(paths)]
    folder = Path(opts["file_roots"]["base"][0]) / FRAGMENTS  # the site's own root comes first
    return Look(paths, folder, hosts, cluster, told, writing.taken_keys(hosts, cluster), against, notes)


def carry_out(look: Look) -> list[str]:
    """Write what is not there yet; return the paths. Raises ProposalError."""
    done = []
    for path, text in look.files().items():
        if not path.exists():
            atomic.write(path, text)
            done.append(str(path))
    if key_store.adopt(look.paths, look.keys):
        done.append(str(look.paths.keys))
    policy = look.paths.proposals / "policy.cfg"
    if not policy.exists():
        lines = ["# Written by ceph.adopt, yours to change: what exists, as it is.", *look.written.policy]
        atomic.write(policy, "\n".join(lines) + "\n")
        done.append(str(policy))
    return done


def differing(look: Look) -> list[str]:
    """Return how each file that is there and stays differs from what adoption would write."""
    lines: list[str] = []
    for path, text in look.files().items():
        there = atomic.read_text(path) if path.exists() else text
        if there != text:
            told = unified_diff(
                there.splitlines(), text.splitlines(), "as it is", "as it would be written", lineterm="", n=1
            )
            lines += [f"{path}: is there with another content, and stays:", *map(printable, told)]
    return lines


def lacking(look: Look) -> list[str]:
    """Return what a person has to compare: files that stayed, lines that policy.cfg lacks."""
    stayed = [KEPT.format(path) for path, text in look.files().items() if atomic.read_text(path) != text]
    return [*stayed, *policy_draft.missing(look.paths.proposals, look.written.policy)]


def _told(opts: Mapping, askers: Sequence[str]) -> tuple[str, Cluster]:
    """The first monitor's host that can tell of its cluster, and what it tells: a store may be what a monitor left that
    was taken out, or one of a cluster that is gone. Raises ProposalError where none can.
    """
    failed = []
    for minion in askers:
        try:
            return minion, found.cluster(minion, sealed.ask(opts, minion, "host_sealed.tell"))
        except ProposalError as err:
            failed.append(str(err))
    raise InventoryError("\n".join(["nothing was written:", *failed]))


def _no_monitor(hosts: Sequence[Host], silent: Sequence[str]) -> str:
    """Why nobody can be asked for the cluster."""
    if foreign := [f"{host.minion}: {line}: these are not taken over" for host in hosts for line in host.foreign]:
        return "\n".join(["refused, nothing was written:", *foreign])
    if named := [
        f"{host.minion} (mon.{', mon.'.join(host.daemons['mon'])})" for host in hosts if "mon" in host.daemons
    ]:
        return f"refused, nothing was written: {', '.join(named)}: no monitor has its host's name; {judging.RENAME}"
    more = f"; {several(silent)} do not answer" if silent else ""
    return f"there is no monitor on any minion of ours: expected the hosts of a cluster{more}; nothing was written"


def _known(paths: Site) -> judging.Known:
    """What the master has already."""
    told = tree.read_yaml(paths.proposals / CLUSTER) or {}
    deployed = paths.current.is_dir() and not (paths.proposals / "adopted").is_dir()
    hosts, own = kept.load_inventory(paths.inventory)["hosts"], chosen.own_settings(paths.root)
    networks = {key: own.get(key) or told.get(key) for key in NETWORKS}
    return judging.Known(key_store.held(paths), told.get("fsid"), deployed, networks, hosts)


def _ours(paths: Site, host: Host) -> bool:
    """Whether stages gave a host what it has: it is served, was not adopted, and its OSDs are planned."""
    adopted, told = paths.proposals / "adopted" / minion_file(host.minion), paths.current / minion_file(host.minion)
    if adopted.exists() or not (paths.current / "cluster" / f"{host.minion}.sls").exists():
        return False
    planned = atomic.read_text(told) if told.exists() else ""
    return all(osd.fsid in planned for osd in host.osds)


def _confs(hosts: Sequence[Host], asked: str) -> list[str]:
    """Hosts whose ceph.conf is another than that of which the fragments are made."""
    others = conf.differing({host.minion: host.conf for host in hosts}, asked)
    line = "{}: ceph.conf differs from that of {}: each stays as it is, and new hosts get the latter's lines"
    return [line.format(several(others), asked)] if others else []


def _deepsea(paths: Site) -> list[str]:
    """What DeepSea left on this master, where it ran here."""
    if not any((paths.root / name).exists() for name in deepsea.SIGNS):
        return []
    files = [*deepsea.SIGNS, *chosen.LAYERS, "proposals/config/stack/default/global.yml", f"proposals/{CLUSTER}"]
    pillar: dict[str, Mapping[str, Any]] = {}
    for name in (name for name in files if (paths.root / name).is_file()):
        text = atomic.read_text(paths.root / name)
        content = None if any(mark in text for mark in chosen.TEMPLATE) else documents.parse_yaml(text, name)
        pillar |= {name: content} if isinstance(content, Mapping) else {}
    policy = paths.proposals / "policy.cfg"
    return [f"DeepSea's {line}" for line in deepsea.told(atomic.read_text(policy) if policy.exists() else "", pillar)]
