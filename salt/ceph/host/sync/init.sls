ceph-host-sync:
  saltutil.sync_all:
    - refresh: True
