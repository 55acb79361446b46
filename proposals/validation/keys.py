"""The check of keys: none is made or registered where a cluster has another."""

from collections.abc import Iterable

from proposals.pillar import held
from proposals.validation.check import ERROR, KEYS, Check, Found, Words, at
from proposals.validation.subject import Subject


def keys(subject: Subject) -> Iterable[Found]:
    """Keys on hosts and in the monitors that are none of the master's, and that it would replace."""
    for found in held.against(subject.keys, subject.held):
        has = "the master has none" if found.lacks else "the master has another"
        place = Words(held.where(found))
        yield at(*found.places, entity=found.entity, has=has, where=place, file=Words(subject.keys_file))


CHECKS = (
    Check(
        "keys",
        ERROR,
        KEYS,
        "the master has the keys that the monitors and the hosts hold",
        "{entity} is the key of a cluster that exists, and {has}: {where}",
        "put {file} back, as root only, from a copy of the master that deployed this cluster, and run it again. A key "
        "that was made or changed by hand: 'salt-run secret.take' takes it. Hosts of another cluster: take them out of "
        "policy.cfg. A cluster that is gone for good: move these files and stores away",
        keys,
        "docs/concepts/secrets.md",
    ),
)
