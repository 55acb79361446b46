"""Archives encrypted and decrypted by age (age-encryption.org, age(1)), which Debian packages.

A public key encrypts. No passphrase and no private key is ever an argument or in the environment. The one that checks
an archive right after it was written is made for that, lives in memory, and is told to age by its standard input.
"""

import os
import re
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO

from proposals.text.errors import ArgumentError, ProposalError, StoreError
from proposals.text.names import shown

PUBLIC = re.compile(r"age1[02-9ac-hj-np-z]{58}")
PRIVATE = "AGE-SECRET-KEY-"
SKIPPED = "ignoring unsupported SSH key"  # of a file with others beside it: a warning alone
LONGEST = 1 << 16  # bytes of a file of keys
NEXT = {  # what age says, and what to do about it
    "no identity matched": "this private key is not the one that it was encrypted to: take the other one",
    "failed to decrypt and authenticate": "it is cut off or damaged: take another copy of it",
    "unexpected EOF": "it is cut off: take another copy of it",
    "failed to read header": "it is cut off, or no archive that master.backup made",
}


def recipients(recipient: str) -> list[str]:
    """Return the words by which age encrypts to a public key, or to those of a file. Raises ArgumentError.

    recipient
        ``age1…``, or the path of a file with one such key, or one of ssh, a line.
    """
    if PUBLIC.fullmatch(recipient):
        return ["--recipient", recipient]
    if PRIVATE in recipient.upper():
        raise _private("what was typed")
    if recipient.startswith("age1"):
        raise ArgumentError(f"{shown(recipient)} is no public key of age: expected age1 and 58 characters more")
    text = _text(recipient, "recipient", "a public key (age1…), or the path of a file of them")
    if PRIVATE in text.upper() or "PRIVATE KEY" in text:
        raise _private(recipient)
    return ["--recipients-file", str(Path(recipient).absolute())]


def identity(path: str) -> list[str]:
    """Return the words by which age decrypts with the private key in a file. Raises ArgumentError."""
    _text(path, "identity", "the path of the private key's file")
    return ["--identity", str(Path(path).absolute())]


def once() -> tuple[str, list[str]]:
    """Return a private key made for one check, and the words that encrypt to it too."""
    private = _said(["age-keygen"])
    public = next((word for word in private.split() if PUBLIC.fullmatch(word)), "")
    if not public:
        raise ProposalError("age-keygen made no key: is the package age whole? (apt install --reinstall age)")
    return private, ["--recipient", public]


@contextmanager
def encrypted(words: Sequence[str], path: Path) -> Iterator[IO[bytes]]:
    """Write a file that age encrypts, for its owner alone, from what is written into the stream. Raises StoreError."""
    try:
        handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600)
    except OSError as err:
        raise StoreError(f"{path} cannot be written: {err.strerror}") from err
    with os.fdopen(handle, "wb") as file, _age(["--encrypt", *words], stdin=subprocess.PIPE, stdout=file) as process:
        assert process.stdin
        try:
            yield process.stdin
            process.stdin.close()
        except OSError:  # age ended, and says why below
            process.wait()
        if SKIPPED in (said := _end(process, path)):
            raise StoreError(
                f"{path}: {shown(said.strip(), 300)}: whoever has that key could not restore; take it out of the "
                "recipients' file, or put one there that age takes (ssh-ed25519, ssh-rsa, age1…)"
            )
        os.fsync(handle)


@contextmanager
def decrypted(words: Sequence[str], path: Path, private: str = "") -> Iterator[IO[bytes]]:
    """Read a file that age decrypts. Raises StoreError: what age says of it counts before what was made of its content.

    private
        A private key in memory, in place of ``words``.
    """
    words = ["--decrypt", *(["--identity", "-"] if private else words), str(path.absolute())]
    with _age(words, stdin=subprocess.PIPE if private else subprocess.DEVNULL, stdout=subprocess.PIPE) as process:
        assert process.stdout
        if process.stdin:
            with suppress(OSError):
                process.stdin.write(private.encode())
                process.stdin.close()
        whole = False
        try:
            yield process.stdout
            whole = True
        except StoreError:
            if process.poll() is not None or not process.stdout.read(
                1
            ):  # else age would go on: what was read is refused
                _end(process, path)
            raise
        finally:
            if not whole:
                process.kill()
        _end(process, path)


def _age(words: Sequence[str], **streams: IO[bytes] | int) -> subprocess.Popen:
    try:
        return subprocess.Popen(["age", *words], stderr=subprocess.PIPE, cwd="/", **streams)  # type: ignore[call-overload]
    except FileNotFoundError as err:
        raise _missing() from err


def _end(process: subprocess.Popen, path: Path) -> str:
    """Wait for age's end; return what it said. Raises StoreError with its own words where it failed."""
    assert process.stderr
    said = process.stderr.read().decode(errors="replace")
    if process.wait():
        words = next(iter(said.splitlines()), "no word").removeprefix("age: error: ")
        told = next((told for key, told in NEXT.items() if key in said), "see age(1)")
        raise StoreError(f"{path}: age: {shown(words, 200)}: {told}")
    return said


def _said(words: Sequence[str]) -> str:
    try:
        return subprocess.run(words, capture_output=True, text=True, check=True).stdout
    except FileNotFoundError as err:
        raise _missing() from err
    except subprocess.CalledProcessError as err:
        raise ProposalError(f"{words[0]} failed: {shown(err.stderr, 200)}") from err


def _missing() -> ProposalError:
    return ProposalError(
        "age is not installed on the master, which encrypts backups: 'apt install age' (Debian 12, Ubuntu 22.04 and "
        "newer; openSUSE: zypper install age; EPEL: dnf install age), then run this again"
    )


def _text(path: str, name: str, expected: str) -> str:
    try:
        with Path(path).open("rb") as file:
            return file.read(LONGEST).decode(errors="replace")
    except (OSError, ValueError) as err:
        why = getattr(err, "strerror", None) or "no path"
        raise ArgumentError(f"{name}={shown(path, 200)} cannot be read ({why}): expected {expected}") from err


def _private(where: str) -> ArgumentError:
    return ArgumentError(
        f"{shown(where, 200) if PRIVATE not in where else 'recipient'} is a private key: it must not be on the master; "
        "take it away, make a new one elsewhere, and give its public key ('age-keygen -y FILE' prints it)"
    )
