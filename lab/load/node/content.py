"""What is written: bytes that only this version of this object of this load has, so that loss and change are seen."""

import hashlib

SIZE = 8192  # bytes an object; small, since the lab's disks are sparse files that grow with what is written


def content(token: str, client: str, number: int, version: int) -> bytes:
    """The bytes of a version. token: what tells this load from others."""
    name = f"{token} {client} object {number} version {version}\n".encode()
    return (name + hashlib.shake_256(name).digest(SIZE))[:SIZE]


def digest(found: bytes | None) -> str | None:
    """What stands in the ledger for some bytes, or for nothing."""
    return None if found is None else hashlib.blake2b(found, digest_size=16).hexdigest()
