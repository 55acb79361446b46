"""What decides how fast OSDs recover: their queue, our profile, what others set; with the admin's key."""

import json
from typing import Any

KEPT = "halocline/recovery"


def inspect() -> dict[str, Any]:
    """Return ``{queue, ours, others}``.

    ``queue``: the ``osd_op_queue`` that OSDs start with. ``ours``: the options that a profile set, ``{option: value}``.
    ``others``: what somebody else set, ``[{section, name, value}]``, a mask in the section (``osd/class:hdd``).

    CLI Example:

    .. code-block:: bash

        salt 'saltmaster' cluster_recovery.inspect
    """
    kept = json.loads(__salt__["cluster_cli.kept"](KEPT) or "[]")
    ours = {(section, option) for section, option, _ in kept}
    rows = [
        {"section": "/".join(filter(None, (row["section"], row.get("mask")))), **{k: row[k] for k in ("name", "value")}}
        for row in __salt__["cluster_cli.ask"](["config", "dump"])
    ]
    return {
        "queue": __salt__["cluster_cli.tell"](["config", "get", "osd", "osd_op_queue"]).strip(),
        "ours": {option: typed for _, option, (typed, _) in kept},
        "others": [row for row in rows if (row["section"], row["name"]) not in ours],
    }
