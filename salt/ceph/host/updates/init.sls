ceph-host-updates:
  host_updates.applied: []
