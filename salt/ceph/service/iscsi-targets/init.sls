# On one gateway, which tells the others.
ceph-service-iscsi-targets:
  iscsi.configured
