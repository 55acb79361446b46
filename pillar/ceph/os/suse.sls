#!yaml
ceph_os:
  packages:
    tunings: [tuned, ethtool, hdparm, pciutils]
    common: [ceph-common, gptfdisk, logrotate, smartmontools]
    mon: [ceph-mon]
    mgr: [ceph-mgr]
    admin: [ceph-base]  # crushtool, osdmaptool: how much a change would move
    crash: [ceph-base]
    osd: [ceph-osd, cryptsetup, gptfdisk, lvm2, util-linux]
    time: [chrony]
    mds: [ceph-mds]
    client-cephfs: [ceph-fuse]
    igw: [ceph-iscsi, tcmu-runner, tcmu-runner-handler-rbd]
    ganesha: [nfs-ganesha, nfs-ganesha-ceph, nfs-ganesha-rgw, nfs-ganesha-rados-grace]
    client-nfs: [nfs-client]
    client-iscsi: [open-iscsi]
    client-radosgw: [s3cmd]
    benchmark: [fio, iperf, ceph-fuse, attr]
    rbd-mirror: [rbd-mirror]
    dashboard: [ceph-mgr-dashboard]
    node-exporter: [golang-github-prometheus-node_exporter]
    prometheus: [golang-github-prometheus-prometheus, ceph-prometheus-alerts]
    alertmanager: [golang-github-prometheus-alertmanager]
    grafana: [grafana, ceph-grafana-dashboards]
    rgw: [ceph-radosgw]
    rgw-frontend: [haproxy, keepalived]
  trust:
    folder: /etc/pki/trust/anchors
    command: update-ca-certificates
  chrony:
    service: chronyd
    conf: /etc/chrony.conf
    include: include /etc/chrony.d/*.conf
    settings: /etc/chrony.d/halocline.conf
  dashboard: {instead_of: {}}
  node-exporter:
    service: prometheus-node_exporter
    arguments: /etc/sysconfig/prometheus-node_exporter
    variable: ARGS
    textfile: /var/lib/prometheus/node-exporter
  prometheus: {service: prometheus, arguments: /etc/sysconfig/prometheus, variable: ARGS, always: []}
  alertmanager:
    service: prometheus-alertmanager
    arguments: /etc/sysconfig/prometheus-alertmanager
    variable: ARGS
    always: []
