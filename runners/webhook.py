"""``salt-run webhook.*``: who is told that stages begin and end."""

import time
from typing import Any

from proposals.files.site import site
from runners.engine import answer
from runners.engine.runs import stage_webhook


@answer.answers
def test(**_: Any) -> answer.Output:
    """Tell the site's webhook something, as stages do, and say whether it took it.

    Its address is the one line of ``<pillar_root>/ceph/keys/given/stage-webhook`` (mode 0600).

    CLI Example:

    .. code-block:: bash

        salt-run webhook.test
    """
    body = {"event": "test", "time": time.strftime("%Y-%m-%dT%H:%M:%S%z"), "text": "a test of the webhook"}
    if not stage_webhook.send(__opts__, body):
        return answer.bad(f"there is no webhook: write its address into {site(__opts__).given / stage_webhook.FILE}", 1)
    return {"text": "the webhook took it"}
