"""``salt-run master.*``: what only the master has, kept safe and brought back."""

from pathlib import Path
from typing import Any

from proposals.pillar import backup as backup_
from proposals.text import argument_readers
from proposals.text.errors import ArgumentError, ProposalError
from proposals.validation import installation
from runners.engine import answer
from runners.engine.master import age, backing_up, restoring
from runners.engine.runs import one_at_a_time, stage_lock, stage_log

KEPT = 14  # archives
UNASKED = (
    "no monitor said which clients were revoked since: once one answers, and before any stage, run this again, which "
    "takes their keys out"
)


@answer.answers
def backup(recipient: str, folder: str, keep: int = KEPT, test: bool = False) -> answer.Output:
    """Write all that a lost master would cost into one archive, encrypted by age to a public key, and read it back.

    In it are the site's pillar with keys, secrets, inventory, proposals, policy.cfg and generations, the site's own
    file roots, Salt's configuration and keys, and /etc/ceph of this host. The private key must not be on the master:
    ``age-keygen -o FILE``, elsewhere, makes both.

    recipient
        The public key, age1…; or a file with several, or with public keys of ssh, one a line.
    folder
        Where archives go: a folder that is there, best on another host's disks.
    keep
        How many of this master's archives are kept, the newest.
    test
        Only say what would be packed.

    CLI Example:

    .. code-block:: bash

        salt-run master.backup /etc/halocline-backup.pub /mnt/backup test=true
        salt-run master.backup /etc/halocline-backup.pub /mnt/backup keep=30
    """
    try:
        stage_lock.free(__opts__)
        words, kept = age.recipients(str(recipient)), int(str(argument_readers.count("keep", keep)[0]))
        places = backing_up.here(__opts__)
        where = backing_up.folder(str(folder), places)
        found = backing_up.look(places)
        about = f"{len(found.entries)} files, folders and links, {_kib(sum(each.size for each in found.entries))}"
        left = [f"left out, as it is a link that leads elsewhere, or no file: {path}" for path in found.left_out]
        if test:
            age.once(), backing_up.cluster(__opts__, found)
            return answer.Answer(
                "\n".join([f"would pack {about}", *left]), {"would": about, "left_out": found.left_out}
            )
        with one_at_a_time.alone(__opts__, "master.backup"):  # it would take the first one's draft for a killed one's
            done = backing_up.write(__opts__, found, places, words, where, kept)
    except ProposalError as err:
        if not test:
            stage_log.note(__opts__, "master.backup", "failed", why=str(err))
        raise
    removed = [str(path) for path in done.removed]
    data = {"file": str(done.path), "bytes": done.size, "sha256": done.sha256, "removed": removed}
    data["left_out"] = found.left_out
    stage_log.note(__opts__, "master.backup", "written", **data)
    text = f"{done.path}: {about}; decrypted and read back whole; sha256 {done.sha256}"
    return answer.Answer("\n".join([text, *left, *(f"removed: {path}" for path in removed)]), data)


@answer.answers
def restore(archive: str, identity: str, silent: bool = False, test: bool = False) -> dict[str, Any]:
    """Bring a lost master back from an archive of ``master.backup``, on a fresh host that is its successor.

    The host has the old one's name, Salt and this product, and neither salt-master nor salt-minion runs. First the
    archive is read whole and its keys and fsid are compared with the monitors': nothing is written where anything is
    against it, or where the old master still answers. Interrupted, the same command goes on.

    archive
        The archive's path.
    identity
        The path of the private key. Where a passphrase protects it, age asks for it on the terminal. Take it away
        afterwards: best it lies in memory, in /dev/shm.
    silent
        Where no monitor can answer, restore without asking them.
    test
        Only say what would be restored; all is asked as before restoring.

    CLI Example:

    .. code-block:: bash

        salt-run master.restore /mnt/backup/halocline-salt-20260101T030000.tar.gz.age /dev/shm/backup.key test=true
        salt-run master.restore /mnt/backup/halocline-salt-20260101T030000.tar.gz.age /dev/shm/backup.key
    """
    stage_lock.free(__opts__)
    if type(silent) is not bool or type(test) is not bool:
        raise ArgumentError("silent and test are true or false")
    words, places = age.identity(str(identity)), backing_up.here(__opts__)
    found = restoring.opened(str(archive), words, places)
    restoring.old_master(found.backup)
    judged = restoring.judged(found, silent)
    told = [
        f"the archive is of {found.backup.made}, of cluster {found.backup.fsid or 'none'}",
        *(f"the cluster knows no {name} any more: its key is not brought back" for name in judged.revoked),
        *(f"{name} was made after it: 'salt-run secret.take' takes it in" for name in judged.newer),
        *([] if judged.asked else [UNASKED]),
    ]
    if judged.revoked and backup_.SITE not in found.wanted:  # restored before, when no monitor could say so
        found = found._replace(wanted=[*found.wanted, backup_.SITE])
    if not found.wanted:
        return {"text": "\n".join([*told, "nothing to restore: all is here as it is in the archive"])}
    if test:
        return {"text": "\n".join([*told, f"would put in place: {', '.join(found.wanted)}"])}
    restoring.stopped(places)
    with one_at_a_time.alone(__opts__, "master.restore"):  # it would take the first one's files for a killed one's
        aside = restoring.restore(Path(str(archive)), words, places, found, judged.revoked)
    stage_log.note(__opts__, "master.restore", "restored", archive=str(archive), units=found.wanted)
    told += [f"what was here before is now {path}: remove it when all is well" for path in aside]
    # The drop-in that the installer made here hides what the master file says that is back now: it is to copy that.
    again = f"python3 {installation.HOME}/srv/install && systemctl enable --now salt-master salt-minion"
    told += [f"restored; take the private key away, then: {again}"]
    return {"text": "\n".join(told)}


def _kib(size: int) -> str:
    """Bytes as a person reads them."""
    return f"{size / (1 << 20):.1f} MiB" if size >= 1 << 20 else f"{size / 1024:.1f} KiB"
