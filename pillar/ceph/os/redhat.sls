ceph_os:
  packages:
    tunings: [tuned, ethtool, hdparm, pciutils]
    common: [ceph-common, gdisk]
    mon: [ceph-mon]
    mgr: [ceph-mgr]
    osd: [ceph-osd, cryptsetup, gdisk, lvm2, util-linux]
    time: [chrony]
    mds: [ceph-mds]
    client-cephfs: [ceph-fuse]
    client-nfs: [nfs-utils]
    client-iscsi: [iscsi-initiator-utils]
    client-radosgw: [s3cmd]
    benchmark: [fio]
    rbd-mirror: [rbd-mirror]
  chrony:
    service: chronyd
    conf: /etc/chrony.conf
    include: include /etc/chrony.d/*.conf
    settings: /etc/chrony.d/halocline.conf
