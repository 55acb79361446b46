"""Answers of minions that nobody else may read: sealed there to a key pair that lives as long as one run.

The private key is never written. What the job cache and the event bus get is the sealed text: ``host_sealed`` on the
minion is the other half, and says how.
"""

import base64
import json
from collections.abc import Mapping
from typing import Any

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import padding, rsa
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from proposals.text.errors import ProposalError
from runners.engine.asking import jobs

BITS = 3072


def ask(opts: Mapping, minion: str, function: str) -> dict[str, Any]:
    """Return what one minion's function seals for this one call. Raises ProposalError.

    opts
        The master's options.
    minion
        Its id, to which the answer is bound.
    function
        It takes a public key as PEM, and answers ``{key, nonce, text}``, the text in pieces.
    """
    private = rsa.generate_private_key(65537, BITS)
    form = serialization.PublicFormat.SubjectPublicKeyInfo
    public = private.public_key().public_bytes(serialization.Encoding.PEM, form).decode("ascii")
    return opened(private, jobs.one(opts, minion, function, [public], dict), minion)


def opened(private: rsa.RSAPrivateKey, answer: Mapping[str, str | list[str]], minion: str) -> dict[str, Any]:
    """Return what was sealed. Raises ProposalError for an answer of another run, another minion, or another form."""
    try:
        parts = {name: base64.b64decode("".join(answer[name]), validate=True) for name in ("key", "nonce", "text")}
        secret = private.decrypt(parts["key"], padding.OAEP(padding.MGF1(hashes.SHA256()), hashes.SHA256(), None))
        told = json.loads(AESGCM(secret).decrypt(parts["nonce"], parts["text"], minion.encode()))
    except (KeyError, TypeError, ValueError, InvalidTag) as err:
        raise ProposalError(
            f"{minion}: its sealed answer cannot be opened: expected one made for this run; run ceph.stage.prep, then "
            "this again"
        ) from err
    if not isinstance(told, dict):
        raise ProposalError(f"{minion}: its sealed answer is no mapping: run ceph.stage.prep, then this again")
    return told
