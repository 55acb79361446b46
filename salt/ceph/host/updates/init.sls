# All updates that remove no package, of those that host_updates.inspect saw: it asked the sources right before.
ceph-host-updates:
  pkg.uptodate:
    - refresh: False
    - dist_upgrade: False
