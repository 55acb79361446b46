# On one gateway, which tells the others.
ceph-iscsi-targets:
  iscsi.configured
