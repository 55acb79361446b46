ceph_os:
  packages:
    common: [ceph-common, gptfdisk]
    mon: [ceph-mon]
    mgr: [ceph-mgr]
    osd: [ceph-osd, gptfdisk, util-linux]
