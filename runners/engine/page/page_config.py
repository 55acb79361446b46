"""The page in the master's configuration: one drop-in of ours, and a certificate where none is given."""

import contextlib
import datetime
import ipaddress
import re
import shlex
import shutil
import socket
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import salt.loader
import salt.utils.yaml
from cryptography import x509
from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from proposals.files import atomic
from proposals.text.errors import ArgumentError, ProposalError
from proposals.text.names import nearest, shown
from runners.engine.page import page_rights

DROP_IN = "halocline-page.conf"
HEADER = "# Made by 'salt-run page.enable'; 'salt-run page.disable' takes it away.\n"
SECTION = "halocline_page"
KEYS = ("external_auth", "netapi_dirs")  # of ours; in the main file they would hide, or be hidden
PAM_PYTHON = "auth.pam.python"
USER = re.compile(r"[A-Za-z_][A-Za-z0-9_.@-]{0,63}%?")  # % at the end: a group
NAME = re.compile(r"(?=.*[A-Za-z])[A-Za-z0-9.-]{1,253}")  # of a host: what has no letter is an address, or none
DAYS = 825
TREE = Path(page_rights.__file__).resolve().parents[3]


def users(key: str, typed: object) -> list[str]:
    """Users that were typed with commas between. Raises ArgumentError for what is no name, and for ``*``."""
    words = [str(word).strip() for word in (typed if isinstance(typed, list) else str(typed or "").split(","))]
    for word in filter(None, words):
        if not USER.fullmatch(word):
            raise ArgumentError(f"{key}: '{shown(word)}' is no user's name, or a group's with % at its end: name each")
    return sorted(filter(None, words))


def authentication(opts: Mapping[str, Any], by: str) -> None:
    """Raise ArgumentError where Salt has no such authentication: nobody could log in, and Salt says nothing of it."""
    known = {name.partition(".")[0] for name in salt.loader.auth(opts) if name.endswith(".auth")} - {"auto"}
    if by not in known:
        raise ArgumentError(f"by={shown(by)} is none of Salt's authentications{nearest(by, known)}")


def address(host: object) -> str:
    """Return where the page is to be served. Raises ArgumentError for what is no address and no name of one:
    salt-api would not start.
    """
    said = str(host)
    with contextlib.suppress(ValueError):
        return str(ipaddress.ip_address(said))
    if NAME.fullmatch(said):
        with contextlib.suppress(OSError, UnicodeError):
            socket.getaddrinfo(said, None)
            return said
    raise ArgumentError(
        f"host={shown(said)}: an address of this host was expected, or its name; 0.0.0.0 is all of them"
    )


def path(opts: Mapping[str, Any]) -> Path:
    """Where the drop-in lies. Raises ProposalError where the master reads no ``master.d``, or would hide a part."""
    main = Path(opts["conf_file"])
    if opts.get("default_include") != "master.d/*.conf":
        raise ProposalError(f"{main}: default_include is '{opts.get('default_include')}', expected master.d/*.conf")
    own = salt.utils.yaml.safe_load(atomic.read_text(main)) if main.is_file() else None
    if hidden := [key for key in KEYS if key in (own or {})]:
        raise ProposalError(
            f"{main} has {hidden[0]}, which a file of master.d would hide as a whole: "
            f"move it into one of your own, such as {main.parent}/master.d/own.conf"
        )
    return main.parent / "master.d" / DROP_IN


def text(
    section: Mapping[str, Any], readers: Iterable[str], operators: Iterable[str], python: Path | None = None
) -> str:
    """The drop-in's text.

    section
        Of the server: ``host``, ``port``, ``certificate``, ``key``, ``by`` (which of Salt's authentications).
    readers, operators
        Who may look, and who may change too.
    python
        As ``pam_python`` says.
    """
    listed = {user: page_rights.rights(page_rights.READ) for user in readers}
    listed |= {user: page_rights.rights(page_rights.FUNCTIONS) for user in operators}
    settings = {
        "netapi_dirs": [str(TREE / "salt/_netapi")],
        SECTION: dict(section),
        "external_auth": {section["by"]: listed},
    }
    if python:
        settings[PAM_PYTHON] = str(python)
    return HEADER + salt.utils.yaml.safe_dump(settings, default_flow_style=False)


