"""All site settings, in the order of the reference page."""

from collections.abc import Iterator

from proposals.settings import block, clients, cluster, files, hosts, machines, object_storage, pools, watching
from proposals.settings.kinds import Setting

SETTINGS: tuple[Setting, ...] = (
    *hosts.SETTINGS,
    *machines.SETTINGS,
    *cluster.SETTINGS,
    *pools.SETTINGS,
    *files.SETTINGS,
    *object_storage.SETTINGS,
    *block.SETTINGS,
    *clients.SETTINGS,
    *watching.SETTINGS,
)


def rows() -> Iterator[tuple[str, Setting]]:
    """Yield every row with its path, each before those within it: ``("rgw_frontend: port", Setting(...))``."""
    for row in SETTINGS:
        yield row.key, row
        yield from ((f"{row.key}: {path}", each) for path, each in row.kind.inner())
