"""``salt-run support.*``: what a ticket needs, without what nobody else may know."""

import datetime
import io
import json
import os
import tarfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import salt.version

from proposals.files import pruning
from proposals.files import site as sites
from proposals.pillar import redaction
from proposals.stages import replies
from proposals.text.errors import ProposalError
from runners.engine import answer
from runners.engine.asking import jobs, minions
from runners.engine.runs import stage_log

KEPT = 5  # archives
TAIL = 2 << 20  # bytes: the end of a log file says what happened last
VERSIONS = (
    jobs.Question("test.version", kind=str),
    jobs.Question("grains.item", ["osfinger", "kernelrelease", "num_cpus", "mem_total"]),
    jobs.Question("pkg.version", ["ceph-common"], str),
)


@answer.answers
def collect() -> answer.Output:
    """Pack logs, versions, policy and proposals into one file beside the run logs (0600); secrets are masked.

    Keys, passwords and the generated pillar's secrets are not read at all; what stands of them in a log is masked.

    CLI Example:

    .. code-block:: bash

        salt-run support.collect
    """
    paths = sites.site(__opts__)
    hide = redaction.hider(redaction.known(paths))
    files = {f"runs/{log.name}": log for log in stage_log.paths(__opts__)}
    files["salt-master.log"] = Path(__opts__["log_file"])
    for name, folder in (("proposals", paths.proposals), ("inventory", paths.inventory)):
        files.update({f"{name}/{path.relative_to(folder)}": path for path in _plain_files(folder)})
    packed = {name: _read(path) for name, path in sorted(files.items()) if path.is_file()}
    packed["versions.json"] = json.dumps(_versions(), indent=1)
    time = datetime.datetime.now().strftime("%Y%m%dT%H%M%S")
    folder = Path(__opts__["halocline_log_dir"])
    archive = _pack(folder / f"support-{time}.tar.gz", packed, hide)
    pruning.prune(folder.glob("support-*.tar.gz"), KEPT)
    return answer.Answer(f"{archive}: {len(packed)} files", {"file": str(archive), "files": sorted(packed)})


def _plain_files(folder: Path) -> list[Path]:
    """Files below a folder that are not links: a link may lead to anything."""
    return [path for path in sorted(folder.rglob("*")) if path.is_file() and not path.is_symlink()]


def _read(path: Path) -> str:
    """The end of a file, or why it cannot be read: another user's, or gone by now; a ticket needs the others."""
    try:
        return _tail(path)
    except OSError as err:
        return f"it cannot be read: {err.strerror}\n"


def _tail(path: Path) -> str:
    """The end of a file, from the beginning of a line: what is known as secret is not seen in half of one."""
    with path.open("rb") as file:
        if (before := path.stat().st_size - TAIL) > 0:
            file.seek(before - 1)
            file.readline()
        return file.read().decode(errors="replace")


def _versions() -> dict[str, Any]:
    """What runs where: the master, and every minion of ours, asked in one job."""
    here: dict[str, Any] = {"master": dict(salt.version.versions_information()["Salt Version"])}
    try:
        versions = jobs.ask_several(__opts__, minions.ours(__opts__), VERSIONS, timeout=15)
    except ProposalError as err:  # a ticket is needed most where the master does not run
        return {**here, "problems": [str(err)]}
    return {**here, "minions": versions.answers, "problems": replies.lines(versions.problems)}


def _pack(path: Path, packed: Mapping[str, str], hide: Callable[[str], str]) -> Path:
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
