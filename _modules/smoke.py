"""What a smoke test makes in the cluster, on the host with the admin's key: one name for all of it, and a record.

All that a client of a smoke test makes carries one name: a key, an RBD namespace, a directory, a user, a bucket. So
what a killed one left is found by it, and nothing of another name is ever touched. Before anything is made the cluster
keeps which services are tried (``ceph config-key get halocline/smoke``), until all of it is gone again.
"""

import json
from collections.abc import Collection, Mapping
from pathlib import Path

import halocline

NAME = "halocline-smoke"
ENTITY = f"client.{NAME}"
RECORD = "halocline/smoke"
KEYRING = Path("/run/halocline-smoke/keyring")
# By which clients wait: flags of the OSD map, health checks (docs.ceph.com, rados/operations/health-checks).
FLAGS = {"pauserd": "reads wait", "pausewr": "writes wait", "full": "writes wait, the cluster is full"}
CHECKS = ("OSD_FULL", "POOL_FULL", "PG_AVAILABILITY")


def left() -> list[str]:
    """Return the services that a test which runs, or was killed, may have left something of.

    CLI Example:

    .. code-block:: bash

        salt 'saltmaster' smoke.left
    """
    return json.loads(__salt__["cluster_cli.kept"](RECORD) or "[]")


def begin(services: Collection[str]) -> bool:
    """Keep in the cluster which services are tried, beside those that it keeps already.

    services
        Names such as ``[rbd, s3]``.

    CLI Example:

    .. code-block:: bash

        salt 'saltmaster' smoke.begin '[rbd]'
    """
    __salt__["cluster_cli.tell"](["config-key", "set", RECORD, json.dumps(sorted({*left(), *services}))])
    return True


def end() -> bool:
    """Forget what was tried: all that it made is gone. Takes the test's key away, where there is one.

    CLI Example:

    .. code-block:: bash

        salt 'saltmaster' smoke.end
    """
    drop_key()
    __salt__["cluster_cli.tell"](["config-key", "rm", RECORD])
    return True


def standing() -> list[str]:
    """Return why clients would wait: a paused or full cluster, placement groups that serve nobody; one line each.

    CLI Example:

    .. code-block:: bash

        salt 'saltmaster' smoke.standing
    """
    ask = __salt__["cluster_cli.ask"]
    set_now = str(ask(["osd", "dump"])["flags"]).split(",")
    checks = ask(["health"])["checks"]
    return [
        *(f"the flag {flag} is set: {what} ('ceph osd dump')" for flag, what in FLAGS.items() if flag in set_now),
        *(f"{check}: {checks[check]['summary']['message']}" for check in CHECKS if check in checks),
    ]


def make_key(caps: Mapping[str, str]) -> str:
    """Make the test's key with these capabilities and no others; return where its keyring lies, for root alone.

    caps
        ``{mon: profile rbd, ...}``.

    CLI Example:

    .. code-block:: bash

        salt 'saltmaster' smoke.make_key '{mon: allow r}'
    """
    drop_key()
    words = [word for service, cap in caps.items() for word in (service, cap)]
    text = halocline.run(
        ["ceph", "--connect-timeout", "30", "auth", "get-or-create", ENTITY, *words], limit=60, secret=True
    )
    KEYRING.parent.mkdir(mode=0o700, exist_ok=True)
    halocline.write(KEYRING, text, 0o600)
    return str(KEYRING)


def drop_key() -> bool:
    """Take the test's key away, from the cluster and from this host.

    CLI Example:

    .. code-block:: bash

        salt 'saltmaster' smoke.drop_key
    """
    KEYRING.unlink(missing_ok=True)
    halocline.draft(KEYRING).unlink(missing_ok=True)
    __salt__["cluster_cli.tell"](["auth", "rm", ENTITY])  # one that is not there is no error
    return True
