"""The arguments of peek and populate: read once, from a shell's text or from values that Salt has typed."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

from proposals import filters, names, sizes
from proposals.errors import ArgumentError

RATIO = 5  # data disks on one DB device: what one SATA SSD's write rate carries of hard disks
DB_RATIO = 5  # DB devices on one WAL device
LAYOUTS = ("standalone", "nvme-ssd", "nvme-spinner", "ssd-spinner", "nvme-ssd-spinner")
TRUTH = {"true": True, "yes": True, "on": True, "1": True, "false": False, "no": False, "off": False, "0": False}


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
    typed: dict[str, object] = {}
    values: dict[str, object] = {}
    for key, value in _pairs(pairs):
        name = key.strip().lower().replace("_", "-")
        if name not in READERS:
            raise ArgumentError(f"'{names.shown(key)}' is not an argument{names.nearest(name, READERS)}")
        if name in values:
            raise ArgumentError(f"{name} is given twice: once is enough")
        values[name], typed[name] = READERS[name](name, value)
    _check_together(values)
    return _arguments(values, {key: typed[key] for key in sorted(typed) if key not in ("name", "force")})


def _pairs(pairs: Iterable[str] | Mapping[str, object]) -> Iterable[tuple[str, object]]:
    if isinstance(pairs, Mapping):
        yield from ((str(key), value) for key, value in pairs.items() if not str(key).startswith("__"))
        return
    for pair in pairs:
        key, found, value = str(pair).partition("=")
        if not found:
            raise ArgumentError(f"'{names.shown(pair)}' is not understood: key=value was expected, as in ratio=9")
        yield key, value


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


def _text(name: str, value: object) -> str:
    """What was typed; a value whose text Salt's YAML has changed is refused."""
    if isinstance(value, str):
        if not value.strip():
            raise ArgumentError(f"{name}= has no value: give one or leave {name} out")
        return value.strip()
    raise _quote(name, value)


def _quote(name: str, value: object) -> ArgumentError:
    return ArgumentError(
        f"{name}: the command line was read as YAML and gave {names.shown(value)} ({type(value).__name__}), which "
        f"may not be what was typed: quote it, {name}='\"...\"'"
    )


def _number_text(name: str, value: object) -> str:
    """Text of a whole number as well: ``data=-770`` reaches a runner as the number -770."""
    return str(value) if isinstance(value, int) and not isinstance(value, bool) else _text(name, value)


def _plain(text: str) -> object:
    return int(text) if text.isdecimal() and text.isascii() and len(text) < 16 else text


def _filter(name: str, value: object) -> tuple[object, object]:
    parsed = filters.parse(name, _number_text(name, value))
    return parsed, _plain(parsed.text)


def _size(name: str, value: object) -> tuple[object, object]:
    text = repr(value) if isinstance(value, float) else _number_text(name, value)
    return sizes.parse_size(name, text), _plain(text.lower())


def _count(name: str, value: object) -> tuple[object, object]:
    text = _number_text(name, value)
    if not (text.isdecimal() and text.isascii() and len(text) < 9 and int(text) > 0):
        raise ArgumentError(f"{name}={names.shown(text)}: a whole number of at least 1 was expected")
    return int(text), int(text)


def _switch(name: str, value: object) -> tuple[object, object]:
    text = str(value).lower() if isinstance(value, bool | int) else _text(name, value).lower()
    if text not in TRUTH:
        raise ArgumentError(f"{name}={names.shown(text)}: true or false was expected")
    return TRUTH[text], TRUTH[text]


def _name(name: str, value: object) -> tuple[object, object]:
    text = names.check_profile(_text(name, value))
    return text, text


def _target(name: str, value: object) -> tuple[object, object]:
    text = _text(name, value)
    return text, text


def _choice(known: tuple[str, ...]) -> Callable[[str, object], tuple[object, object]]:
    def read(name: str, value: object) -> tuple[object, object]:
        text = "none" if value is None else _text(name, value).lower()
        if text not in known:
            raise ArgumentError(f"{name}={names.shown(text)} is not known{names.nearest(text, known)}")
        return (None if text == "none" else text), text

    return read


READERS: dict[str, Callable[[str, object], tuple[object, object]]] = {
    "name": _name,
    "target": _target,
    **dict.fromkeys(("data", "db", "wal", "journal", "exclude"), _filter),
    **dict.fromkeys(("ratio", "db-ratio", "limit-data", "osds-per-device"), _count),
    **dict.fromkeys(("db-size", "wal-size", "journal-size"), _size),
    **dict.fromkeys((*LAYOUTS, "leftovers", "force"), _switch),
    "format": _choice(("bluestore", "filestore")),
    "encryption": _choice(("none", "dmcrypt")),
}
