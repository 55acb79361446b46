"""Every layout that a host's disks allow is tried, and one is chosen."""

from collections.abc import Iterable, Sequence

from proposals.disks.allocate import Allocation, allocate, parts
from proposals.disks.layouts import CLASSES, Tiers, candidates, name
from proposals.disks.shape import DATA, EXCLUDE, WAL, Facts, Placed, Shape
from proposals.disks.values import Attempt, Candidate, State
from proposals.text.sizes import GIB

STANDALONE = "standalone"


def attempts(state: State) -> list[Attempt]:
    """Each layout with DB or WAL devices, tried on what exists; in the order that decides between equals."""
    tried = (
        allocate(state.shape.disks, tiers, state.neighbours, state.arguments, state.limit)
        for tiers in candidates(state.pool, state.arguments)
    )
    return [Attempt(_judged(state, allocation), allocation) for allocation in tried]


def chosen(tried: Sequence[Attempt], before: State) -> Attempt | None:
    """The attempt to follow: the stored plan's layout, where it still serves a data disk; else the one with most raw
    capacity behind a faster DB, of equals the smallest loss with one device, of equals the first."""
    stored, arguments = before.shape.layout, before.arguments
    if stored == STANDALONE and stands_alone(before):
        return None
    kept = [one for one in tried if one.candidate.layout == stored and one.candidate.behind_bytes]
    no_slot = not any(one.candidate.behind_bytes for one in tried)
    typed = arguments.layout or arguments.db or (arguments.fast_size[1] and no_slot)
    open_ = kept or [one for one in tried if one.candidate.fits] or (tried if typed else [])
    return min(open_, key=lambda one: (-one.candidate.behind_bytes, one.candidate.lost_at_most), default=None)


def again(now: State, choice: Attempt) -> Allocation | None:
    """The chosen layout on a host where more lies than when it was tried."""
    order = choice.allocation.tiers.order
    tiers = next((one for one in candidates(now.pool, now.arguments) if one.order == order), None)
    return allocate(now.shape.disks, tiers, now.neighbours, now.arguments, now.limit) if tiers else None


def stands_alone(state: State) -> bool:
    """Whether data disks become OSDs of their own where no layout was chosen: not where a DB or WAL is wanted."""
    arguments = state.arguments
    if arguments.layout not in (None, STANDALONE) or arguments.db:
        return False
    return not arguments.wal or any(
        disk.mask & WAL and not disk.mask & EXCLUDE and disk.reason is None for disk in state.shape.disks
    )


def compared(tried: Sequence[Attempt], choice: Attempt | None, state: State) -> tuple[Candidate, ...]:
    """The candidates as the answer lists them: standalone beside those that were tried, and which was chosen."""
    listed = [
        one.candidate._replace(chosen=one is choice, why_not=one.candidate.why_not or _outdone(one, choice, tried))
        for one in tried
    ]
    if not state.arguments.layout and (alone := _standalone(state)).data_disks:
        taken = choice is None and alone.fits and stands_alone(state)
        slower = None if taken else "no DB on a faster disk" if choice else "db or wal is asked for"
        listed.append(alone._replace(chosen=taken, why_not=alone.why_not or slower))
    return tuple(listed)


def _outdone(attempt: Attempt, choice: Attempt | None, tried: Sequence[Attempt]) -> str | None:
    """Why a layout that fits was not chosen, in the numbers that decide."""
    if attempt is choice:
        return None
    mine, best = attempt.candidate, choice and choice.candidate
    if best and mine.behind_bytes < best.behind_bytes:
        return "less raw capacity behind a DB"
    if best and mine.behind_bytes == best.behind_bytes:
        if mine.lost_at_most > best.lost_at_most:
            return "more OSDs fall with one device"
        if mine.lost_at_most == best.lost_at_most and tried.index(attempt) > tried.index(choice):
            return "equal, and the chosen one comes first"
    return "the stored plan has another layout"


def layout_name(shape: Shape, osds: Iterable[Placed]) -> str | None:
    """The layout's name by the classes taken; OSDs that stand alone beside others do not count."""
    everything = (*shape.existing, *osds)
    served = [osd for osd in everything if osd.db is not None or osd.wal is not None] or everything
    return name(shape.disks, *({getattr(osd, role) for osd in served} - {None} for role in ("data", "db", "wal")))


def _judged(state: State, allocation: Allocation) -> Candidate:
    disks, tiers = state.shape.disks, allocation.tiers
    lying = [osd for osd in (*state.shape.existing, *state.placed) if _belongs(osd, tiers, disks)]
    behind = {osd.data for osd in (*lying, *allocation.placed)}
    raw = sum(disks[at].size for at in behind)
    lost = max((device.osds for one in allocation.devices for device in (one, one.behind or one)), default=0)
    cost = sum(disks[at].size for at in {*tiers.db, *tiers.wal})
    why_not = None
    if not behind:
        why_not = "no slot for any data disk"
    elif not state.arguments.fast_size[1] and tiers.db and any(device.db < GIB for device in allocation.devices):
        why_not = "its DBs would be under 1 GiB"
    elif cost >= raw:
        why_not = "its DB and WAL devices hold no less than the data disks behind them"
    layout = tiers.layout or (layout_name(state.shape, allocation.placed) if behind else None)
    return Candidate(layout, len(allocation.placed) + len(lying), len(behind), raw, lost, why_not is None, why_not)


def _belongs(osd: Placed, tiers: Tiers, disks: tuple[Facts, ...]) -> bool:
    """Whether an OSD that lies there was made as this layout makes them: its data's class, DB and WAL devices."""
    slow = CLASSES[tiers.order][0] if tiers.order in CLASSES else None
    if slow and disks[osd.data].cls != slow:
        return False
    db = {*tiers.db, *tiers.small}
    if not db:
        return osd.db is None and osd.wal in tiers.wal
    return osd.db in db and (osd.wal in tiers.wal if tiers.wal else osd.wal is None or osd.wal in db)


def _standalone(state: State) -> Candidate:
    """Every disk that may be data and carries nothing, as an OSD of its own: what the layouts compare with."""
    disks = state.shape.disks
    data = [at for at in state.pool.free if disks[at].mask & DATA][: state.limit]
    lying = state.shape.existing
    per_disk = [parts(disks[at], state.arguments) for at in data]
    return Candidate(
        STANDALONE,
        sum(per_disk) + len(lying),
        len({*data, *(osd.data for osd in lying)}),
        0,
        max(per_disk, default=0),
        bool(data),
        None if data else "no free data disk",
    )
