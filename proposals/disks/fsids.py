"""The fsids of new OSDs: made from host, disk and part alone, so that an interrupted deploy finds its OSDs again."""

import hashlib

from proposals.inventory.disk import Disk

VARIANT = {digit: "89ab"[int(digit, 16) & 3] for digit in "0123456789abcdef"}  # RFC 9562's, of a UUID


def fsid(host: str, disk: Disk, part: int) -> str:
    """The fsid of the ``part``-th OSD that is planned on ``disk``."""
    return made(f"{host}\0{disk.id}\0{disk.wwn}\0{disk.serial}\0{part}")


def made(text: str) -> str:
    """A UUID made from ``text`` alone (version 8 of RFC 9562: made by a rule of one's own)."""
    digest = hashlib.blake2b(text.encode(), digest_size=16).hexdigest()
    return f"{digest[:8]}-{digest[8:12]}-8{digest[13:16]}-{VARIANT[digest[16]]}{digest[17:20]}-{digest[20:]}"
