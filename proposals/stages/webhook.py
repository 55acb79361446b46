"""What a site's webhook is told of a stage, and which addresses are one. Nothing here is sent."""

from collections.abc import Mapping
from typing import Any
from urllib.parse import urlsplit

from proposals.text.errors import ProposalError

SCHEMES = ("http", "https")
EXPECTED = "expected one line, http://HOST/PATH or https://HOST/PATH, without user or blanks"


def address(text: str, place: str) -> str:
    """Return the address that a file holds; ProposalError where that is none, which tells nothing of the text: it may
    hold a secret.

    text, place
        What the file holds, and where it is.
    """
    url = text.strip()
    try:
        parts = urlsplit(url)
        good = parts.scheme in SCHEMES and parts.hostname and parts.username is None and parts.port != 0
    except ValueError:
        good = False
    if not good or not url.isascii() or not url.isprintable() or " " in url:
        raise ProposalError(f"{place} holds no address of a webhook: {EXPECTED}")
    return url


def told(job: Mapping[str, Any], end: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """Return what the webhook is told, as JSON; ``text`` is the whole in one line, which chats show by themselves.

    job
        The stage that runs: its name, its job, who began it.
    end
        The last record of its log; None where it begins.
    """
    result = str(end["result"]) if end else "begun"
    why = str(end.get("reason", "")) if end else ""
    text = f"{job['stage']} by {job['user']}: {result}" + (f": {why}" if why else "")
    event = "begin" if end is None else "end" if result == "done" else "failed"
    known = {key: job[key] for key in ("stage", "jid", "user", "only") if job.get(key)}
    return {"event": event, **known, "result": result, **({"reason": why} if why else {}), "text": text}
