ceph_os:
  packages:
    tunings: [tuned, ethtool, hdparm, pciutils]
    common: [ceph-common, gdisk]
    mon: [ceph-mon]
    mgr: [ceph-mgr]
    osd: [ceph-osd, cryptsetup-bin, gdisk, lvm2, util-linux]
    time: [chrony]
    mds: [ceph-mds]
    client-cephfs: [ceph-fuse]
    client-nfs: [nfs-common]
    client-iscsi: [open-iscsi]
    client-radosgw: [s3cmd]
    benchmark: [fio]
    rbd-mirror: [rbd-mirror]
  chrony:
    service: chrony
    conf: /etc/chrony/chrony.conf
    include: confdir /etc/chrony/conf.d
    settings: /etc/chrony/conf.d/halocline.conf
ceph_health:
  mon:
    mgr_initial_modules:
      value: iostat
      warning: MGR_MODULE_DEPENDENCY (PyO3 modules may only be initialized once per interpreter process)
      cause: of Debian 12's Ceph 16 only one of the modules restful and dashboard can load; restful is on by default
      source: https://docs.ceph.com/en/pacific/mgr/administrator/ (mgr_initial_modules)
