"""``salt-run support.*``: what a ticket needs, without what nobody else may know."""

import datetime
import io
import json
import os
import tarfile
from pathlib import Path

import salt.version

from proposals import answer
from proposals.files import site as sites
from proposals.pillar import redaction
from proposals.text.errors import ProposalError

TAIL = 2 << 20  # bytes: the end of a log file says what happened last
VERSIONS = ["test.version", "grains.item", "pkg.version"]
ARGUMENTS = [[], ["osfinger", "kernelrelease", "num_cpus", "mem_total"], ["ceph-common"]]


@answer.answers
def collect():
    """Pack logs, versions, policy and proposals into one file beside the run logs (0600); secrets are masked.

    Keys, passwords and the generated pillar's secrets are not read at all; what stands of them in a log is masked.

    CLI Example:

    .. code-block:: bash

        salt-run support.collect
    """
    paths = sites.site(__opts__)
    hide = redaction.hider(redaction.known(paths))
    logs = __salt__["stage_log.paths"]()
    files = {f"runs/{Path(log).name}": Path(log) for log in logs}
    files["salt-master.log"] = Path(__opts__["log_file"])
    for name, folder in (("proposals", paths.proposals), ("inventory", paths.inventory)):
        files.update({f"{name}/{path.relative_to(folder)}": path for path in _plain_files(folder)})
    packed = {name: _tail(path) for name, path in sorted(files.items()) if path.is_file()}
    packed["versions.json"] = json.dumps(_versions(), indent=1)
    time = datetime.datetime.now().strftime("%Y%m%dT%H%M%S")
    made = _pack(Path(__opts__["halocline_log_dir"]) / f"support-{time}.tar.gz", packed, hide)
    return answer.told(
        f"{made}: {len(packed)} files", {"file": str(made), "files": sorted(packed)}, __opts__.get("output")
    )


def _plain_files(folder):
    """Files below a folder that are not links: a link may lead to anything."""
    return [path for path in sorted(folder.rglob("*")) if path.is_file() and not path.is_symlink()]


def _tail(path):
    with path.open("rb") as file:
        file.seek(max(0, path.stat().st_size - TAIL))
        return file.read().decode(errors="replace")


def _versions():
    """What runs where: the master, and every minion of ours that answers, asked in one job."""
    try:
        minions = __salt__["minions.ask"](__salt__["minions.ours"](), VERSIONS, ARGUMENTS, timeout=15)
    except ProposalError as err:  # a ticket is needed most where the master does not run
        minions = str(err)
    return {"master": dict(salt.version.versions_information()["Salt Version"]), "minions": minions}


def _pack(path, packed, hide):
    """Write the archive: whole or not at all, for its owner alone from its first byte on."""
    draft = path.with_suffix(".part")
    try:
        fd = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(fd, "wb") as file, tarfile.open(fileobj=file, mode="w:gz") as archive:
            for name, text in packed.items():
                content = hide(text).encode()
                entry = tarfile.TarInfo(f"{path.name.removesuffix('.tar.gz')}/{name}")
                entry.size, entry.mode = len(content), 0o600
                archive.addfile(entry, io.BytesIO(content))
    except OSError as err:
        draft.unlink(missing_ok=True)
        raise ProposalError(f"{path} cannot be written: {err.strerror}") from err
    draft.replace(path)
    return path