def pam_python(opts: Mapping[str, Any], by: str) -> Path | None:
    """Where a script has to lie by which Salt asks PAM; None where it needs none, or the site has named its own.

    Salt asks by another Python, which has to have Salt itself (``salt/auth/pam.py``, ``__find_pyexe``). That is the
    system's, which knows nothing of a Salt in a virtual environment; and of what is named it follows the links, which
    lead out of one.
    """
    file = _folder(opts) / "python"
    if by != "pam" or sys.prefix == sys.base_prefix or opts.get(PAM_PYTHON) not in (None, str(file)):
        return None
    return file


def make_python(file: Path) -> None:
    """Write that script."""
    file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    atomic.write(file, f'#!/bin/sh\nexec {shlex.quote(sys.executable)} "$@"\n', 0o755)


def certificate(opts: Mapping[str, Any], crt: object, key: object) -> tuple[str, str]:
    """The paths of certificate and key: those given, else our own beside the drop-in's folder.

    Raises ArgumentError where one is given without the other, does not exist, or is none that salt-api can read."""
    if bool(crt) != bool(key):
        raise ArgumentError("certificate and key belong together: give both, or none for one that is made here")
    if not crt:
        folder = _folder(opts)
        return str(folder / "page.crt"), str(folder / "page.key")
    for word, file in (("certificate", crt), ("key", key)):
        if not (Path(str(file)).is_absolute() and Path(str(file)).is_file()):
            raise ArgumentError(f"{word}={shown(file)}: there is no such file; an absolute path was expected")
    _fit(Path(str(crt)), Path(str(key)))
    return str(crt), str(key)


def _fit(crt: Path, key: Path) -> None:
    """Raise ArgumentError where a file holds no certificate, the other no key, or another one's."""
    try:
        own = x509.load_pem_x509_certificates(crt.read_bytes())[0].public_key()
    except (ValueError, UnsupportedAlgorithm) as err:
        raise ArgumentError(f"certificate={shown(crt)} holds no certificate: one in PEM was expected") from err
    try:
        private = serialization.load_pem_private_key(key.read_bytes(), None)
    except (ValueError, TypeError, UnsupportedAlgorithm) as err:  # TypeError: it asks for a password
        raise ArgumentError(f"key={shown(key)} holds no key: one in PEM without a password was expected") from err
    if private.public_key() != own:
        raise ArgumentError(
            f"key={shown(key)} is not that of certificate={shown(crt)}: give the two that belong together"
        )


def ended(crt: str) -> bool:
    """Whether a certificate is good no more, or a file holds none."""
    end = _end(crt)
    return end is None or end < datetime.datetime.now(datetime.UTC)


def validity(crt: str) -> str:
    """Until when a certificate is good, as a message names it."""
    end = _end(crt)
    if end is None:
        return f"{crt} holds no certificate that can be read: type page.enable again"
    again = "type page.enable again, which makes its own anew and takes another one"
    return f"{crt} ended on {end:%Y-%m-%d}: {again}" if ended(crt) else f"{crt} until {end:%Y-%m-%d}"


def _end(crt: str) -> datetime.datetime | None:
    with contextlib.suppress(OSError, ValueError, UnsupportedAlgorithm):
        return x509.load_pem_x509_certificates(Path(crt).read_bytes())[0].not_valid_after_utc
    return None


def make_certificate(crt: str, key: str, user: str) -> None:
    """Make a self-signed certificate of this host, and its key for the master's user alone."""
    names = sorted({socket.getfqdn(), socket.gethostname(), "localhost"})
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, names[0][:64])])
    private, now = ec.generate_private_key(ec.SECP256R1()), datetime.datetime.now(datetime.UTC)
    made = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(subject)
        .public_key(private.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - datetime.timedelta(minutes=5))
        .not_valid_after(now + datetime.timedelta(days=DAYS))
        .add_extension(x509.SubjectAlternativeName([x509.DNSName(name) for name in names]), critical=False)
        .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        .sign(private, hashes.SHA256())
    )
    Path(key).parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    form = (serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    atomic.write(key, private.private_bytes(*form).decode(), 0o600)
    atomic.write(crt, made.public_bytes(serialization.Encoding.PEM).decode())
    for each in (key, crt, Path(key).parent):
        shutil.chown(each, user)


def _folder(opts: Mapping[str, Any]) -> Path:
    """Where the files of the page's own lie."""
    return Path(opts["conf_file"]).parent / "pki" / "page"


def ours(file: Path) -> bool:
    """Whether a file is there and one that we wrote."""
    return file.is_file() and atomic.read_text(file).startswith(HEADER)
