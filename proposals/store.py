"""The only file here that opens files. Everything it writes is whole or not there."""

import os
import shutil
import tempfile
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from glob import glob  # Path.glob also matches hidden files, and "**" in any depth
from pathlib import Path

from proposals import populating
from proposals.documents import parse_json, parse_yaml
from proposals.errors import InventoryError, PolicyError, StoreError
from proposals.garbage import uncollected
from proposals.names import shown
from proposals.plan import Plan
from proposals.populating import Decision, Report, Wanted

FRAGMENTS = (".sls", ".yml")
LARGEST = 512 << 20  # bytes of one file that is read


def read_text(path: str | Path) -> str:
    """The text of a file; bytes that are not UTF-8 are kept as lone surrogates, for the reader to refuse.

    Raises StoreError."""
    try:
        if Path(path).stat().st_size > LARGEST:
            raise StoreError(f"{path} is larger than {LARGEST >> 20} MiB: that is none of our files")
        return Path(path).read_bytes().decode("utf-8", "surrogateescape")
    except OSError as error:
        raise _failed("read", path, error) from error


def read_yaml(path: str | Path) -> object:
    """The value of a YAML file, plain data only. Raises StoreError with the line where it is broken."""
    return parse_yaml(read_text(path), str(path))


def load_inventory(path: str | Path) -> dict:
    """The inventory of a YAML or JSON file, or of a folder of ``ID.json`` (what discovery writes).

    Raises InventoryError."""
    try:
        if Path(path).is_dir():
            return _inventory_folder(Path(path))
        text = read_text(path)
        found = parse_json(text, path) if text.lstrip()[:1] == "{" else parse_yaml(text, str(path))
    except StoreError as error:
        raise InventoryError(str(error)) from error
    if not isinstance(found, dict):
        raise InventoryError(f"{path} is not an inventory: a mapping with 'hosts' was expected")
    return found


def _inventory_folder(folder: Path) -> dict:
    hosts = {file.stem: parse_json(read_text(file), file) for file in sorted(folder.glob("*.json"))}
    if not hosts:
        raise InventoryError(f"{folder} holds no ID.json: has discovery run (salt-run state.orch ceph.stage.1)?")
    found = {"hosts": hosts}
    cluster = folder.parent / "proposals/config/stack/default/ceph/cluster.yml"
    known = read_yaml(cluster) if cluster.exists() else None
    if isinstance(known, dict):
        found["networks"] = {key: value for key, value in known.items() if key.endswith("_network")}
        found |= {"cluster": known["fsid"]} if known.get("fsid") else {}
    return found


def write(path: str | Path, text: str, mode: int = 0o644) -> None:
    """Write a file whole: beside its place first, on disk before it gets its name. Raises StoreError."""
    try:
        _write(Path(path), text, mode)
    except OSError as error:
        raise _failed("write", path, error) from error


def _write(path: Path, text: str, mode: int, sync: Callable[[int], None] = os.fsync) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, beside = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(text.encode("utf-8", "surrogateescape"))
            file.flush()
            os.fchmod(file.fileno(), mode)
            sync(file.fileno())
        Path(beside).replace(path)
    except OSError:
        Path(beside).unlink(missing_ok=True)
        raise


def touch(path: str | Path) -> None:
    """Give a file the time of now, its content as it is. Raises StoreError."""
    try:
        os.utime(path)
    except OSError as error:
        raise _failed("touch", path, error) from error


def looked(folder: str | Path) -> dict[str, float]:
    """When discovery last looked at each minion of the inventory: ``{minion: seconds since 1970}``."""
    return {file.stem: file.stat().st_mtime for file in Path(folder).glob("*.json")}


def write_many(root: str | Path, texts: Mapping[str, str], mode: int = 0o644) -> None:
    """Write many files, each whole; folders that are new come into place at once. Raises StoreError."""
    trees: dict[Path, dict[str, str]] = {}
    for relative, text in texts.items():
        first, _, rest = relative.partition("/")
        trees.setdefault(Path(root) / first, {})[rest] = text
    for folder, files in trees.items():
        if "" not in files and not folder.exists():
            write_tree(folder, files, mode, sync=False)
            continue
        for rest, text in files.items():
            try:
                _write(folder / rest if rest else folder, text, mode, sync=lambda _: None)
            except OSError as error:
                raise _failed("write", folder / rest, error) from error
    if texts:
        os.sync()


