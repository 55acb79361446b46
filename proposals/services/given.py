"""Files that a site gives: certificates, keys and passwords in ``<pillar_root>/ceph/keys/given``.

Each function returns what was found and what is wrong: ``(files, problems)``.
"""

from proposals.services.service import PlannedCluster

FOLDER = "<pillar_root>/ceph/keys/given"


def certificate(name: str, cluster: PlannedCluster) -> tuple[list[str], list[str]]:
    """Return the files of a certificate and its key, NAME.crt and NAME.key; none where a host is to make them. One
    without the other is a problem.
    """
    pair = [f"{name}.crt", f"{name}.key"]
    files = [file for file in pair if file in cluster.given]
    if len(files) != 1:
        return files, []
    (lacking,) = set(pair) - set(files)
    return files, [
        f"{name}: {files[0]} is given and {lacking} is not: put it, as PEM, into {FOLDER}, or take the other one away "
        "to have a certificate made"
    ]


def required(key: str, name: str, cluster: PlannedCluster, form: str) -> list[str]:
    """Return the problem that a file named by a setting is missing.

    form
        What is to stand in it.
    """
    return [] if name in cluster.given else [f"{key}: {name} is missing: write {form} to {FOLDER}/{name}"]


def tls(key: str, name: str, cluster: PlannedCluster) -> tuple[dict[str, str], list[str]]:
    """Return the files of a certificate that a setting names, by the names that they get on a host."""
    files, problems = certificate(name, cluster)
    if not files:
        problems = [
            f"{key}: {name}.crt and {name}.key are missing: write the certificate, followed by those that it was "
            f"signed with, and its key, in PEM, into {FOLDER}"
        ]
    return {} if problems else {"tls.pem": f"{name}.crt", "tls.pem.key": f"{name}.key"}, problems
