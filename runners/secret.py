"""``salt-run secret.*``: the cluster's keys, by name."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from proposals.cluster import revoking
from proposals.files import atomic, site
from proposals.pillar import key_store, secrets
from proposals.services import monitoring
from proposals.text import names
from proposals.text.errors import ArgumentError, ProposalError
from runners.engine import answer
from runners.engine.asking import jobs
from runners.engine.looks import keys
from runners.engine.osds import osd_key
from runners.engine.runs import one_at_a_time, stage_lock, stage_log

CONFIGURE = "'salt-run state.orch ceph.stage.configure'"
DEPLOY = "'salt-run state.orch ceph.stage.deploy'"
SERVICES = "'salt-run state.orch ceph.stage.services'"
RESTART = "'salt-run state.orch ceph.stage.restart'"
# It has users in a database of its own, and takes the file at its first start alone.
GRAFANA = (
    "then on each host of Grafana: grafana-cli --homepath /usr/share/grafana --config /etc/grafana/grafana.ini admin "
    "reset-admin-password --password-from-stdin </etc/grafana/admin.password"
)


@answer.answers
def rotate(name: str, test: bool = False) -> dict[str, Any]:
    """Make a fresh key for one of the cluster's entities, or a fresh password, in place of the one that it has.

    The next configure tells it to whom it concerns, the next deploy or services stage to the cluster and to hosts; a
    daemon takes it with the restart stage. Until then the old one holds. ``mon.`` cannot be rotated. An OSD's key,
    which the master does not keep, is rotated at once, and the OSD restarted by ok-to-stop.

    name
        The entity: client.admin, client.backup, mgr.HOST, osd.3; or the password, such as dashboard.admin. ``osd.*``:
        all OSDs whose key is of the cipher from before AES-256, one after the other.
    test
        Only say what would be done.

    CLI Example:

    .. code-block:: bash

        salt-run secret.rotate client.admin
        salt-run secret.rotate osd.3 test=true
        salt-run secret.rotate 'osd.*'
    """
    stage_lock.free(__opts__)
    name, paths = str(name), site.site(__opts__)
    if name == osd_key.ALL:
        return {"text": osd_key.rotate_older(__opts__, test)}
    if (osd_id := osd_key.number(name)) is not None:
        return {"text": osd_key.rotate(__opts__, osd_id, test)}
    key_store.check_rotated(paths, name)
    if test:
        return {"text": f"{name} would get a fresh key on the master; then {_stages(name)}"}
    with _alone("secret.rotate"):
        stage_log.note(__opts__, "secret.rotate", "rotates", name=name)
        key_store.rotate(paths, name)
    return {"text": f"{name} has a fresh key on the master; now run {_stages(name)}"}


@answer.answers
def take(name: str, keyring: str, test: bool = False) -> dict[str, Any]:
    """Take in the key of an entity that was made or changed by hand, so that the cluster's stays as it is.

    A key of that name is in the cluster, and ``ceph_keys`` is to name it from now on: deploy refuses to replace it, so
    give it to the master. Nothing changes in the cluster; what ``ceph_keys`` allows it does with the next deploy.
    Another key than the cluster's is refused: deploy would replace that one.

    name
        The entity, such as client.backup.
    keyring
        A file on the master with it: ``ceph auth get client.backup -o ~/backup.keyring`` writes one.
    test
        Only say whether it could be.

    CLI Example:

    .. code-block:: bash

        salt-run secret.take client.backup ~/backup.keyring
    """
    stage_lock.free(__opts__)
    name, path = str(name), Path(str(keyring))
    if not secrets.is_entity(name) or osd_key.number(name) is not None:
        raise ArgumentError(f"the master keeps no key of {names.shown(name)}: expected an entity such as client.backup")
    if not path.is_file():
        raise ArgumentError(f"{names.shown(path)} is no file: 'ceph auth get {name} -o FILE' writes one")
    text = atomic.read_text(path)
    _of_the_cluster(name, secrets.of_keyring(text, name), path)
    if test:
        return {"text": f"{path} holds a key of {name}: the master would take it"}
    with _alone("secret.take"):
        taken = key_store.take(site.site(__opts__), name, text)
    if not taken:
        return {"text": f"the master has this key of {name} already: nothing changed"}
    stage_log.note(__opts__, "secret.take", "taken", name=name)
    return {"text": f"the master has taken the key of {name}; remove {path}, now run {_stages(name, daemons=False)}"}


def _of_the_cluster(name: str, key: str, path: Path) -> None:
    """Raise where a key is not that of the cluster, or where the master has another one and no monitor tells."""
    paths = site.site(__opts__)
    if not paths.current.is_dir():
        return  # nothing was configured: there is no cluster of ours yet
    there = keys.of_cluster(__opts__, name)
    if there and secrets.digest(key) not in there:
        raise ArgumentError(
            f"the cluster has another key of {names.shown(name)} than {path}: 'ceph auth get {name} -o FILE' writes "
            "its own; nothing was changed"
        )
    if there is None and key_store.kept(paths.keys).get(name, key) != key:
        raise ArgumentError(
            f"the master has another key of {names.shown(name)} than {path}, and no monitor says which one is the "
            "cluster's: bring the monitors into quorum first; nothing was changed"
        )


@answer.answers
def revoke(name: str, days: int = revoking.DAYS, test: bool = False) -> dict[str, Any]:
    """Revoke a client's key: the cluster forgets it, and refuses the programs that run with it within seconds.

    Their addresses go on Ceph's block list, each with the number of that one run: a program that is started with
    another key is let in. Hosts that are told this key by ``ceph_keys`` or a service get a fresh one with the next
    services stage. Run again after any interruption.

    name
        The client: client.backup. No key of Ceph's own: those are rotated.
    days
        How long the addresses are blocked.
    test
        Only say what would be done.

    CLI Example:

    .. code-block:: bash

        salt-run secret.revoke client.backup test=true
        salt-run secret.revoke client.backup
    """
    stage_lock.free(__opts__)
    name, days, paths = revoking.entity(name), revoking.days(days), site.site(__opts__)
    key_store.check_revoked(paths, name)
    seen = jobs.cluster(__opts__, "cluster_clients.inspect", [name], dict)
    revoking.known(name, seen, name in key_store.held(paths).known)
    if test:
        return {"text": revoking.would(name, seen, days)}
    with _alone("secret.revoke"):
        stage_log.note(__opts__, "secret.revoke", "revoke", client=name, sessions=seen["sessions"], days=days)
        renewed = key_store.revoke(paths, name)  # first: no stage may give the cluster the old key back
    try:
        blocked = jobs.cluster(__opts__, "cluster_clients.revoke", [name, days * 86400], dict)
    except ProposalError as err:
        raise ProposalError(f"{name} may not be revoked yet: {err}; mend that and run it again") from err
    stage_log.note(__opts__, "secret.revoke", "revoked", client=name, blocked=blocked)
    return {"text": revoking.done(name, blocked, renewed)}


@contextmanager
def _alone(command: str) -> Iterator[None]:
    """Have the master's keys to oneself, beside no stage, also none that began meanwhile. Raises ProposalError."""
    with one_at_a_time.alone(__opts__, command, one_at_a_time.KEYS):
        stage_lock.free(__opts__)
        yield


def _stages(name: str, daemons: bool = True) -> str:
    """Which stages bring a fresh key or password to where it is used; with ``daemons``, to those that run."""
    if not secrets.is_entity(name):
        return ", ".join([CONFIGURE, SERVICES, *([GRAFANA] if name == monitoring.GRAFANA_PASSWORD else [])])
    stages = [CONFIGURE, DEPLOY if secrets.of_deploy(name) else SERVICES, *([RESTART] if daemons else [])]
    return ", ".join(stages)
