"""Where things lie in a site's folders: inventory, proposals, fragments. ``files`` reads and writes them."""

import os
from collections.abc import Iterable, Mapping
from contextlib import suppress
from glob import glob  # Path.glob also matches hidden files, and "**" in any depth
from pathlib import Path

from proposals import files, populating
from proposals.documents import parse_json, parse_yaml
from proposals.errors import InventoryError, PolicyError, StoreError
from proposals.garbage import uncollected
from proposals.plan import Plan
from proposals.populating import Decision, Report, Wanted

FRAGMENTS = (".sls", ".yml")


def read_yaml(path: str | Path) -> object:
    """The value of a YAML file, plain data only. Raises StoreError with the line where it is broken."""
    return parse_yaml(files.read_text(path), str(path))


def load_inventory(path: str | Path) -> dict:
    """The inventory of a YAML or JSON file, or of a folder of ``ID.json`` (what discovery writes).

    Raises InventoryError."""
    try:
        if Path(path).is_dir():
            return _inventory_folder(Path(path))
        text = files.read_text(path)
        found = parse_json(text, path) if text.lstrip()[:1] == "{" else parse_yaml(text, str(path))
    except StoreError as error:
        raise InventoryError(str(error)) from error
    if not isinstance(found, dict):
        raise InventoryError(f"{path} is not an inventory: a mapping with 'hosts' was expected")
    return found


def _inventory_folder(folder: Path) -> dict:
    hosts = {file.stem: parse_json(files.read_text(file), file) for file in sorted(folder.glob("*.json"))}
    if not hosts:
        raise InventoryError(f"{folder} holds no ID.json: has discovery run (salt-run state.orch ceph.stage.1)?")
    found = {"hosts": hosts}
    cluster = folder.parent / "proposals/config/stack/default/ceph/cluster.yml"
    known = read_yaml(cluster) if cluster.exists() else None
    if isinstance(known, dict):
        found["networks"] = {key: value for key, value in known.items() if key.endswith("_network")}
        found |= {"cluster": known["fsid"]} if known.get("fsid") else {}
    return found


def looked(folder: str | Path) -> dict[str, float]:
    """When discovery last looked at each minion of the inventory: ``{minion: seconds since 1970}``."""
    return {file.stem: file.stat().st_mtime for file in Path(folder).glob("*.json")}


def matching(root: str | Path, pattern: str) -> list[str]:
    """Files in folders of ``root`` that the glob ``pattern`` matches, as sorted relative paths."""
    found = glob(pattern, root_dir=root)  # noqa: PTH207
    # what is called like a file is taken for one: asking about each is slow where there are many thousands
    return sorted(path for path in found if "/" in path and (path.endswith(FRAGMENTS) or (Path(root) / path).is_file()))


def folders(root: str | Path) -> list[str]:
    """Names of the folders directly in ``root``."""
    try:
        return sorted(entry.name for entry in os.scandir(root) if entry.is_dir() and not entry.name.startswith("."))
    except OSError as error:
        raise PolicyError(f"{root}: {error.strerror}: the folder 'proposals' was expected") from error


def stored_proposal(root: str | Path, name: str) -> dict | None:
    """The stored proposal ``name``, or None where there is none. Raises StoreError where it is broken."""
    path = Path(root) / f"profile-{name}" / "proposal.json"
    return populating.check_stored(parse_json(files.read_text(path), path), path) if path.exists() else None


def stored_network(root: str | Path, name: str) -> dict | None:
    """The stored network proposal ``name``, or None where there is none. Raises StoreError where it is broken."""
    path = Path(root) / f"network-{name}" / "proposal.json"
    if not path.exists():
        return None
    return populating.check_stored(
        parse_json(files.read_text(path), path), path, {"links": {"name"}, "ports": {"name"}}
    )


