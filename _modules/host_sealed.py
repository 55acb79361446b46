"""What a monitor's host knows of its cluster, keys among it, sealed for whoever has the private key of one run.

What a minion returns lies in the master's job cache and runs over its event bus. So the answer is encrypted here: by
AES-256-GCM with a fresh key, and that by RSA-OAEP (RFC 8017, 7.1) to the public key that the asker made for this one
run. The library is ``cryptography``, which Salt itself stands on.
"""

import base64
import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import halocline
from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import padding, rsa
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from salt.exceptions import CommandExecutionError

CONF, STORES = Path("/etc/ceph/ceph.conf"), Path("/var/lib/ceph/mon")
LIMIT, CONNECT = 60, 30  # seconds one command may take; of these, to find a monitor
BITS = 3072  # of the asker's key at least: less is no seal
NONCE = 12  # bytes: what AES-GCM takes (NIST SP 800-38D)
CORE = ("client.admin", "client.bootstrap-osd", "client.crash")
DAEMONS = ("mgr.", "mds.", "client.rgw.")
QUESTIONS = {
    "mons": ["mon", "dump"],
    "osds": ["osd", "dump"],
    "config": ["config", "dump"],
    "managers": ["mgr", "dump"],
    "systems": ["fs", "dump"],
}


def tell(key: str) -> dict[str, str | list[str]]:
    """Return what this host's monitor knows of the cluster, for the asker alone: ``{key, nonce, text}``,
    the text in pieces.

    Sealed are: ceph.conf, the keys that any cluster has (monitors', the admin's, for making OSDs, managers', for
    crashes), those of metadata servers and gateways, each with its capabilities, the names of all others, the maps of
    monitors, OSDs, managers and file systems, the central configuration. It is asked by the monitor's own key.

    key
        The asker's public key, RSA of 3072 bits or more, as PEM.

    CLI Example: for ``salt-run ceph.adopt``.
    """
    public, name = _public(key), __grains__["host"]
    keyring = STORES / f"ceph-{name}" / "keyring"
    if not keyring.is_file():
        raise CommandExecutionError(f"{keyring} is not there: expected a monitor of the host's own name, mon.{name}")
    known = _ask(keyring, ["auth", "ls"])["auth_dump"]
    wanted = [entry for entry in known if entry["entity"] in CORE or entry["entity"].startswith(DAEMONS)]
    told = {question: _ask(keyring, words) for question, words in QUESTIONS.items()}
    told["keys"] = {entry["entity"]: {"key": entry["key"], "caps": entry["caps"]} for entry in wanted}
    told["others"] = sorted({entry["entity"] for entry in known} - told["keys"].keys())
    told["monitor_keyring"] = keyring.read_text(encoding="utf-8")
    told["conf"] = CONF.read_text(encoding="utf-8", errors="replace") if CONF.is_file() else ""
    return _sealed(public, json.dumps(told).encode(), __grains__["id"].encode())


def _public(key: str) -> rsa.RSAPublicKey:
    try:
        public = serialization.load_pem_public_key(key.encode())
    except (ValueError, TypeError, AttributeError, UnsupportedAlgorithm) as err:
        raise CommandExecutionError("no public key in PEM was given: nothing was read") from err
    if not isinstance(public, rsa.RSAPublicKey) or public.key_size < BITS:
        raise CommandExecutionError(f"the key to seal for is no RSA key of {BITS} bits or more: nothing was read")
    return public


def _sealed(public: rsa.RSAPublicKey, text: bytes, about: bytes) -> dict[str, str | list[str]]:
    """A text encrypted with a fresh key, and that to the public one; ``about`` is bound to it, and not hidden."""
    secret, nonce = AESGCM.generate_key(256), os.urandom(NONCE)
    oaep = padding.OAEP(padding.MGF1(hashes.SHA256()), hashes.SHA256(), None)
    parts = {
        "key": public.encrypt(secret, oaep),
        "nonce": nonce,
        "text": AESGCM(secret).encrypt(nonce, text, about),
    }
    coded = {name: base64.b64encode(part).decode("ascii") for name, part in parts.items()}
    long, most = coded["text"], halocline.LONG  # Salt cuts a long text out of what is longer than an event
    return {**coded, "text": [long[at : at + most] for at in range(0, len(long), most)]}


def _ask(keyring: Path, words: Sequence[str]) -> Any:
    command = ["ceph", "--name", "mon.", "--keyring", str(keyring), "--connect-timeout", str(CONNECT)]
    try:
        return json.loads(halocline.run([*command, *words, "--format", "json"], limit=LIMIT, secret=True))
    except ValueError as err:
        raise CommandExecutionError(f"ceph {' '.join(words)}: answered no JSON: is this Ceph 14 or newer?") from err
