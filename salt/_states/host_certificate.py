"""A certificate that this host makes for itself, with its private key."""

BITS = 3072  # RSA: Ceph checks a key with pyOpenSSL, which knows no other kind
DAYS = 3650  # as Ceph's own certificates (src/pybind/mgr/mgr_util.py, create_self_signed_cert)
LEFT = 365  # days before its end at which it is made anew


def self_signed(
    name: str, key: str, common_name: str, names_of: str, group: str = "root", key_mode: str = "0600"
) -> dict:
    """A certificate for servers and its key are there; the key stays, the certificate is made anew in its last year.

    name
        The certificate's path.
    key
        Its private key's path.
    common_name
        The subject's.
    names_of
        Whom it is for, as openssl's x509v3_config(5) writes subjectAltName: ``DNS:node1, IP:10.0.0.1``.
    group
        Who may read both beside root, by ``key_mode``.
    """
    made = __states__["x509.private_key_managed"](key, keysize=BITS, group=group, mode=key_mode)
    if made["result"] is False or (__opts__["test"] and made["changes"]):
        return {**made, "name": name}  # without a key there is nothing to sign with
    certificate = __states__["x509.certificate_managed"](
        name,
        signing_private_key=key,
        CN=common_name,
        subjectAltName=names_of,
        basicConstraints="critical, CA:FALSE",
        extendedKeyUsage="serverAuth",
        days_valid=DAYS,
        days_remaining=LEFT,
        mode="0644",
    )
    changes = {path: answer["changes"] for path, answer in ((key, made), (name, certificate)) if answer["changes"]}
    files = [part for answer in (made, certificate) for part in answer.get("sub_state_run", ())]  # owners and modes
    return {**certificate, "changes": changes, "sub_state_run": files}
