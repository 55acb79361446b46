#!yaml
ceph_os:
  packages:
    tunings: [tuned, ethtool, hdparm, pciutils]
    common: [ceph-common, gdisk, logrotate, smartmontools]
    mon: [ceph-mon]
    mgr: [ceph-mgr]
    admin: [ceph-base]  # crushtool, osdmaptool: how much a change would move
    crash: [ceph-base]
    osd: [ceph-osd, cryptsetup, gdisk, lvm2, util-linux]
    time: [chrony]
    mds: [ceph-mds]
    client-cephfs: [ceph-fuse]
    igw: [ceph-iscsi, tcmu-runner]
    ganesha: [nfs-ganesha, nfs-ganesha-ceph, nfs-ganesha-rgw, nfs-ganesha-rados-grace]
    client-nfs: [nfs-utils]
    client-iscsi: [iscsi-initiator-utils]
    client-radosgw: [s3cmd]
    benchmark: [fio, iperf3, ceph-fuse, attr]
    rbd-mirror: [rbd-mirror]
    dashboard: [ceph-mgr-dashboard]
    node-exporter: [node_exporter]
    prometheus: [prometheus2, ceph-prometheus-alerts]
    alertmanager: [alertmanager]
    grafana: [grafana, ceph-grafana-dashboards]
    rgw: [ceph-radosgw]
    rgw-frontend: [haproxy, keepalived]
  trust:
    folder: /etc/pki/ca-trust/source/anchors
    command: update-ca-trust extract
  chrony:
    service: chronyd
    conf: /etc/chrony.conf
    include: include /etc/chrony.d/*.conf
    settings: /etc/chrony.d/halocline.conf
  dashboard: {instead_of: {}}
  # As the prometheus-rpm collection names them: the distributions have none. A site names its source in ceph_repos.
  node-exporter:
    service: node_exporter
    arguments: /etc/default/node_exporter
    variable: NODE_EXPORTER_OPTS
    textfile: /var/lib/prometheus/node-exporter
  prometheus:
    service: prometheus
    arguments: /etc/default/prometheus
    variable: PROMETHEUS_OPTS
    always: [--config.file=/etc/prometheus/prometheus.yml, --storage.tsdb.path=/var/lib/prometheus/data]
  alertmanager:
    service: alertmanager
    arguments: /etc/default/alertmanager
    variable: ALERTMANAGER_OPTS
    always: [--config.file=/etc/prometheus/alertmanager.yml, --storage.path=/var/lib/prometheus/alertmanager]
