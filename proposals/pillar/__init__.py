"""What minions are told: each minion's pillar, ceph.conf, keys and secrets, as a generation."""
