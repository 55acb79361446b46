ceph_os:
  packages:
    tunings: [tuned, ethtool, hdparm, pciutils]
    common: [ceph-common, gptfdisk]
    mon: [ceph-mon]
    mgr: [ceph-mgr]
    osd: [ceph-osd, cryptsetup, gptfdisk, lvm2, util-linux]
    time: [chrony]
    mds: [ceph-mds]
    client-cephfs: [ceph-fuse]
    client-nfs: [nfs-client]
    client-iscsi: [open-iscsi]
    client-radosgw: [s3cmd]
    benchmark: [fio]
    rbd-mirror: [rbd-mirror]
  chrony:
    service: chronyd
    conf: /etc/chrony.conf
    include: include /etc/chrony.d/*.conf
    settings: /etc/chrony.d/halocline.conf
