# Every key that the master made, known to the cluster.
ceph-cluster-keys:
  cluster_auth.registered: []
