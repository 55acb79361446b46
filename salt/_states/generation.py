"""Whether a minion has the pillar that the master serves now."""


def equal(name: str, expected: str) -> dict:
    """This minion's pillar is of generation ``expected``; nothing is changed. ``name`` is only a name."""
    generation = __pillar__.get("ceph", {}).get("generation")
    comment = f"generation {generation}"
    if generation != expected:
        comment = (
            f"this minion's pillar is of generation {generation}, expected {expected}: run ceph.stage.configure again"
        )
    return {"name": name, "result": generation == expected, "changes": {}, "comment": comment}
