"""RAID volumes and the batteries of their caches, as the vendors' own tools tell them. It only looks.

storcli (Broadcom) and perccli (Dell, the same program) print JSON where ``J`` ends the command: StorCLI Reference
Manual, "Controller commands" and the states' legends. ssacli (HPE) prints text alone: HPE Smart Storage Administrator
User Guide, "Show". A tool that is not there is not asked.
"""

import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import halocline
import salt.utils.path
from salt.exceptions import CommandExecutionError

LIMIT = 30  # seconds one command of a tool may take: each controller answers after some seconds
STORCLI = {
    "storcli": ("storcli64", "storcli", "/opt/MegaRAID/storcli/storcli64"),
    "perccli": ("perccli64", "perccli", "/opt/MegaRAID/perccli/perccli64"),
}
SSACLI = ("ssacli", "hpssacli", "/opt/smartstorageadmin/ssacli/bin/ssacli")
BATTERIES = ("BBU_Info", "Cachevault_Info")
CONTROLLER = re.compile(r"(?P<model>\S.*?) in Slot (?P<slot>\S+)")
VOLUME = re.compile(r"\s+logicaldrive (?P<name>\d+) \((?P<about>[^)]*)\)")
FIELD = re.compile(r"\s+(?P<key>[^:]+): +(?P<value>.+)")


def controllers() -> dict[str, Any]:
    """Return ``{controllers, failed}``: of each controller its tool, model, firmware, volumes and batteries.

    A volume or battery is ``{name, state}``, its state in the tool's own word (``Optl``, ``Dgrd``, ``OK``). ``failed``
    has a line for each tool that is there and does not answer.

    CLI Example:

    .. code-block:: bash

        salt 'osdnode1' host_raid.controllers
    """
    found, failed = [], []
    asking = [(tool, names, _storcli) for tool, names in STORCLI.items()] + [("ssacli", SSACLI, _ssacli)]
    for tool, names, ask in asking:
        program = next(filter(None, map(_program, names)), None)
        try:
            found += [{"tool": tool, **each} for each in ask(program)] if program else []
        except CommandExecutionError as err:
            failed.append(f"{tool}: {err}")
        except (ValueError, KeyError, TypeError, AttributeError):
            failed.append(f"{tool}: what it prints is not of the form that its vendor documents")
    return {"controllers": found, "failed": failed}


def _program(name: str) -> str | None:
    """Where a program is: on the path, or where its vendor's package puts it."""
    return name if Path(name).is_file() else None if name.startswith("/") else salt.utils.path.which(name)


def _storcli(program: str) -> Iterator[dict[str, Any]]:
    """What storcli tells of every controller; ``nolog`` keeps it from writing a log where it is started."""
    told = json.loads(halocline.run([program, "/call", "show", "all", "nolog", "J"], ok=None, limit=LIMIT))
    for each in told["Controllers"]:
        data = each.get("Response Data", {})
        if "Basics" in data:  # without any controller the tool says so, with a status of its own
            yield {
                "model": str(data["Basics"]["Model"]).strip(),
                "firmware": str(data.get("Version", {}).get("Firmware Version", "")),
                "volumes": [_named(row, "DG/VD") for row in data.get("VD LIST", ())],
                "batteries": [_named(row, "Model") for key in BATTERIES for row in data.get(key, ())],
            }


def _named(row: Mapping, name: str) -> dict[str, str]:
    return {"name": str(row[name]).strip(), "state": str(row["State"]).strip()}


def _ssacli(program: str) -> Iterator[dict[str, Any]]:
    """What ssacli tells of every controller: their details, then their logical drives."""
    found: dict[str, dict[str, Any]] = {}
    for what in (["show", "detail"], ["show", "config"]):
        own: dict[str, Any] = {}
        for line in halocline.run([program, "controller", "all", *what], ok=None, limit=LIMIT).splitlines():
            if controller := CONTROLLER.match(line):
                own = found.setdefault(
                    controller["slot"], {"model": controller["model"], "firmware": "", "volumes": [], "batteries": []}
                )
            elif own and (volume := VOLUME.match(line)):
                own["volumes"].append({"name": volume["name"], "state": volume["about"].split(", ", 2)[-1]})
            elif own and (field := FIELD.match(line)):
                _detail(own, field["key"], field["value"].strip())
    yield from found.values()


def _detail(own: dict[str, Any], key: str, value: str) -> None:
    """Keep a line of a controller's details that is judged."""
    if key == "Firmware Version" and not own["firmware"]:  # the first is the controller's, others are its parts'
        own["firmware"] = value
    elif key in ("Cache Status", "Battery/Capacitor Status"):
        own["batteries"].append({"name": key.removesuffix(" Status").lower(), "state": value})
