"""What is to be installed, as ``{path: bytes, or '-> target' of a link}``. Runs in Salt's own Python."""

import importlib.util
import json
import os
import subprocess
import sys
import sysconfig
import tempfile
from collections.abc import Iterator
from configparser import ConfigParser
from pathlib import Path
from typing import Any

from record import LIBRARY, InstallError, Record, found, listed

CHECKOUT = Path(__file__).resolve().parent.parent.parent
HOME = Path("/srv/halocline")  # as srv/master.d/halocline.conf has it
PACKAGES = ("proposals", "runners")  # what Salt's Python is to find
PARTS = (*PACKAGES, "_modules", "salt", "pillar", "srv", "docs", "README.md", "LICENSE", "setup.cfg")
PACKAGED = "/usr/share/halocline"  # where a package brings the tree
DROP_IN = "zz-halocline.conf"  # Salt joins drop-ins in the order of their names: the site's own roots come first
HEADER = "# Made by srv/install from srv/{0}.d/halocline.conf and this host's own words, which come first.\n"
WHEELS = "wheels"  # of the libraries, where a package brought this tree
LOGROTATE = "/etc/logrotate.d/halocline"
# Before /usr/share, in the order in which bash-completion, zsh and man look: of Salt's own packages nothing is touched.
SHARED = Path("/usr/local/share")
SHELLS = {
    "srv/completions/bash/salt-run": "bash-completion/completions/salt-run",
    "srv/completions/zsh/_salt-run": "zsh/site-functions/_salt-run",
    "srv/man/halocline.1": "man/man1/halocline.1",
}
IMPORTED = {"PyYAML": "yaml", "Jinja2": "jinja2"}  # libraries whose import name is another


def wanted(config: Path, link: bool, record: Record) -> dict[str, bytes | str | None]:
    """Return everything that is to be there.

    config
        Salt's configuration folder.
    link
        Serve the checkout itself.
    record
        What was installed before.
    """
    if at_home():
        files = {path: found(path) for path in _whole(record)}
    else:
        files = (
            {str(HOME): f"-> {CHECKOUT}"} if link else {str(HOME / name): found(CHECKOUT / name) for name in _tree()}
        )
    files |= {str(LIBRARY / name): content for name, content in _libraries(record)}
    files |= {str(LIBRARY / name): f"-> {HOME}/{name}" for name in PACKAGES}
    files[str(Path(sysconfig.get_path("purelib")) / "halocline.pth")] = f"{LIBRARY}\n".encode()
    kinds = ("master", "minion") if (config / "minion.d").is_dir() else ("master",)
    drop_ins = {kind: _drop_in(config, kind) for kind in kinds}
    files |= {str(SHARED / place): found(CHECKOUT / name) for name, place in SHELLS.items()}
    files[LOGROTATE] = _logrotate(_settings(config, "master")["halocline_log_dir"]).encode()
    return files | {str(config / f"{kind}.d" / DROP_IN): text.encode() for kind, text in drop_ins.items()}


def at_home() -> bool:
    """Whether this runs from HOME, which was copied by us or put there by hand."""
    return HOME.resolve() == CHECKOUT and not HOME.is_symlink()


def _whole(record: Record) -> list[str]:
    """The paths of what we copied to HOME; InstallError where any is not as it was: HOME itself cannot mend it."""
    paths = [path for path in record.paths if HOME in Path(path).parents]
    if damaged := [path for path in paths if not record.ours(path)]:
        trees = [tree for tree in (record.source, PACKAGED) if tree and Path(tree, "srv/install").is_dir()]
        typed = f"'python3 {trees[0]}/srv/install'" if trees else "srv/install of a checkout of Halocline"
        raise InstallError(
            f"missing, or edited since: {listed(damaged)}; move away what is edited, then run {typed}, which brings "
            f"them again: {HOME} has no other copy"
        )
    return paths


