"""Certificates of authorities that this host trusts as the site's settings name them."""

from collections.abc import Sequence
from pathlib import Path

import halocline

RECORD = Path("/var/lib/halocline/trusted")  # the names that were trusted for us, a line each


@halocline.state
def only(name: str, wanted: Sequence[str], command: str) -> dict:
    """Of the certificates that settings once named, the host trusts those alone that they name now.

    name
        The folder in which they lie, each as ``NAME.crt``.
    wanted
        Their names, which other states have written there.
    command
        What makes the host know of a change.
    """
    kept = RECORD.read_text(encoding="utf-8").splitlines() if RECORD.exists() else []
    gone = [each for each in kept if each not in wanted]
    changes = {**dict.fromkeys(gone, "is trusted no more"), **{each: "noted" for each in wanted if each not in kept}}
    if changes and not __opts__["test"]:
        for each in gone:
            (Path(name) / f"{each}.crt").unlink(missing_ok=True)
        if gone:
            halocline.run(command.split())
        RECORD.parent.mkdir(parents=True, exist_ok=True)
        halocline.write(RECORD, "".join(f"{each}\n" for each in wanted))  # last: interrupted, all is done again
    if not changes:
        return halocline.unchanged(name, "trusted are those that settings name")
    return halocline.changed(name, f"trusted: {', '.join(wanted) or 'none'}", changes, __opts__["test"])
