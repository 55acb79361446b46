"""What a disk says of itself by SMART. Nothing here opens a file or asks a minion.

A disk fails where it says so itself, by the rules of its own standard: there is no threshold of ours, and no maker's
attribute is interpreted.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from proposals.text.names import shown

FAILS, WARNS, SOUND, UNTOLD = "fails", "warns", "sound", "not told"
LONGEST = 120  # characters of a disk's, or smartctl's, own words
WORN = 100  # percent of what its maker gives it to be written (NVMe's and SCSI's endurance: 100 is not yet its end)
# SCSI's additional sense codes (SPC, as scsiGetIEString of smartmontools reads them): of warnings, as of heat or the
# enclosure, and of a prediction that the disk itself calls false, as where somebody tests what would be said.
WARNING, FALSE = 0x0B, (0x5D, 0xFF)
# Bits of Critical Warning (NVM Express base specification, SMART / Health Information log); heat harms no data yet.
CRITICAL = (
    (FAILS, "its spare blocks are used up"),
    (WARNS, "its temperature is out of bounds"),
    (FAILS, "it calls itself unreliable"),
    (FAILS, "it can be read only"),
    (FAILS, "what backs up its volatile memory failed"),
    (FAILS, "its persistent memory is unreliable"),
)


def judge(told: object) -> tuple[str, str]:
    """Return a disk's state and why it is so; ``sound`` needs no reason.

    told
        What ``disks_smart.inspect`` has of it: smartctl's JSON (version 7.0 and newer), as far as it is judged.
    """
    answer = _mapping(told)
    reasons = [*_nvme(answer), *_scsi(answer), *_ata(answer)]
    passed = _mapping(answer.get("smart_status")).get("passed")
    if passed is False and not reasons:
        reasons = [(FAILS, "its own health test failed")]
    for state in (FAILS, WARNS):
        if why := [text for found, text in reasons if found == state]:
            return state, ", ".join(why)
    return (SOUND, "") if passed is True else (UNTOLD, _unable(answer))


def _nvme(answer: Mapping) -> Iterator[tuple[str, str]]:
    log = _mapping(answer.get("nvme_smart_health_information_log"))
    bits = _number(log.get("critical_warning"))
    yield from (row for bit, row in enumerate(CRITICAL) if bits >> bit & 1)
    yield from _worn(log.get("percentage_used"))


def _scsi(answer: Mapping) -> Iterator[tuple[str, str]]:
    """Of SAS disks: what they report as an informational exception (scsiprint.cpp of smartmontools)."""
    told = _mapping(_mapping(answer.get("smart_status")).get("scsi"))
    if said := told.get("ie_string"):
        works = told.get("asc") == WARNING or (told.get("asc"), told.get("ascq")) == FALSE
        yield WARNS if works else FAILS, f"it says '{shown(said, LONGEST)}'"
    yield from _worn(answer.get("scsi_percentage_used_endurance_indicator"))


def _ata(answer: Mapping) -> Iterator[tuple[str, str]]:
    """Of SATA disks: attributes at their threshold. A pre-failure one means failure within a day (smartctl(8), -A)."""
    table = _mapping(answer.get("ata_smart_attributes")).get("table")
    for row in map(_mapping, table if isinstance(table, list) else ()):
        name = f"attribute {shown(row.get('id'))} {shown(row.get('name'))}"
        match row.get("when_failed"), _mapping(row.get("flags")).get("prefailure"):
            case "now", True:
                yield FAILS, f"{name} is at its threshold"
            case "now", _:
                yield WARNS, f"{name} is at its threshold: it is old"
            case "past", _:
                yield WARNS, f"{name} was at its threshold"


def _worn(percent: object) -> Iterator[tuple[str, str]]:
    if _number(percent) >= WORN:
        yield WARNS, f"{_number(percent)} % of what it may be written is used"


def _unable(answer: Mapping) -> str:
    """Why smartctl could not tell."""
    messages = _mapping(answer.get("smartctl")).get("messages")
    said = [_mapping(message).get("string") for message in (messages if isinstance(messages, list) else ())]
    why = answer.get("error") or next(filter(None, said), "it has no SMART state")
    return shown(why, LONGEST)


def _mapping(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def _number(value: object) -> int:
    return value if type(value) is int and value >= 0 else 0
