# Every key that the master made, known to the cluster.
ceph-keys:
  ceph_auth.registered: []
