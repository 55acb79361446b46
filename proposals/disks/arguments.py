"""The arguments of peek and populate: read once, from a shell's text or from values that Salt has typed."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

from proposals.disks import filters
from proposals.text import argument_readers, sizes
from proposals.text.argument_readers import Argument
from proposals.text.errors import ArgumentError

RATIO = 5  # data disks on one DB device: what one SATA SSD's write rate carries of hard disks
DB_RATIO = 5  # DB devices on one WAL device
PARTS = 128  # partitions of a disk: what a GPT has room for
LAYOUTS = ("standalone", "nvme-ssd", "nvme-spinner", "ssd-spinner", "nvme-ssd-spinner")


@dataclass(frozen=True, slots=True)
class DiskArguments:
    """What was asked, understood. Sizes are bytes; None is "not given"."""

    name: str = "default"
    target: str | None = None
    data: filters.Filter | None = None
    db: filters.Filter | None = None
    wal: filters.Filter | None = None
    exclude: filters.Filter | None = None
    ratio: int = RATIO
    db_ratio: int = DB_RATIO
    db_size: int | None = None
    wal_size: int | None = None
    journal_size: int | None = None
    layout: str | None = None
    leftovers: bool = False
    limit_data: int | None = None
    format: str = "bluestore"
    encryption: str | None = None
    osds_per_device: int = 1
    migrate: bool = False
    force: bool = False
    typed: Mapping[str, object] = field(default_factory=lambda: MappingProxyType({}))

    @property
    def fast_size(self) -> tuple[str, int | None]:
        """Name and bytes of the size for the DB, or for what stands in its place with filestore."""
        return ("journal-size", self.journal_size) if self.filestore else ("db-size", self.db_size)

    @property
    def filestore(self) -> bool:
        """Whether OSDs have journals in place of DB and WAL."""
        return self.format == "filestore"


def parse(pairs: Iterable[str] | Mapping[str, object]) -> DiskArguments:
    """DiskArguments from ``["ratio=9", "db-size=40g"]`` or from ``{"ratio": 9, "db_size": "40g"}``.

    Values may be typed as Salt's command line types them (numbers, booleans); what cannot be turned back
    into what was typed is refused with the advice to quote it. Raises ArgumentError.

    CLI: ``python -m proposals peek INVENTORY ratio=9 db-size=40g``"""
    values, typed = argument_readers.read(pairs, ARGUMENTS)
    _check_together(values)
    return _arguments(values, {key: typed[key] for key in sorted(typed) if key not in ("name", "force")})


def _arguments(values: dict[str, Any], typed: dict[str, object]) -> DiskArguments:
    layout = next((name for name in LAYOUTS if values.get(name)), None)
    plain = {key.replace("-", "_"): value for key, value in values.items() if key not in (*LAYOUTS, "journal")}
    if "journal" in values:
        plain["db"] = values["journal"]
    if plain.get("format") == "filestore":
        plain |= {"wal": None, "wal_size": None}  # filestore has no WAL: advice says so
    return DiskArguments(**plain, layout=layout, typed=MappingProxyType(typed))


def _check_together(values: dict[str, object]) -> None:
    forced = [name for name in LAYOUTS if values.get(name)]
    if len(forced) > 1:
        raise ArgumentError(f"{forced[0]} and {forced[1]} both force a layout: give one of them")
    if "db" in values and "journal" in values:
        raise ArgumentError("db and journal name the same devices (journal is filestore's word): give one of them")
    if forced == ["standalone"] and (external := [key for key in ("db", "wal", "journal") if key in values]):
        raise ArgumentError(f"standalone puts DB and WAL on the data disk: leave {' and '.join(external)} out")
    if values.get("migrate") and values.get("format") == "filestore":
        raise ArgumentError("migrate=true moves DBs and WALs of BlueStore, filestore has none: leave one of them out")
    if forced == ["nvme-ssd-spinner"] and values.get("format") == "filestore":
        raise ArgumentError("nvme-ssd-spinner has a WAL tier and filestore no WAL: use nvme-spinner or ssd-spinner")


def _plain(text: str) -> object:
    return int(text) if text.isdecimal() and text.isascii() and len(text) < 16 else text


def _filter(name: str, value: object) -> tuple[object, object]:
    parsed = filters.parse(name, argument_readers.number_text(name, value))
    return parsed, _plain(parsed.text)


def _size(name: str, value: object) -> tuple[object, object]:
    text = repr(value) if isinstance(value, float) else argument_readers.number_text(name, value)
    return sizes.parse_size(name, text), _plain(text.lower())


def _parts(name: str, value: object) -> tuple[object, object]:
    count, kept = _count(name, value)
    if int(str(count)) > PARTS:  # each would be planned, until there is no memory left
        raise ArgumentError(f"{name}={count}: a whole number from 1 to {PARTS} was expected")
    return count, kept


_count, _switch = argument_readers.count, argument_readers.switch
ARGUMENTS: dict[str, Argument] = {
    "name": Argument(argument_readers.profile_name, "the profile's name: letters, digits, '.', '_', '-'", "default"),
    "target": Argument(
        argument_readers.word, "which minions: a Salt compound match; without Salt, a glob on the minion's id", "all"
    ),
    "data": Argument(
        _filter,
        "which disks may carry data: a filter such as 5000-7000 or model=ST6000*,vendor=!ATA",
        "every disk of the layout's class",
    ),
    "db": Argument(_filter, "which disks may carry DBs: a filter", "every disk of the layout's class"),
    "wal": Argument(_filter, "which disks may carry WALs: a filter", "the WAL lies in the DB"),
    "journal": Argument(_filter, "filestore's word for db: which disks may carry journals (a filter)"),
    "exclude": Argument(_filter, "which disks nobody may use: a filter"),
    "ratio": Argument(_count, "at most so many data disks on one DB device: a ceiling", str(RATIO)),
    "db-ratio": Argument(
        _count, "at most so many DB devices on one WAL device, in layouts of three tiers: a ceiling", str(DB_RATIO)
    ),
    "db-size": Argument(_size, "size of each OSD's DB; a number without a unit is GiB", "an equal share for the ratio"),
    "wal-size": Argument(_size, "size of each OSD's WAL where it has one of its own", "2 GiB"),
    "journal-size": Argument(_size, "size of each OSD's journal, with format=filestore", "5 GiB"),
    "standalone": Argument(_switch, "force the layout: data, DB and WAL on the data disk", "off"),
    "nvme-ssd": Argument(_switch, "force the layout: data on ssd, DB on nvme", "off"),
    "nvme-spinner": Argument(_switch, "force the layout: data on hdd, DB on nvme", "off"),
    "ssd-spinner": Argument(_switch, "force the layout: data on hdd, DB on ssd", "off"),
    "nvme-ssd-spinner": Argument(_switch, "force the layout: data on hdd, DB on ssd, WAL on nvme", "off"),
    "leftovers": Argument(
        _switch, "make a standalone OSD of every free disk that passes the data filter and got no role", "off"
    ),
    "limit-data": Argument(
        _count, "at most so many data disks a host, existing ones counted: the larger, then by id", "no limit"
    ),
    "format": Argument(argument_readers.choice(("bluestore", "filestore")), "bluestore or filestore", "bluestore"),
    "encryption": Argument(argument_readers.choice(("none", "dmcrypt")), "none or dmcrypt"),
    "osds-per-device": Argument(
        _parts, "so many OSDs on one flash device, at most 128; a hard disk always carries one", "1"
    ),
    "migrate": Argument(
        _switch,
        "plan other places for DBs and WALs of OSDs that exist, as the arguments want them; osd.migrate moves them",
        "off",
    ),
    "force": Argument(_switch, "overwrite files that were edited", "off"),
}
