"""A host in maintenance: what the monitors keep of it, what stands against it, and what is said of it."""

import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from proposals.text.argument_readers import text
from proposals.text.errors import ArgumentError, InventoryError
from proposals.text.names import nearest, shown
from proposals.text.notes import several

BEGINS, DOWN, ENDS = "begins", "down", "ends"
CLIENTS_OF = {  # parts whose clients may be left without any, by the admin's word
    "rgw": "object gateway",
    "rgw-frontend": "address before the gateways",
    "ganesha": "NFS server",
    "igw": "iSCSI gateway",
    "mds": "metadata server",
}
HOURS = (1, 7 * 24)  # how long silences may last at first
OSD = re.compile(r"ceph-(?:osd@|volume@(?:lvm|simple)-)(\d+)\b.*")  # units of one OSD, with its number


@dataclass(frozen=True)
class Record:
    """What is kept of a host in maintenance.

    minion
        Its id.
    state
        ``begins``, ``down`` or ``ends``.
    since
        When it began, as ISO 8601 has it.
    user
        Who typed it.
    units
        Its daemons' units, each with systemd's word for whether it starts at boot.
    daemons
        Those of Ceph that ran: ``osd.3``, ``mon.node1``.
    noout
        For what its maintenance has set ``noout``, by Ceph's names; not for what had it before.
    """

    minion: str
    state: str
    since: str
    user: str
    units: Mapping[str, str]
    daemons: tuple[str, ...]
    noout: tuple[str, ...] = ()

    def as_dict(self) -> dict[str, Any]:
        """It as the monitors keep it."""
        return {**vars(self), "units": dict(self.units), "daemons": list(self.daemons), "noout": list(self.noout)}

    @property
    def why(self) -> str:
        """Why it is left out of a stage."""
        return f"in maintenance since {self.since}"

    def at(self, state: str) -> "Record":
        """It in another state."""
        return replace(self, state=state)

    def again(self, osds: Collection[int]) -> dict[str, str]:
        """The units that start again: not those of an OSD that was given up meanwhile, which would fail at each boot.

        osds
            The numbers of those that the cluster has.
        """
        left = {unit for unit in self.units if (osd := OSD.fullmatch(unit)) and int(osd[1]) not in osds}
        return {unit: word for unit, word in self.units.items() if unit not in left}


@dataclass(frozen=True)
class Service:
    """What clients reach on a host: of which part, under which name, and the unit by which it runs there."""

    part: str
    name: str
    unit: str


def read(kept: Mapping[str, Any]) -> dict[str, Record]:
    """Return the records that the monitors keep, by host name. Raises InventoryError for another form."""
    records = {}
    for host, told in sorted(kept.items()):
        try:
            record = Record(**{"noout": [host], **told})  # older ones do not say it: for the host
            daemons, noout = tuple(record.daemons), tuple(record.noout)
            records[host] = replace(record, units=dict(record.units), daemons=daemons, noout=noout)
        except (TypeError, ValueError) as err:
            raise InventoryError(
                f"the monitors keep of {shown(host)} what is no record of its maintenance ({shown(err)}): look at "
                f"'ceph config-key get halocline/maintenance/{shown(host)}', take its noout away, and remove that key"
            ) from err
    return records


def chosen(host: object, known: Collection[str]) -> str:
    """Return the minion that was typed; ArgumentError where there is none of that name."""
    minion = text("host", host)
    if minion not in known:
        raise ArgumentError(f"'{shown(minion)}' is no host of the generation that is served{nearest(minion, known)}")
    return minion


def without(words: object) -> set[str]:
    """Return the parts whose clients may be left without any. Raises ArgumentError for another word."""
    parts = {word.strip() for word in str(words).split(",")} if words else set()
    if wrong := sorted(parts - CLIENTS_OF.keys()):
        raise ArgumentError(f"without={shown(wrong[0])}: expected some of {', '.join(CLIENTS_OF)}")
    return parts


def hours(number: object) -> int:
    """Return after how many hours silences end. Raises ArgumentError."""
    least, most = HOURS
    if type(number) is not int or not least <= number <= most:
        raise ArgumentError(f"hours={shown(number)}: expected a whole number from {least} to {most}")
    return number


def services(parts: Mapping[str, Mapping], hostname: str) -> Iterator[Service]:
    """Return what clients reach on a host, of the parts that it is told of (``pillar.named``)."""
    for name in parts.get("rgw", {}).get("daemons", ()):
        yield Service("rgw", f"rgw {name.removesuffix(f'.{hostname}')}", f"ceph-radosgw@{name}.service")
    for part, unit in (("rgw-frontend", "ceph-rgw-haproxy"), ("ganesha", "nfs-ganesha"), ("igw", "rbd-target-api")):
        if part in parts:
            yield Service(part, part, f"{unit}.service")


def alone(own: Iterable[Service], others: Collection[str], spared: Collection[str]) -> list[str]:
    """Return a line for each service that no other host runs.

    own
        The host's.
    others
        The names of those that run on other hosts.
    spared
        The parts that clients can do without.
    """
    return [
        f"{service.name}: no other {CLIENTS_OF[service.part]} like it runs: its clients would have none; where they "
        f"can do without, add without={service.part}"
        for service in own
        if service.name not in others and service.part not in spared
    ]


def managers(hostname: str, running: Collection[str]) -> list[str]:
    """Return that a host's manager is the last one; empty where another runs."""
    if hostname not in running or set(running) - {hostname}:
        return []
    return [f"mgr.{hostname}: no other manager runs: start one first, or give another host the role mgr"]


def excused(records: Iterable[Record]) -> set[str]:
    """Return the daemons that are down as their hosts are in maintenance, by Ceph's names."""
    daemons = {daemon for record in records for daemon in record.daemons}
    gateways = {name.removeprefix("client.").removeprefix("rgw.") for name in daemons if name.startswith("client.")}
    return daemons | {f"rgw.{name}" for name in gateways}  # as health.seen has them


def lines(records: Mapping[str, Record]) -> list[str]:
    """Return what is said of the hosts in maintenance, a line each."""
    goes_on = {
        BEGINS: "did not begin to its end: run maintenance.begin again, or maintenance.end",
        DOWN: "its daemons are stopped",
        ENDS: "did not end: run maintenance.end again",
    }
    return [
        f"{record.minion}: {record.why}, by {shown(record.user)}: {goes_on.get(record.state, shown(record.state))}: "
        f"{several(list(record.daemons), 'more daemons') or 'no daemon of Ceph'}"
        for record in records.values()
    ]
