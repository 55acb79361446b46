# Which minions are ours: a Salt compound match. A minion outside it is never sent a job.
# To change it, put a file of the same name into the master's own pillar root, under ceph/.
ceph_minions: '*'
