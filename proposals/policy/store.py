"""What populate keeps under ``proposals``: profiles, network proposals, fragments; read, and written where needed."""

import os
from collections.abc import Collection, Iterable, Mapping
from contextlib import suppress
from pathlib import Path

from proposals.disks.plan import DiskPlan
from proposals.files import atomic
from proposals.files.documents import parse_json, parse_yaml
from proposals.files.gc_paused import uncollected
from proposals.files.tree import folders, read_yaml
from proposals.policy import policy, policy_draft, populate_decision, unwritten
from proposals.policy.fragments import assignments, config
from proposals.policy.populate_decision import Decision, Populated, Wanted
from proposals.policy.roles import FOLDERS
from proposals.text.errors import ProposalError
from proposals.text.names import check_profile

NOTHING = ("", "{}")  # a config fragment that says nothing: populate before discovery knows no more


def stored_proposal(root: str | Path, name: str) -> dict | None:
    """The stored proposal ``name``, or None where there is none. Raises StoreError where it is broken."""
    path = Path(root) / f"profile-{name}" / "proposal.json"
    return populate_decision.check_stored(parse_json(atomic.read_text(path), path), path) if path.exists() else None


def finished_proposal(root: str | Path, name: str) -> dict:
    """The stored proposal ``name``, whole. Raises ProposalError for none, or half of one."""
    stored = stored_proposal(root, check_profile(name))
    if stored is None:
        known = [folder.removeprefix("profile-") for folder in folders(root) if folder.startswith("profile-")]
        raise ProposalError(
            f"no proposal '{name}' in {root}; stored are {', '.join(known) or 'none'} (populate makes one)"
        )
    if "summary" not in stored:
        raise ProposalError(f"the populate that was to write proposal '{name}' was interrupted: run populate again")
    return stored


def stored_network(root: str | Path, name: str) -> dict | None:
    """The stored network proposal ``name``, or None where there is none. Raises StoreError where it is broken."""
    path = Path(root) / f"network-{name}" / "proposal.json"
    if not path.exists():
        return None
    return populate_decision.check_stored(
        parse_json(atomic.read_text(path), path), path, {"links": {"name"}, "ports": {"name"}}
    )


def finished_network(root: str | Path, name: str) -> dict:
    """The stored network proposal ``name``. Raises ProposalError where there is none, with those that are there."""
    stored = stored_network(root, check_profile(name))
    if stored is None:
        known = [folder.removeprefix("network-") for folder in folders(root) if folder.startswith("network-")]
        there = ", ".join(known) or "none, run networks populate"
        raise ProposalError(f"there is no network proposal '{name}' in {root}; there are: {there}")
    return stored


@uncollected()
def populate(root: str | Path, plan: DiskPlan, force: bool = False, propose_policy: bool = True) -> Populated:
    """Write the profile of ``plan`` under ``root`` (the ``proposals`` folder), and what else is absent there.

    ``propose_policy``: whether a policy.cfg is written where there is none. Files that were edited stay
    (``force`` writes them); see ``populate_decision`` for the rule. Nothing is written
    where nothing would change. Raises StoreError.

    CLI: ``python -m proposals populate INVENTORY --root ROOT name=apollo ratio=9``"""
    root, name = Path(root), plan.arguments.name
    _judge(root, config(plan.inventory.cluster, None, None))
    decided = _populate(
        root / f"profile-{name}", populate_decision.wanted(plan), stored_proposal(root, name) or {}, force
    )
    messages = fragments(root, plan.inventory.names, plan.inventory.cluster)
    return populate_decision.report(decided, messages + (_policy(root, plan) if propose_policy else []))


def populate_network(root: str | Path, asked: Wanted, force: bool = False) -> Populated:
    """Write a network proposal under ``root``; the rules for edited files are those of ``populate``.

    CLI: ``python -m proposals networks populate INVENTORY --root ROOT name=apollo cluster-vlan=3001``"""
    folder = Path(root) / f"network-{asked.name}"
    _judge(Path(root), ())
    decided = _populate(folder, asked, stored_network(root, asked.name) or {}, force)
    wanted = sorted({f"{folder.name}/{path.rpartition('/')[0]}/*.yml" for path in asked.files})
    return populate_decision.report(decided, policy_draft.missing(root, wanted))


