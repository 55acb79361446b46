"""A smoke test of CephFS by libcephfs, of which Ceph's packages bring Python's binding: nothing is mounted.

So nothing of a killed test stays mounted, and no client hangs in the kernel. In each file system a directory of the
test's own, by a key that reaches that directory alone (docs.ceph.com, cephfs/client-auth).
"""

import functools

import halocline
from salt.exceptions import CommandExecutionError

NAME = "halocline-smoke"
PYTHON = "/usr/bin/python3"  # the system's, which has the binding; Salt's own has none
LIMIT = 90  # seconds
# argv: what to do, file system, user, keyring. As admin: make or remove the directory, which may be there or not. As
# the test's user: one client writes a file there, another one reads it.
PROGRAM = r"""
import os, secrets, sys
import cephfs

sys.excepthook = lambda kind, err, _: print(f"{kind.__name__}: {err}", file=sys.stderr)
what, system, user, keyring = sys.argv[1:]
folder = b"/halocline-smoke"

def mounted(root):
    client = cephfs.LibCephFS(conffile="/etc/ceph/ceph.conf", auth_id=user)
    client.conf_set("client_mount_timeout", "30")
    if keyring:
        client.conf_set("keyring", keyring)
    client.mount(root, system.encode())
    return client

def quietly(error, function, *words):
    try:
        function(*words)
    except error:
        return False
    return True

if what == "make":
    client = mounted(b"/")
    quietly(cephfs.ObjectExists, client.mkdir, folder, 0o700)
    client.shutdown()
elif what == "remove":
    client = mounted(b"/")
    quietly(cephfs.ObjectNotFound, client.unlink, folder + b"/file")
    print("removed" if quietly(cephfs.ObjectNotFound, client.rmdir, folder) else "")
    client.shutdown()
else:
    one, two, text = mounted(folder), mounted(folder), secrets.token_bytes(65536)
    file = one.open(b"/file", os.O_CREAT | os.O_TRUNC | os.O_WRONLY, 0o600)
    one.write(file, text, 0)
    one.fsync(file, 0)
    one.close(file)
    file = two.open(b"/file", os.O_RDONLY)
    if two.read(file, 0, len(text) + 1) != text:
        sys.exit("what one client read is not what another one wrote")
    two.close(file)
    two.unlink(b"/file")
    one.shutdown()
    two.shutdown()
"""


def attempt() -> dict[str, list[str]]:
    """Write a file by one client and read it by another, in every file system: ``{passed, failed}``, a line for each.

    CLI Example:

    .. code-block:: bash

        salt 'saltmaster' smoke_cephfs.attempt
    """
    systems = _systems()
    caps = {
        "mon": ", ".join(f"allow r fsname={name}" for name in systems),
        "mds": ", ".join(f"allow rw fsname={name} path=/{NAME}" for name in systems),
        "osd": ", ".join(f"allow rw tag cephfs data={name}" for name in systems),
    }
    if not systems:
        return {"passed": [], "failed": ["the cluster has no file system"]}
    keyring = __salt__["smoke.make_key"](caps)
    return halocline.tried({f"file system {name}": functools.partial(_file, name, keyring) for name in systems})


def clean() -> list[str]:
    """Take away the test's directories; return a line for each.

    CLI Example:

    .. code-block:: bash

        salt 'saltmaster' smoke_cephfs.clean
    """
    return [f"directory /{NAME} of file system {name}" for name in _systems() if _run("remove", name).strip()]


def _file(system: str, keyring: str) -> None:
    _run("remove", system)
    _run("make", system)
    _run("use", system, NAME, keyring)


def _systems() -> list[str]:
    return [one["name"] for one in __salt__["cluster_cli.ask"](["fs", "ls"])]


def _run(what: str, system: str, user: str = "admin", keyring: str = "") -> str:
    try:
        return halocline.run([PYTHON, "-c", PROGRAM, what, system, user, keyring], limit=LIMIT)
    except CommandExecutionError as err:
        raise CommandExecutionError(str(err).replace(PROGRAM, "(libcephfs)")) from None
