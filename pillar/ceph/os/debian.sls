ceph_os:
  packages:
    common: [ceph-common, gdisk]
    mon: [ceph-mon]
    mgr: [ceph-mgr]
    osd: [ceph-osd, gdisk, util-linux]