@uncollected()
def populate(root: str | Path, plan: Plan, force: bool = False, propose_policy: bool = True) -> Report:
    """Write the profile of ``plan`` under ``root`` (the ``proposals`` folder), and what else is absent there.

    ``propose_policy``: whether a policy.cfg is written where there is none. Files that were edited stay
    (``force`` writes them); see ``populating`` for the rule. Nothing is written
    where nothing would change. Raises StoreError.

    CLI: ``python -m proposals populate INVENTORY --root ROOT name=apollo ratio=9``"""
    root, name = Path(root), plan.arguments.name
    decided = _populate(root / f"profile-{name}", populating.wanted(plan), stored_proposal(root, name) or {}, force)
    messages = fragments(root, plan.inventory.names, plan.inventory.cluster)
    return populating.report(decided, messages + (_policy(root, plan) if propose_policy else []))


def populate_network(root: str | Path, asked: Wanted, force: bool = False) -> Report:
    """Write a network proposal under ``root``; the rules for edited files are those of ``populate``.

    CLI: ``python -m proposals network populate INVENTORY --root ROOT name=apollo cluster-vlan=3001``"""
    from proposals import proposed  # reads through this module

    folder = Path(root) / f"network-{asked.name}"
    decided = _populate(folder, asked, stored_network(root, asked.name) or {}, force)
    wanted = sorted({f"{folder.name}/{path.rpartition('/')[0]}/*.yml" for path in asked.files})
    return populating.report(decided, proposed.missing(root, wanted))


def _populate(folder: Path, asked: Wanted, before: Mapping, force: bool) -> Decision:
    """Decide, and carry it out in a proposal's folder."""
    known = {**before.get("files", {}), **asked.files}
    present = {path: files.read_text(folder / path) for path in known if (folder / path).is_file()}
    decided = populating.decide(asked, before, present, force)
    if not folder.exists():
        files.write_tree(folder, {**decided.write, "proposal.json": decided.proposal})
    else:
        _change(folder, asked.name, before, decided)
    return decided


def _change(folder: Path, name: str, before: Mapping, decided: Decision) -> None:
    """Carry out what was decided, announced before and told afterwards in proposal.json."""
    if decided.write:
        files.write(folder / "proposal.json", populating.announced(before, name, decided.write))
    files.write_many(folder, decided.write)
    for path in decided.remove:
        (folder / path).unlink(missing_ok=True)
    if not (folder / "proposal.json").is_file() or files.read_text(folder / "proposal.json") != decided.proposal:
        files.write(folder / "proposal.json", decided.proposal)


def _policy(root: Path, plan: Plan) -> list[str]:
    from proposals import proposed  # reads through this module

    path = root / "policy.cfg"
    if path.exists():
        return proposed.lacking(root, plan)
    files.write(path, proposed.text(root, plan))
    return [f"wrote {path}: read it, change it, then run stage configure"]


def fragments(
    root: str | Path,
    hosts: Iterable[str],
    fsid: str | None = None,
    networks: Mapping[str, str] | None = None,
    time_server: str | None = None,
    roles: Iterable[str] = (),
) -> list[str]:
    """Write the cluster, role and config fragments that are absent; return what differs from those there.

    ``networks``: ``{"public_network": "...", "cluster_network": "..."}``; ``roles``: those that the site names beside
    the known ones. Nothing is ever overwritten.
    Raises ArgumentError for a host or value that is not acceptable text, StoreError where writing fails."""
    from proposals.fragments import FOLDER_ROLES, assignments, config

    root = Path(root)
    settings = config(fsid, networks, time_server)
    texts = {**assignments(hosts, {*FOLDER_ROLES, *roles}), **settings}
    there = {folder: set(_names(root / folder)) for folder in {path.rpartition("/")[0] for path in texts}}
    absent = {p: text for p, text in texts.items() if p.rpartition("/")[2] not in there[p.rpartition("/")[0]]}
    files.write_many(root, absent)
    messages = []
    for path in settings:
        if path not in absent:
            messages += populating.differing(path, read_yaml(root / path), parse_yaml(settings[path], path))
    return messages


def _names(folder: Path) -> list[str]:
    with suppress(FileNotFoundError):
        return [entry.name for entry in os.scandir(folder)]
    return []
