"""What is wrong with a running cluster, what moves in it, and what was known before: judged in one place.

``seen`` reads what Ceph says, ``groups`` and ``checks`` hold Ceph's vocabulary, ``judge`` says what it means, and
``patience`` how long it is waited for.
"""
