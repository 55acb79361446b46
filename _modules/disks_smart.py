"""Ask this host's disks how they are, by smartctl(8). It only looks; ``proposals/cluster/smart.py`` judges."""

import json
from collections.abc import Mapping
from typing import Any

import halocline
import salt.loader
from salt.exceptions import CommandExecutionError

LIMIT = 20  # seconds one disk may take
AT_ONCE = 16  # disks asked side by side
NAMED = ("id", "serial", "model")
# Of the 14 ms that smartctl takes, 12 are to read its database of drives, which has names of attributes and bridges of
# USB (smartctl(8), --drivedb); what failed the disk itself says.
WITHOUT_DATABASE = ("--drivedb", "/dev/null")
BRIDGE = "USB bridge"
# What is judged of an answer, in smartctl's own form.
KEYS = ("smart_status", "nvme_smart_health_information_log", "scsi_percentage_used_endurance_indicator")


def inspect() -> dict[str, dict]:
    """Return how each disk of this host says it is: ``{device: {id, serial, model, smartctl}}``.

    ``smartctl`` is what ``smartctl --json --health --attributes`` prints, as far as it is judged: of a disk's
    attributes those that failed. ``error`` stands there where nothing was printed.

    CLI Example:

    .. code-block:: bash

        salt 'osdnode1' disks_smart.inspect
    """
    disks = salt.loader.grain_funcs(__opts__)["ceph_disks.ceph_disks"]()["ceph_disks"]
    told = halocline.side_by_side(_told, [(disk["device"],) for disk in disks], AT_ONCE)
    return {
        disk["device"]: {key: disk[key] for key in NAMED if key in disk} | {"smartctl": answer}
        for disk, answer in zip(disks, told, strict=True)
    }


def _told(device: str) -> dict[str, Any]:
    """A disk's answer; where it needs smartctl's database, that by it."""
    answer = _asked(device, *WITHOUT_DATABASE)
    messages = answer.get("smartctl", {}).get("messages", [])
    if "ata_smart_attributes" not in answer and not any(BRIDGE in str(message) for message in messages):
        return answer
    named = _asked(device)
    return answer if "error" in named else named


def _asked(device: str, *options: str) -> dict[str, Any]:
    """What smartctl says. Its exit status counts what is wrong with the disk (smartctl(8)), and is no failure."""
    words = ["smartctl", "--json", "--health", "--attributes", *options, device]
    try:
        printed = halocline.run(words, ok=None, limit=LIMIT)
        answer = json.loads(printed)
    except CommandExecutionError as err:
        return {"error": str(err)}
    except ValueError:
        return {"error": "smartctl prints no JSON: expected smartmontools 7.0 or newer"}
    return {key: answer[key] for key in KEYS if key in answer} | _failed(answer) | _said(answer)


def _failed(answer: Mapping) -> dict[str, Any]:
    """The attributes of an ATA disk that are at their threshold, or were."""
    table = answer.get("ata_smart_attributes", {}).get("table", [])
    failed = [attribute for attribute in table if attribute.get("when_failed")]
    return {"ata_smart_attributes": {"table": failed}} if failed else {}


def _said(answer: Mapping) -> dict[str, Any]:
    """What smartctl says of itself: why it cannot tell."""
    messages = answer.get("smartctl", {}).get("messages", [])
    return {"smartctl": {"messages": messages}} if messages else {}