def _tree() -> Iterator[str]:
    """The path in the tree of every file and link of the product."""
    for part in PARTS:
        if (CHECKOUT / part).is_file():
            yield part
        for folder, below, names in os.walk(CHECKOUT / part):
            below[:] = [name for name in below if name != "__pycache__"]
            links = [name for name in below if Path(folder, name).is_symlink()]
            yield from (str(Path(folder, name).relative_to(CHECKOUT)) for name in sorted(names + links))


def _libraries(record: Record) -> Iterator[tuple[str, bytes | str | None]]:
    """The files of the libraries that setup.cfg pins and Salt's Python lacks, by its own pip, for a place apart."""
    setup = ConfigParser()
    setup.read(CHECKOUT / "setup.cfg")
    pins = [line for line in setup["options"]["install_requires"].split("\n") if "==" in line and line[0] != "#"]
    sys.path[:] = [path for path in sys.path if path != str(LIBRARY)]
    lacking = [pin for pin in pins if not importlib.util.find_spec(IMPORTED.get(_name(pin), _name(pin)))]
    there = [f"{pin.replace('==', '-')}.dist-info" for pin in lacking]
    links = [str(LIBRARY / name) for name in PACKAGES]
    kept = [path for path in record.paths if LIBRARY in Path(path).parents and path not in links]
    whole = all((LIBRARY / each).is_dir() for each in there) and all(map(record.ours, kept))
    if lacking and whole and _load(lacking):
        yield from ((path.removeprefix(f"{LIBRARY}/"), found(path)) for path in kept)
        return
    with tempfile.TemporaryDirectory() as folder:
        for pin in lacking:
            _fetch(pin, folder)
        for path in sorted(Path(folder).rglob("*")):
            if path.is_file() and path.parent.name != "bin":
                yield str(path.relative_to(folder)), path.read_bytes()


def _load(pins: list[str]) -> bool:
    """Whether this Python loads what lies there: some libraries are built for one version of it, Salt's of that day."""
    code = f"import {', '.join(IMPORTED.get(_name(pin), _name(pin)) for pin in pins)}"
    environment = {**os.environ, "PYTHONPATH": str(LIBRARY)}
    words = [sys.executable, "-Bc", code]
    return subprocess.run(words, capture_output=True, check=False, cwd="/", env=environment).returncode == 0


def _name(pin: str) -> str:
    return pin.partition("==")[0]


def _fetch(pin: str, folder: str) -> None:
    words = [sys.executable, "-m", "pip", "install", "--quiet", "--no-compile", "--target", folder, pin]
    if (CHECKOUT / WHEELS).is_dir():
        words += ["--no-index", "--find-links", str(CHECKOUT / WHEELS)]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    if done.returncode:
        why = (done.stderr.strip().splitlines() or ["no word"])[-1]
        raise InstallError(
            f"Salt's Python lacks {pin}, and its pip cannot fetch it ({why}): install the distribution's "
            f"python3-{_name(pin)} or give pip an index, then run this again"
        )


def copied(config: Path, kind: str) -> list[Path]:
    """The files of the site's own from which our drop-in may copy: the main one, and those that Salt reads after it.

    A drop-in's key hides the same one of the main file. Salt joins the drop-ins themselves.
    """
    later = [path for path in _drop_ins(config, kind) if path.name > DROP_IN]
    return [path for path in (config / kind, *later) if path.is_file()]


def _drop_ins(config: Path, kind: str) -> list[Path]:
    """The site's own, in Salt's order."""
    paths = sorted((config / f"{kind}.d").glob("*.conf"))
    return [path for path in paths if path.name != DROP_IN and not path.name.startswith(".")]


def _drop_in(config: Path, kind: str) -> str:
    """Our drop-in as this host is to have it: what Salt lacks yet when it has read what stands before it."""
    import yaml

    main, before = config / kind, [path for path in _drop_ins(config, kind) if path.name < DROP_IN]
    stays = {key: each for key, each in _merged([main], kind).items() if not isinstance(each, dict | list)}
    there = {**stays, **_merged(before, kind)}
    return HEADER.format(kind) + yaml.safe_dump(_less(_settings(config, kind), there) or {})


