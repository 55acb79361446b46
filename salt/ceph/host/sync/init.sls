ceph-sync:
  saltutil.sync_all:
    - refresh: True
