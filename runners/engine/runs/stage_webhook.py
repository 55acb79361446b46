"""Tell a site's webhook that a stage begins, and how it ends: in a thread that nobody has to wait for.

The address is a secret of the site's: it stands in the file ``stage-webhook`` beside its other ones, and in no message.
"""

import http.client
import json
import logging
import threading
import urllib.error
import urllib.request
from collections.abc import Callable, Mapping
from concurrent.futures import Future
from pathlib import Path
from typing import Any

from proposals.files import atomic
from proposals.files.site import site
from proposals.pillar import redaction
from proposals.stages import webhook
from proposals.text.errors import ProposalError

logger = logging.getLogger(__name__)

FILE = "stage-webhook"  # below <pillar_root>/ceph/keys/given
LIMIT = 10  # seconds in all: a server that takes a byte a second would hold a connection for ever


class _Stays(urllib.request.HTTPRedirectHandler):
    """An answer that names another address is a failure: what is told goes to nobody else."""

    def redirect_request(self, *_: Any) -> None:
        return None


def tell(opts: Mapping, body: Mapping[str, Any], hide: Callable[[str], str] = str) -> threading.Thread:
    """Begin to tell the webhook, if the site has one; return the thread, which ends with this process.

    Whoever waits for it waits ``LIMIT`` seconds at most. What goes wrong stands in the master's log.

    opts
        The master's options.
    body
        What ``webhook.told`` returned.
    hide
        Masks secrets in each of its texts.
    """

    def telling() -> None:
        try:
            send(opts, body, hide)
        except ProposalError as err:
            logger.warning("stage %s: %s", body.get("stage"), err)

    thread = threading.Thread(target=telling, daemon=True)
    thread.start()
    return thread


def send(opts: Mapping, body: Mapping[str, Any], hide: Callable[[str], str] = str) -> bool:
    """Tell the webhook; return whether there is one. ProposalError where it does not take it. Else as ``tell``."""
    path = site(opts).given / FILE
    if not path.exists():
        return False
    sent: Future[bool] = Future()

    def sending() -> None:
        try:
            sent.set_result(_send(path, redaction.every(body, hide)))
        except ProposalError as err:
            sent.set_exception(err)

    threading.Thread(target=sending, daemon=True).start()
    try:
        return sent.result(LIMIT)
    except TimeoutError as err:
        raise ProposalError(f"the webhook in {path} has not answered within {LIMIT} s") from err


def _send(path: Path, body: Mapping[str, Any]) -> bool:
    request = urllib.request.Request(
        webhook.address(atomic.read_text(path), str(path)),
        data=json.dumps(body).encode(),
        headers={"Content-Type": "application/json", "User-Agent": "halocline"},
    )
    try:
        with urllib.request.build_opener(_Stays).open(request, timeout=LIMIT):
            return True
    except urllib.error.HTTPError as err:
        why = f"it answers with status {err.code}"
    except (OSError, ValueError, http.client.HTTPException) as err:  # whose words may hold the address
        reason = getattr(err, "reason", err)
        why = (isinstance(reason, OSError) and reason.strerror) or type(reason).__name__
    raise ProposalError(f"the webhook in {path} took nothing: {why}")
