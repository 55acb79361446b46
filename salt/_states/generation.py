"""Whether a minion was told what the master tells now."""


def equal(name, expected):
    """This minion's pillar is of generation ``expected``; nothing is changed. ``name`` is only a name."""
    found = __pillar__.get("ceph", {}).get("generation")
    comment = f"generation {found}"
    if found != expected:
        comment = f"this minion's pillar is of generation {found}, expected {expected}: run ceph.stage.configure again"
    return {"name": name, "result": found == expected, "changes": {}, "comment": comment}