def _judge(root: Path, settings: Iterable[str]) -> None:
    """Read what is compared after the first write, so that broken files stop it before. Raises ProposalError."""
    if (root / "policy.cfg").exists():
        policy.parse(atomic.read_text(root / "policy.cfg"))
    for path in settings:
        if (root / path).exists():
            read_yaml(root / path)


def _populate(folder: Path, asked: Wanted, before: Mapping, force: bool) -> Decision:
    """Decide, and carry it out in a proposal's folder."""
    known = {**before.get("files", {}), **asked.files}
    present = {path: atomic.read_text(folder / path) for path in known if (folder / path).is_file()}
    decided = populate_decision.decide(asked, before, present, force)
    if not folder.exists():
        atomic.write_tree(folder, {**decided.write, "proposal.json": decided.proposal})
    else:
        _change(folder, asked.name, before, decided)
    return decided


def _change(folder: Path, name: str, before: Mapping, decided: Decision) -> None:
    """Carry out what was decided, announced before and told afterwards in proposal.json."""
    if decided.write:
        atomic.write(folder / "proposal.json", populate_decision.announced(before, name, decided.write))
    atomic.write_many(folder, decided.write)
    for path in decided.remove:
        atomic.remove(folder / path)
    if not (folder / "proposal.json").is_file() or atomic.read_text(folder / "proposal.json") != decided.proposal:
        atomic.write(folder / "proposal.json", decided.proposal)


def _policy(root: Path, plan: DiskPlan) -> list[str]:
    path = root / "policy.cfg"
    if path.exists():
        return policy_draft.lacking(root, plan)
    atomic.write(path, policy_draft.text(root, plan))
    return [f"wrote {path}: read it, change it, then run stage configure"]


def fragments(
    root: str | Path,
    hosts: Iterable[str],
    fsid: str | None = None,
    networks: Mapping[str, str] | None = None,
    time_server: str | None = None,
    roles: Iterable[str] = (),
) -> list[str]:
    """Write the cluster, role and config fragments that are absent or empty; return what differs from those there.

    ``networks``: ``{"public_network": "...", "cluster_network": "..."}``; ``roles``: those that the site names beside
    the known ones. What says anything is never overwritten.
    Raises ArgumentError for a host or value that is not acceptable text, StoreError where writing fails."""
    root = Path(root)
    settings = config(fsid, networks, time_server)
    texts = {**_assigned(root, list(hosts), {*FOLDERS, *roles}), **settings}
    there = {folder: set(_names(root / folder)) for folder in {path.rpartition("/")[0] for path in texts}}
    absent = {p: text for p, text in texts.items() if p.rpartition("/")[2] not in there[p.rpartition("/")[0]]}
    bare = [path for path in settings if path not in absent and atomic.read_text(root / path).strip() in NOTHING]
    absent |= {path: settings[path] for path in bare if settings[path].strip() not in NOTHING}
    atomic.write_many(root, absent)
    messages = []
    for path in settings:
        if path not in absent:
            messages += populate_decision.differing(path, read_yaml(root / path), parse_yaml(settings[path], path))
    return messages


def _assigned(root: Path, hosts: Collection[str], roles: Collection[str]) -> dict[str, str]:
    """The cluster and role fragments that have to be files."""
    if not unwritten.wanted(root, hosts):
        return assignments(hosts, roles)
    unwritten.name(root, hosts, {path.partition("/")[0] for path in assignments(["id"], roles)})
    return {}


def _names(folder: Path) -> list[str]:
    """What lies in a folder and is not empty, as a power failure leaves a file."""
    with suppress(FileNotFoundError):
        return [entry.name for entry in os.scandir(folder) if entry.stat(follow_symlinks=False).st_size]
    return []
