# All updates that remove no package.
ceph-host-updates:
  pkg.uptodate:
    - refresh: True
    - dist_upgrade: False
