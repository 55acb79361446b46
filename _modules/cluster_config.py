"""The cluster's central configuration (``ceph config``), brought to what pillar says; on a host with the admin's key.

What was set is kept in the cluster itself (``ceph config-key``), as it was typed and as Ceph stored it: so a second
run changes nothing though Ceph writes numbers its own way, and what pillar no longer names is taken away again. What
others set is theirs and stays. An option that the running Ceph does not know is refused before anything is set.
"""

import difflib
import json
from collections.abc import Collection, Iterable, Mapping

import halocline
from salt.exceptions import CommandExecutionError

Place = tuple[str, str]  # section and option

KEPT = "halocline/config"


def changes(options: Mapping[str, Mapping], kept: str = KEPT) -> dict[str, list]:
    """Return what has to change: ``{set: [[section, option, value]], remove: [[section, option]]}``.

    options
        Pillar's ``ceph_config``: ``{section: {option: value}}``; sections as ``ceph config set`` takes them, such as
        ``osd``, ``osd.3``, ``osd/class:hdd``.
    kept
        The config-key that remembers what was set: one for each who sets.

    CLI Example:

    .. code-block:: bash

        salt 'saltmaster' cluster_config.changes '{osd: {osd_max_backfills: 2}}'
    """
    return _todo(options, _kept(kept))


def apply(options: Mapping[str, Mapping], kept: str = KEPT) -> dict[str, list]:
    """Bring the central configuration to ``options`` (arguments as for ``changes``); return what was changed.

    Interrupted, the next run sets the same again: what is about to be set is kept first, as ours to take away.

    CLI Example:

    .. code-block:: bash

        salt 'saltmaster' cluster_config.apply '{osd: {osd_max_backfills: 2}}'
    """
    before = _kept(kept)
    todo = _todo(options, before)
    if not (todo["set"] or todo["remove"]):
        return todo
    _keep(kept, before | {(section, option): [value, None] for section, option, value in todo["set"]})
    now = dict(before)
    try:
        for section, option, value in todo["set"]:
            __salt__["cluster_cli.tell"](["config", "set", section, option, value])
            now[section, option] = [value, None]
        for section, option in todo["remove"]:
            __salt__["cluster_cli.tell"](["config", "rm", section, option])
            del now[section, option]
    finally:  # where Ceph refuses one, that one is not ours
        stored = _places(__salt__["cluster_cli.ask"](["config", "dump"]))
        _keep(kept, {place: [value, was or stored.get(place)] for place, (value, was) in now.items()})
    return todo


def _keep(kept: str, rows: Mapping[Place, list]) -> None:
    text = json.dumps([[*place, value] for place, value in sorted(rows.items())])
    __salt__["cluster_cli.tell"](["config-key", "set", kept, "-i", "-"], stdin=text)


def _todo(options: Mapping[str, Mapping], before: Mapping[Place, list]) -> dict[str, list]:
    flat = {(section, option): _text(value) for section, values in options.items() for option, value in values.items()}
    known, rows = __salt__["cluster_cli.ask_all"]([["config", "ls"], ["config", "dump"]]) if flat else ([], [])
    stored = _places(rows)
    changed = [
        place
        for place, value in flat.items()
        if before.get(place, [value, value]) != [value, stored.get(place, "")]  # what others set so already is theirs
    ]
    _refuse_unknown({option for _, option in changed}, known)  # what is set stays, also what an older release knew
    return {
        "set": [[*place, flat[place]] for place in sorted(changed)],
        "remove": [list(place) for place in sorted(set(before) - set(flat))],
    }


def _refuse_unknown(options: Collection[str], known: Collection[str]) -> None:
    """Raise where the monitors' release does not know an option: ``ceph config ls``, modules' options among them."""
    wrong = sorted(set(options) - set(known))
    if wrong:
        near = {option: difflib.get_close_matches(option, known, 1) for option in wrong}
        names = ", ".join(f"{option} (nearest: {near[option][0]})" if near[option] else option for option in wrong)
        raise CommandExecutionError(
            f"the running Ceph does not know {names}: nothing was set; where the site's ceph_config names it, mend that"
        )


def startup() -> list[dict]:
    """Return what is set for options that daemons read at their start alone: ``[{section, mask, name, value}]``, values
    as ``daemons.settings`` spells them.

    Options of managers' modules (``mgr/MODULE/NAME``) are no daemon's: the module asks the monitors for them itself.
    One that only an older release knew is of level ``unknown``: daemons leave it aside, however often they start.

    CLI Example:

    .. code-block:: bash

        salt 'saltmaster' cluster_config.startup
    """
    rows = __salt__["cluster_cli.ask"](["config", "dump"])
    return [
        {**{key: row.get(key, "") for key in ("section", "mask", "name")}, "value": halocline.spelled(row["value"])}
        for row in rows
        if not row["can_update_at_runtime"] and not row["name"].startswith("mgr/") and row.get("level") != "unknown"
    ]


def _places(rows: Iterable[Mapping]) -> dict[Place, str]:
    """What the cluster has, of ``ceph config dump``; a mask belongs to the section's name."""
    return {("/".join(filter(None, (row["section"], row.get("mask")))), row["name"]): row["value"] for row in rows}


def _kept(kept: str) -> dict[Place, list]:
    """What was set last: ``{(section, option): [as typed, as Ceph stored it]}``."""
    rows = json.loads(__salt__["cluster_cli.kept"](kept) or "[]")
    return {(section, option): value for section, option, value in rows}


def _text(value: object) -> str:
    """A value as ``ceph config set`` takes it."""
    return str(value).lower() if isinstance(value, bool) else str(value)
