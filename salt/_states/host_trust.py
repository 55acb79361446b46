"""Certificates of authorities that this host trusts as the site's settings name them."""

import hashlib
from collections.abc import Sequence
from pathlib import Path

import halocline

RECORD = Path("/var/lib/halocline/trusted")  # what was trusted for us: stamp (``_stamp``) and name of each, a line each


@halocline.state
def only(name: str, wanted: Sequence[str], command: str) -> dict:
    """The host knows the certificates that settings name, as they lie in a folder, and none that they once named.

    name
        The folder, which has each as ``NAME.crt``.
    wanted
        Their names, which other states have written there.
    command
        What makes the host know of a change.
    """
    lines = RECORD.read_text(encoding="utf-8").splitlines() if RECORD.exists() else []
    kept = dict(line.rpartition(" ")[::-2] for line in lines)  # of an earlier version names alone
    paths = {each: Path(name) / f"{each}.crt" for each in {*kept, *wanted}}
    now = {each: _stamp(paths[each]) for each in wanted if paths[each].exists()}
    gone = [each for each in kept if each not in wanted]
    changes = {
        **dict.fromkeys(gone, "is trusted no more"),
        **{each: "noted" for each in now if now[each] != kept.get(each)},
    }
    if changes and not __opts__["test"]:
        for each in gone:
            paths[each].unlink(missing_ok=True)
        halocline.run(command.split())
        RECORD.parent.mkdir(parents=True, exist_ok=True)
        # last: interrupted, all is done again
        halocline.write(RECORD, "".join(f"{stamp} {each}\n" for each, stamp in now.items()))
    if not changes:
        return halocline.unchanged(name, "trusted are those that settings name")
    return halocline.changed(name, f"trusted: {', '.join(wanted) or 'none'}", changes, __opts__["test"])


def _stamp(path: Path) -> str:
    """A hash of what a file holds and of when it was written: one that somebody took away, and that is written again,
    holds the same, and the host may not know it any more.
    """
    return hashlib.sha256(path.read_bytes() + str(path.stat().st_mtime_ns).encode()).hexdigest()
