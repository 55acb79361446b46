"""A smoke test of RBD by librbd: an image is written and read back by the program ``rbd``.

In each replicated pool of images, in an RBD namespace of the test's own, by a key that reaches that namespace alone
(docs.ceph.com, rados/operations/user-management: profile rbd).
"""

import functools
import json
import secrets

import halocline
from salt.exceptions import CommandExecutionError

NAME = "halocline-smoke"
LIMIT = 60  # seconds one command may take
WATCHED = 60  # seconds until Ceph forgets a client that was killed with the image open (osd_client_watch_timeout is 30)
BYTES = 1 << 18
REPLICATED = 1


def attempt() -> dict[str, list[str]]:
    """Write and read an image in every pool of images: ``{passed, failed, skipped}``, a line for each pool.

    CLI Example:

    .. code-block:: bash

        salt 'saltmaster' smoke_rbd.attempt
    """
    pools = _pools()
    if not pools:
        return {"passed": [], "failed": [], "skipped": ["no pool is one of images"]}
    clean()
    caps = {"mon": "profile rbd", "osd": ", ".join(f"profile rbd pool={pool} namespace={NAME}" for pool in pools)}
    client = ["--id", NAME, "--keyring", __salt__["smoke.make_key"](caps)]
    return {
        **halocline.tried({f"pool {pool}": functools.partial(_image, pool, client) for pool in pools}),
        "skipped": [],
    }


def clean() -> list[str]:
    """Take away the test's namespaces with what is in them; return a line for each.

    CLI Example:

    .. code-block:: bash

        salt 'saltmaster' smoke_rbd.clean
    """
    done = []
    for pool in _pools():
        if NAME in [one["name"] for one in json.loads(_rbd("namespace", "ls", "--pool", pool, "--format", "json"))]:
            for image in json.loads(_rbd("ls", "--format", "json", f"{pool}/{NAME}")):
                gone = ["rm", f"{pool}/{NAME}/{image}", "--no-progress"]
                halocline.until(functools.partial(_rbd, *gone), WATCHED)
            _rbd("namespace", "remove", "--pool", pool, "--namespace", NAME)
            done.append(f"RBD namespace {pool}/{NAME}")
    return done


def _image(pool: str, client: list[str]) -> None:
    image = f"{pool}/{NAME}/image"
    _rbd("namespace", "create", "--pool", pool, "--namespace", NAME)
    written = secrets.token_hex(BYTES // 2)
    _rbd(*client, "import", "-", image, "--no-progress", stdin=written)
    if _rbd(*client, "export", image, "-", "--no-progress") != written:
        raise CommandExecutionError("what was read from the image is not what was written")
    _rbd(*client, "rm", image, "--no-progress")


def _pools() -> list[str]:
    """The pools that images may lie in by themselves: erasure-coded ones hold no metadata of theirs."""
    pools = __salt__["cluster_cli.ask"](["osd", "pool", "ls", "detail"])
    return [pool["pool_name"] for pool in pools if "rbd" in pool["application_metadata"] and pool["type"] == REPLICATED]


def _rbd(*words: str, stdin: str | None = None) -> str:
    try:
        return halocline.run(["rbd", *words], stdin=stdin, limit=LIMIT)
    except CommandExecutionError as err:
        ended = f"did not end within {LIMIT} s"
        if ended not in str(err):
            raise
        why = "its operations wait: a pool or the cluster is full or paused, or placement groups serve nobody"
        raise CommandExecutionError(f"'rbd {' '.join(words)}' {ended}: {why}") from None
