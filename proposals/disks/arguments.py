"""The arguments of peek and populate: read once, from a shell's text or from values that Salt has typed."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

from proposals.disks import filters
from proposals.text import argument_readers, sizes
from proposals.text.errors import ArgumentError

RATIO = 5  # data disks on one DB device: what one SATA SSD's write rate carries of hard disks
DB_RATIO = 5  # DB devices on one WAL device
LAYOUTS = ("standalone", "nvme-ssd", "nvme-spinner", "ssd-spinner", "nvme-ssd-spinner")


@dataclass(frozen=True, slots=True)
class Arguments:
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


def parse(pairs: Iterable[str] | Mapping[str, object]) -> Arguments:
    """Arguments from ``["ratio=9", "db-size=40g"]`` or from ``{"ratio": 9, "db_size": "40g"}``.

    Values may be typed as Salt's command line types them (numbers, booleans); what cannot be turned back
    into what was typed is refused with the advice to quote it. Raises ArgumentError.

    CLI: ``python -m proposals peek INVENTORY ratio=9 db-size=40g``"""
    values, typed = argument_readers.read(pairs, READERS)
    _check_together(values)
    return _arguments(values, {key: typed[key] for key in sorted(typed) if key not in ("name", "force")})


def _arguments(values: dict[str, object], typed: dict[str, object]) -> Arguments:
    layout = next((name for name in LAYOUTS if values.get(name)), None)
    plain = {key.replace("-", "_"): value for key, value in values.items() if key not in (*LAYOUTS, "journal")}
    if "journal" in values:
        plain["db"] = values["journal"]
    if plain.get("format") == "filestore":
        plain |= {"wal": None, "wal_size": None}  # filestore has no WAL: advice says so
    return Arguments(**plain, layout=layout, typed=MappingProxyType(typed))


def _check_together(values: dict[str, object]) -> None:
    forced = [name for name in LAYOUTS if values.get(name)]
    if len(forced) > 1:
        raise ArgumentError(f"{forced[0]} and {forced[1]} both force a layout: give one of them")
    if "db" in values and "journal" in values:
        raise ArgumentError("db and journal name the same devices (journal is filestore's word): give one of them")
    if forced == ["standalone"] and (external := [key for key in ("db", "wal", "journal") if key in values]):
        raise ArgumentError(f"standalone puts DB and WAL on the data disk: leave {' and '.join(external)} out")
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


READERS: dict[str, argument_readers.Reader] = {
    "name": argument_readers.profile_name,
    "target": argument_readers.word,
    **dict.fromkeys(("data", "db", "wal", "journal", "exclude"), _filter),
    **dict.fromkeys(("ratio", "db-ratio", "limit-data", "osds-per-device"), argument_readers.count),
    **dict.fromkeys(("db-size", "wal-size", "journal-size"), _size),
    **dict.fromkeys((*LAYOUTS, "leftovers", "force"), argument_readers.switch),
    "format": argument_readers.choice(("bluestore", "filestore")),
    "encryption": argument_readers.choice(("none", "dmcrypt")),
}
