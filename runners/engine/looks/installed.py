"""What a master and its minions have of the product, looked at for ``proposals/validation/installation.py``.

Nothing is changed, and none of the pinned libraries is needed.
"""

import contextlib
import hashlib
import importlib.util
import json
import os
import pwd
import shutil
from collections.abc import Collection, Iterator, Mapping
from configparser import ConfigParser
from pathlib import Path

import salt.key
import yaml

from proposals.files.site import site
from proposals.stages import masters
from proposals.text.errors import InventoryError, ProposalError
from proposals.validation import installation
from proposals.validation.installation import Host, Installation
from proposals.validation.master_load import Load
from runners.engine.asking import jobs, minions

ROOT = Path(__file__).resolve().parents[3]
RECORD = Path("/var/lib/halocline/installed.json")  # of srv/install, whose hashes are sha256, of a link its target
PACKAGED = "/usr/share/halocline"  # where a package brings the tree
FOLDERS = {"runner_dirs": "runners", "states_dirs": "salt/_states", "outputter_dirs": "salt/_output"}
ROOTS = {"file_roots": "salt", "pillar_roots": "pillar"}
IMPORTED = {"PyYAML": "yaml", "Jinja2": "jinja2"}  # libraries whose import name is another
KINDS = ("modules", "states", "grains", "utils")  # as host_parts has them


def version() -> str:
    """Return the product's version, of setup.cfg."""
    return _setup()["metadata"]["version"]


def hosts(opts: Mapping, asked: Collection[str]) -> tuple[dict[str, Host], dict[str, str], list[str]]:
    """Return what each minion has; why others could not tell; and who did not answer.

    Raises ProposalError where the master takes no job."""
    replies = jobs.ask(opts, asked, "host_parts.look", timeout=15)
    found, failed = {}, {problem.minion: problem.text for problem in replies.failed}
    for minion, answer in replies.answers.items():
        try:
            found[minion] = installation.read(answer)
        except InventoryError as err:
            failed[minion] = str(err)
    return found, failed, replies.silent


def served(opts: Mapping) -> dict[str, str]:
    """Return a hash of each part of ours that minions are sent: of the first root's file, as Salt takes it."""
    return {part: _hash(path) for part, path in _parts(opts)}


def replaced(opts: Mapping) -> list[str]:
    """Return the files of the master's file roots that minions are sent in place of parts of ours."""
    own = ROOT / "salt"
    return [str(path) for part, path in _parts(opts) if not path.samefile(own / f"_{part}")]


def _parts(opts: Mapping) -> Iterator[tuple[str, Path]]:
    """Each part of ours, such as ``modules/osd.py``, with the file that minions are sent."""
    roots = [Path(root) for root in opts["file_roots"].get("base", ())]
    for kind in KINDS:
        for name in sorted(path.name for path in (ROOT / "salt" / f"_{kind}").glob("*.py")):
            paths = [root / f"_{kind}" / name for root in [*roots, ROOT / "salt"]]
            yield f"{kind}/{name}", next(path for path in paths if path.is_file())


def look(opts: Mapping, only: str | None = None) -> Installation:
    """Look at a master and its minions.

    opts
        The master's options.
    only
        The one minion to be asked, of ours or one whose key waits; None for all.
    """
    keys = salt.key.get_key({**opts, "output": "quiet"}).list_keys()
    ours, pillar, beside = _ours(opts)
    above = bool(opts.get("order_masters"))
    asked = [] if above else [minion for minion in ours if only in (None, minion)]
    try:
        (found, failed, silent), refused = hosts(opts, asked), "" if asked else _gone(opts)
    except ProposalError as err:
        found, failed, silent, refused = {}, {}, [], str(err)
    return Installation(
        refused=refused,
        above=above,
        beside=beside,
        older=_older(opts),
        pillar=pillar,
        cached=bool(opts.get("pillar_cache")),
        settings=_lacking(opts),
        backends=_backends(opts),
        files=_changed(),
        source=_source(),
        libraries=_libraries(),
        logs=_logs(opts),
        room=_room(opts),
        load=_load(opts),
        waiting=[minion for minion in keys.get("minions_pre", ()) if only in (None, minion)],
        denied=[minion for minion in keys.get("minions_denied", ()) if only in (None, minion)],
        ours=ours,
        silent=silent,
        failed=failed,
        hosts=found,
        served=served(opts),
    )


def _ours(opts: Mapping) -> tuple[list[str], str, bool]:
    """Our minions, why that cannot be told, and whether they may have other masters."""
    try:
        pillar = minions.told(opts)
        errors = "; ".join(map(str, pillar.get("_errors", ())))
        why = f"the master's own pillar cannot be compiled: {errors}" if errors else ""
        return minions.ours(opts), why, pillar.get(masters.SETTING) is True
    except ProposalError as err:
        return [], str(err), False


def _gone(opts: Mapping) -> str:
    """Why no master runs, by its process: where there is nobody to ask."""
    try:
        process = Path(opts["pidfile"]).read_text().strip()
    except OSError:
        process = ""
    return "" if process.isdigit() and Path("/proc", process).exists() else "no Salt master runs on this host"


def _older(opts: Mapping) -> str:
    """The newest file of the configuration, where it is newer than the master that runs."""
    began = Path(opts["pidfile"])
    main = Path(opts["conf_file"]).absolute()
    told = opts.get("default_include", "master.d/*.conf") or ()
    patterns = [main.parent / Path(each).expanduser() for each in ([told] if isinstance(told, str) else told)]
    files = [main, *(path for each in patterns for path in Path("/").glob(str(each.relative_to("/"))))]
    newest = max((path for path in files if path.is_file()), key=lambda path: path.stat().st_mtime, default=None)
    if newest is None or not began.is_file():
        return ""
    return str(newest) if newest.stat().st_mtime > began.stat().st_mtime else ""