def _settings(config: Path, kind: str) -> dict[str, Any]:
    """Our settings as they count on this host: what its own configuration says comes first, and stays."""
    shipped = _shipped(kind)
    own = {**_merged([config / kind], kind), **_merged(_drop_ins(config, kind), kind)}
    for key in ("file_roots", "pillar_roots"):
        if roots := (own.get(key) or {}).get("base"):
            if key == "pillar_roots":  # where the site keeps its files: in its own first pillar root
                shipped["ext_pillar"] = json.loads(json.dumps(shipped["ext_pillar"]).replace("/srv/pillar", roots[0]))
            shipped[key]["base"] = [root for root in shipped[key]["base"] if root.startswith(f"{HOME}/")]
    return {key: _joined(own.get(key), each) for key, each in shipped.items()}


def writes(config: Path) -> tuple[str, dict[Path, int]]:
    """Return as whom the master runs, and the folders in which it writes for us, each with the mode of a new one."""
    told = {**_merged([config / "master"], "master"), **_merged(_drop_ins(config, "master"), "master")}
    settings = _settings(config, "master")
    folders = {Path(settings["pillar_roots"]["base"][0]) / "ceph": 0o755, Path(settings["halocline_log_dir"]): 0o750}
    return str(told.get("user") or "root").removeprefix("sudo_"), folders


def _shipped(kind: str) -> dict[str, Any]:
    import yaml

    return yaml.safe_load((CHECKOUT / "srv" / f"{kind}.d" / "halocline.conf").read_text())


def _merged(paths: list[Path], kind: str) -> dict[str, Any]:
    """Files of Salt's configuration that exist, joined as Salt joins drop-ins."""
    import salt.utils.dictupdate

    merged: dict[str, Any] = {}
    for path in filter(Path.exists, paths):
        own = _read(path)
        _compare(str(path), own, _shipped(kind))
        salt.utils.dictupdate.update(merged, own, True, True)
    return merged


def _read(path: Path) -> Any:
    """What a file of Salt's configuration says; InstallError with the line where that is not YAML."""
    import yaml

    try:
        return yaml.safe_load(path.read_text()) or {}
    except (yaml.YAMLError, UnicodeDecodeError) as err:
        mark = getattr(err, "problem_mark", None)
        why = f"line {mark.line + 1}: {getattr(err, 'problem', '')}" if mark else str(err)
        raise InstallError(f"{path}: expected YAML, found {why}; mend it, then run this again") from None


def _compare(name: str, own: Any, ours: Any) -> None:
    """Refuse what is no list, or none of keys, where ours is one: Salt takes its defaults for that, or our entries."""
    forms = {dict: "keys with values", list: "a list"}
    expected, there = (forms.get(type(each), "a single value") for each in (ours, own))
    if own is not None and expected != there:
        raise InstallError(f"{name}: expected {expected}, found {there}; mend it, then run this again")
    if isinstance(own, dict) and isinstance(ours, dict):
        for key, each in ours.items():
            _compare(f"{name}: {key}", own.get(key), each)


def _logrotate(logs: str) -> str:
    """How logs of commands are rotated, where the master writes them to this folder."""
    return (CHECKOUT / "srv" / "logrotate.d" / "halocline").read_text().replace("/var/log/halocline", logs)


def _joined(own: Any, ours: Any) -> Any:
    """Lists end with ours, dicts take ours where they have nothing, a setting stays as the site has it."""
    if own is None:
        return ours
    if isinstance(own, dict) and isinstance(ours, dict):
        return {**own, **{key: _joined(own.get(key), each) for key, each in ours.items()}}
    return [*own, *(each for each in ours if each not in own)] if isinstance(own, list) else own


def _less(wanted: Any, there: Any) -> Any:
    """What is wanted and not there yet: entries of lists, keys of dicts, a setting; None where all of it is."""
    if isinstance(wanted, dict) and isinstance(there, dict):
        rest = {key: _less(each, there.get(key)) for key, each in wanted.items()}
        return {key: each for key, each in rest.items() if each is not None} or None
    if isinstance(wanted, list) and isinstance(there, list):
        return [each for each in wanted if each not in there] or None
    return None if wanted == there else wanted