def write_tree(folder: str | Path, texts: Mapping[str, str], mode: int = 0o644, sync: bool = True) -> None:
    """Make a folder with these files (relative path -> text), written beside and then renamed into place.

    Folders of files that only root may read are closed as well. Raises StoreError where the folder exists."""
    folder = Path(folder)
    if os.path.lexists(folder):
        raise StoreError(f"{folder} exists already: it is never written over")
    closed = 0o755 if mode & 0o044 else 0o700
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        beside = tempfile.mkdtemp(dir=folder.parent, prefix=f".{folder.name}.")
    except OSError as error:
        raise _failed("write", folder, error) from error
    try:
        by_folder: dict[str, dict[str, str]] = {"": {}}
        for relative, text in texts.items():
            parent, _, name = relative.rpartition("/")
            by_folder.setdefault(parent, {})[name] = text
        for parent in sorted(by_folder):
            _folders(Path(beside), parent, closed)
            _write_new(f"{beside}/{parent}", by_folder[parent], mode)
        if sync:
            os.sync()
        Path(beside).rename(folder)
    except OSError as error:
        raise _failed("write", folder, error) from error
    finally:
        shutil.rmtree(beside, ignore_errors=True)


def _folders(top: Path, relative: str, mode: int) -> None:
    top.chmod(mode)
    for part in filter(None, relative.split("/")):
        top = top / part
        top.mkdir(exist_ok=True)
        top.chmod(mode)


def _write_new(folder: str, texts: Mapping[str, str], mode: int) -> None:
    """Files in a folder that nobody sees yet: no more calls than it takes, there may be many thousands."""
    where = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        for name, text in texts.items():
            handle = os.open(name, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode, dir_fd=where)
            with os.fdopen(handle, "wb", buffering=0) as file:
                os.fchmod(handle, mode)
                file.write(text.encode("utf-8", "surrogateescape"))
    finally:
        os.close(where)


def swap_link(link: str | Path, target: str | Path) -> None:
    """Point the symbolic link ``link`` at ``target`` in one step; one that does stays. Raises StoreError."""
    link = Path(link)
    if link.is_symlink() and link.readlink() == Path(target):
        return
    beside = link.with_name(f".{link.name}.{os.getpid()}")
    try:
        link.parent.mkdir(parents=True, exist_ok=True)
        beside.unlink(missing_ok=True)
        beside.symlink_to(target)
        beside.replace(link)
    except OSError as error:
        with suppress(OSError):
            beside.unlink(missing_ok=True)
        raise _failed("link", link, error) from error


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
    return populating.check_stored(parse_json(read_text(path), path), path) if path.exists() else None


def stored_network(root: str | Path, name: str) -> dict | None:
    """The stored network proposal ``name``, or None where there is none. Raises StoreError where it is broken."""
    path = Path(root) / f"network-{name}" / "proposal.json"
    if not path.exists():
        return None
    return populating.check_stored(parse_json(read_text(path), path), path, {"links": {"name"}, "ports": {"name"}})


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
    present = {path: read_text(folder / path) for path in known if (folder / path).is_file()}
    decided = populating.decide(asked, before, present, force)
    if not folder.exists():
        write_tree(folder, {**decided.write, "proposal.json": decided.proposal})
    else:
        _change(folder, asked.name, before, decided)
    return decided


def _change(folder: Path, name: str, before: Mapping, decided: Decision) -> None:
    """Carry out what was decided, announced before and told afterwards in proposal.json."""
    if decided.write:
        write(folder / "proposal.json", populating.announced(before, name, decided.write))
    write_many(folder, decided.write)
    for path in decided.remove:
        (folder / path).unlink(missing_ok=True)
    if not (folder / "proposal.json").is_file() or read_text(folder / "proposal.json") != decided.proposal:
        write(folder / "proposal.json", decided.proposal)


def _policy(root: Path, plan: Plan) -> list[str]:
    from proposals import proposed  # reads through this module

    path = root / "policy.cfg"
    if path.exists():
        return proposed.lacking(root, plan)
    write(path, proposed.text(root, plan))
    return [f"wrote {path}: read it, change it, then run stage configure"]


def fragments(
    root: str | Path,
    hosts: Iterable[str],
    fsid: str | None = None,
    networks: Mapping[str, str] | None = None,
    time_server: str | None = None,
) -> list[str]:
    """Write the cluster, role and config fragments that are absent; return what differs from those there.

    ``networks``: ``{"public_network": "...", "cluster_network": "..."}``. Nothing is ever overwritten.
    Raises ArgumentError for a host or value that is not acceptable text, StoreError where writing fails."""
    from proposals.fragments import assignments, config

    root = Path(root)
    settings = config(fsid, networks, time_server)
    texts = {**assignments(hosts), **settings}
    there = {folder: set(_names(root / folder)) for folder in {path.rpartition("/")[0] for path in texts}}
    absent = {p: text for p, text in texts.items() if p.rpartition("/")[2] not in there[p.rpartition("/")[0]]}
    write_many(root, absent)
    messages = []
    for path in settings:
        if path not in absent:
            messages += populating.differing(path, read_yaml(root / path), parse_yaml(settings[path], path))
    return messages


def _names(folder: Path) -> list[str]:
    with suppress(FileNotFoundError):
        return [entry.name for entry in os.scandir(folder)]
    return []


def _failed(verb: str, path: str | Path, error: OSError) -> StoreError:
    return StoreError(f"cannot {verb} {shown(path, 200)}: {error.strerror or type(error).__name__}")