def _lacking(opts: Mapping) -> list[str]:
    """The keys of the shipped drop-in in which this master's configuration lacks ours."""
    shipped = yaml.safe_load((ROOT / "srv/master.d/halocline.conf").read_text())
    named = {key: (opts.get(key) or {}).get("base", ()) for key in ROOTS}
    named |= {key: opts.get(key) or () for key in FOLDERS}
    here = {key: (ROOT / folder).resolve() for key, folder in {**ROOTS, **FOLDERS}.items()}
    lacking = [key for key, folders in named.items() if here[key] not in {Path(each).resolve() for each in folders}]
    if not any("stack" in each for each in opts.get("ext_pillar") or ()):
        lacking.append("ext_pillar")
    return lacking + [key for key in shipped if key not in {*named, "ext_pillar"} and key not in opts]


def _backends(opts: Mapping) -> list[str] | None:
    """Where the master takes files from, where its file_roots, in which we are, are none of that; else None."""
    told = opts.get("fileserver_backend", ["roots"]) or []
    if isinstance(told, str):  # Salt takes each letter for a backend
        return [told]
    return None if "roots" in told else [str(each) for each in told]


def _changed() -> dict[str, str]:
    """What srv/install wrote and is not as it was; nothing where it did not run."""
    if not RECORD.is_file():
        return {}
    try:
        recorded = json.loads(RECORD.read_text())["paths"]
    except (ValueError, KeyError, TypeError):
        return {str(RECORD): "edited"}
    now = {path: _found(Path(path)) for path in recorded}
    return {path: "edited" if now[path] else "missing" for path, hashes in recorded.items() if now[path] not in hashes}


def _source() -> str:
    """The tree that srv/install copied, else a package's; empty where neither is there any more."""
    try:
        recorded = json.loads(RECORD.read_text()).get("from")
    except (OSError, ValueError, AttributeError):
        recorded = None
    trees = [str(tree) for tree in (recorded, PACKAGED) if tree]
    return next((tree for tree in trees if Path(tree, "srv/install").is_dir()), "")


def _found(path: Path) -> str:
    """What lies at a path as the record has it; empty where nothing does."""
    if path.is_symlink():
        return f"-> {path.readlink()}"
    return _hash(path) if path.is_file() else ""


def _hash(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def _libraries() -> list[str]:
    """The pinned libraries that this Python, Salt's own, lacks."""
    pins = [line for line in _setup()["options"]["install_requires"].split("\n") if "==" in line and line[0] != "#"]
    names = [pin.partition("==")[0] for pin in pins]
    return [name for name in names if not importlib.util.find_spec(IMPORTED.get(name, name))]


def _setup() -> ConfigParser:
    setup = ConfigParser()
    setup.read(ROOT / "setup.cfg")
    return setup


def _logs(opts: Mapping) -> dict[str, tuple[str, str]]:
    """The folders of run logs and of the site, where the master's user cannot write to them or what is in them."""
    user, folders = _user(opts), {}
    if logs := opts.get("halocline_log_dir"):
        folders[Path(logs)] = [Path(logs)]
    with contextlib.suppress(ProposalError):  # another row has it
        root = site(opts).root
        inner = sorted(root.iterdir()) if root.is_dir() and os.access(root, os.R_OK | os.X_OK) else []
        folders[root] = [root, *(each for each in inner if each.name != "stack" and each.is_dir())]  # stack/ is read
    refused = {top: [why for each in these if (why := _refused(each, user))] for top, these in folders.items()}
    return {str(top): (whys[0], user) for top, whys in refused.items() if whys}


def _refused(folder: Path, user: str) -> str:
    """Why the master's user cannot write to a folder, which is made when needed; empty where it can."""
    there = next((each for each in (folder, *folder.parents) if each.exists()), Path("/"))
    if not there.is_dir():
        return f"{there} is no folder"
    if not os.access(there, os.W_OK):
        return f"{there} is read-only, or another user's"
    # Root may write everywhere: of the user by whose rights the master writes the owner tells.
    if user != "root" and os.geteuid() == 0 and folder.exists() and folder.stat().st_uid not in _ids(user):
        return f"the master runs as {user}, whose {folder} is not"
    return ""


def _user(opts: Mapping) -> str:
    return str(opts.get("user") or "root").removeprefix("sudo_")


def _ids(user: str) -> Iterator[int]:
    try:
        yield pwd.getpwnam(user).pw_uid
    except KeyError:
        return


def _room(opts: Mapping) -> dict[str, int]:
    """Bytes free where the master writes: of each file system one folder."""
    roots = list(opts["pillar_roots"].get("base", ()))[:1]
    folders = [Path(each) for each in (opts["cachedir"], opts.get("halocline_log_dir"), *roots) if each]
    devices = {folder.stat().st_dev: folder for folder in reversed(folders) if folder.is_dir()}
    return {str(folder): shutil.disk_usage(folder).free for folder in devices.values()}


def _load(opts: Mapping) -> Load:
    """The master's means for all of its minions at once; files are counted as Salt lists them."""
    roots = [root for roots in opts["pillar_roots"].values() for root in roots]
    files = sum(len(names) for root in roots for _, _, names in os.walk(root, followlinks=True))
    processors = os.cpu_count() or 1
    return Load(processors, opts["worker_threads"], opts["timeout"], opts["gather_job_timeout"], files)
