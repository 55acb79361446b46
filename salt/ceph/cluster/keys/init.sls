# Every key that the master made, known to the cluster.
ceph-keys:
  cluster_auth.registered: []
