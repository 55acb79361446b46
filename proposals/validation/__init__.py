"""Validation: what policy.cfg chose, and what every host answered, against a table of checks.

Pure Python over what was collected already: nothing here asks a minion or opens a file. Each check is a row (``check``)
beside the function that looks: ``roles``, ``networks``, ``hosts``, ``resources``; ``table`` joins them.

A site that is small on purpose says ``small_site: true`` in its pillar (``<pillar_root>/ceph/stack/ceph/cluster.yml``):
rows about size are then shown as allowed and count for nothing; every other row counts as before. ``redundancy`` there
says what the pools are to survive with: a number of replicas (3, the default) or ``4+2`` for erasure coding.
"""
