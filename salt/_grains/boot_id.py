"""Which boot of this host it is: the kernel's own random number for it (random(4), /proc/sys/kernel/random)."""

from pathlib import Path

BOOT_ID = Path("/proc/sys/kernel/random/boot_id")


def boot_id() -> dict[str, str]:
    """Return ``{boot_id: UUID}``; empty where the kernel does not say. What was seen in another boot is stale.

    CLI Example:

    .. code-block:: bash

        salt 'osdnode1' grains.get boot_id
    """
    try:
        return {"boot_id": BOOT_ID.read_text().strip()}
    except OSError:
        return {}
