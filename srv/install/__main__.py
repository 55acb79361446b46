"""Put Halocline where this host's Salt master finds it, or take it away again (run it as root).

    python3 srv/install [--link]     again after an update: what changed is replaced
    python3 /srv/halocline/srv/install --undo

It writes the tree to /srv/halocline (with --link: a link to this checkout), drop-ins to master.d and minion.d, a file
for logrotate, and a .pth file where Salt's own Python reads it: a distribution's, pip's or the vendor's bundled one.
Where the master runs as another user than root, it gives that user <pillar_root>/ceph and the folder of logs.
The site's own roots and settings stay and come first. What is not ours is never overwritten;
/var/lib/halocline/installed.json says what is.
"""

import os
import shutil
import subprocess
import sys

PYTHON = (3, 11)
NEWER = ("/opt/saltstack/salt/bin/python3", "python3.13", "python3.12", "python3.11")  # the first is bundled with Salt
if sys.version_info < PYTHON:  # a distribution's own, from 3.6 on: it can read this file, and none that is imported
    here = f"{sys.version_info[0]}.{sys.version_info[1]}, expected 3.11 or newer"
    if "--inside" in sys.argv:  # as main() found it: another would not be Salt's
        sys.exit(f"error: Salt's Python is {here}: update Salt")
    for newer in filter(None, map(shutil.which, NEWER)):
        enough = [newer, "-c", f"import sys; sys.exit(sys.version_info < {PYTHON})"]
        if subprocess.call(enough, stderr=subprocess.DEVNULL) == 0:
            os.execv(newer, [newer, *sys.argv])
    sys.exit(
        f"error: this Python is {here}, and none is found as {', '.join(NEWER)}: "
        "type Salt's own in place of python3; 'head -n 1 $(command -v salt-run)' names it"
    )

import argparse
from pathlib import Path

import owned
from record import LIBRARY, InstallError, Record, found, listed
from wanted import CHECKOUT, DROP_IN, HOME, at_home, copied, wanted, writes

PAGE = "halocline-page.conf"  # of master.d, where page.enable had salt-api serve the page: it has read our code, too
LOADS = (
    "import proposals.cli, runners.engine.asking.jobs, rich, salt.config as c; o = c.master_config({!r}); "
    "assert {!r} in o['file_roots']['base']"
)


def main() -> None:
    """Find Salt's own Python and go on in it: it has Salt's configuration reader and YAML."""
    parser = argparse.ArgumentParser(
        prog="srv/install", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--undo", action="store_true", help="take everything away again")
    parser.add_argument("--link", action="store_true", help="serve this checkout itself, nothing is copied")
    parser.add_argument("--config-dir", default="/etc/salt", help="Salt's configuration (/etc/salt)")
    parser.add_argument("--python", help="Salt's Python, where salt-run does not tell it")
    parser.add_argument("--inside", action="store_true", help=argparse.SUPPRESS)
    asked = parser.parse_args()
    try:
        if os.geteuid() != 0:
            raise InstallError("this needs root: run it with sudo")
        if asked.undo:
            sys.exit(undo())
        if not asked.inside:
            python = asked.python or salt_python(shutil.which("salt-run"))
            os.execv(python, [python, str(Path(__file__).parent), *sys.argv[1:], "--inside"])
        install(Path(asked.config_dir), asked.link)
    except (InstallError, OSError) as err:
        sys.exit(f"error: {err}")


def salt_python(script: str | None) -> str:
    """Return the Python that runs a script: its shebang's, else (bundled with Salt) the one in the folder beside it."""
    if not script:
        raise InstallError("salt-run is not in PATH: install salt-master first, or name Salt's Python with --python")
    real = Path(script).resolve()
    shebang = real.read_text(errors="replace").split("\n", 1)[0].removeprefix("#!").split()
    named = shutil.which(shebang[-1]) if shebang and "python" in shebang[-1] else None
    for python in filter(None, (named, real.parent / "bin" / "python3", real.parent / "python3")):
        if os.access(python, os.X_OK) and _runs(python, "import salt.version").returncode == 0:
            return str(python)
    raise InstallError(f"{script} does not tell a Python that has Salt: name it with --python")


def install(config: Path, link: bool) -> None:
    """Write what is wanted, once it is known that nothing of it is somebody else's."""
    record = Record()
    if os.path.lexists(HOME) and not record.paths and HOME.resolve() != CHECKOUT:
        raise InstallError(f"{HOME} exists and is not ours: move it away")
    files = wanted(config, link or HOME.is_symlink(), record)
    taken = [path for path, content in files.items() if not record.ours(path) and found(path) not in (None, content)]
    if taken:
        raise InstallError(f"not ours, or edited since: {listed(taken)}; move it away first")
    name, folders = writes(config)
    user = owned.known(name)
    update = bool(record.paths)
    record.source = record.source if at_home() else str(CHECKOUT)
    record.write(files, {str(config / f"{kind}.d" / DROP_IN): copied(config, kind) for kind in ("master", "minion")})
    done = _runs(sys.executable, LOADS.format(str(config / "master"), str(HOME / "salt")))
    if done.returncode:
        why = done.stderr.strip()[-300:]
        if update:  # what was there before goes only where a person says so
            again = f"mend that and run this again, or take all away: python3 {HOME}/srv/install --undo"
            raise InstallError(f"the update is in place, and Salt's Python does not load it: {why}; {again}")
        undo()
        raise InstallError(f"Salt's Python does not find it, all is taken away again: {why}")
    for folder in owned.give(folders, user) if user else ():
        print(f"not touched: {folder}; the master runs as {name}, and has to write there: chown -R {name} {folder}/")
    print(f"installed: {HOME}, {config}/master.d/{DROP_IN}, for {sys.executable}")
    page = " salt-api" if (config / "master.d" / PAGE).exists() else ""
    print(f"now: systemctl restart salt-master{page} (to undo: python3 {HOME}/srv/install --undo)")


def undo() -> int:
    """Take away what is recorded and as it was written; name and keep the rest. Return the exit status."""
    edited = Record().undo()
    print(f"taken away ({LIBRARY.parent} too); what the site keeps in its pillar and /var/log/halocline stays")
    print("now: systemctl restart salt-master")
    for path in edited:
        print(f"kept, as it was edited: {path}")
    return 1 if edited else 0


def _runs(python: str | Path, code: str) -> subprocess.CompletedProcess:
    return subprocess.run([str(python), "-c", code], capture_output=True, text=True, check=False, cwd="/")


if __name__ == "__main__":
    main()
