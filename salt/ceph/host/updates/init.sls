# All updates that remove no package.
ceph-updates:
  pkg.uptodate:
    - refresh: True
    - dist_upgrade: False
