#!yaml
ceph_os:
  packages:
    tunings: [tuned, ethtool, hdparm, pciutils]
    common: [ceph-common, gdisk, logrotate, smartmontools]
    mon: [ceph-mon]
    mgr: [ceph-mgr]
    admin: [ceph-base]  # crushtool, osdmaptool: how much a change would move
    crash: [ceph-base]
    osd: [ceph-osd, cryptsetup-bin, gdisk, lvm2, util-linux]
    time: [chrony]
    mds: [ceph-mds]
    client-cephfs: [ceph-fuse]
    igw: [ceph-iscsi, tcmu-runner, libiscsi7]
    ganesha: [nfs-ganesha-ceph, nfs-ganesha-rgw, nfs-ganesha-rados-grace, dbus]
    client-nfs: [nfs-common]
    client-iscsi: [open-iscsi]
    client-radosgw: [s3cmd]
    benchmark: [fio, iperf3, ceph-fuse, attr]
    rbd-mirror: [rbd-mirror]
    dashboard: [ceph-mgr-dashboard]
    node-exporter: [prometheus-node-exporter]
    prometheus: [prometheus, ceph-prometheus-alerts]
    alertmanager: [prometheus-alertmanager]
    # Debian has no Grafana: a site that wants one names a source that has it in ceph_repos.
    grafana: [grafana, ceph-grafana-dashboards]
    rgw: [radosgw]
    rgw-frontend: [haproxy, keepalived]
  trust:
    folder: /usr/local/share/ca-certificates
    command: update-ca-certificates
  chrony:
    service: chrony
    conf: /etc/chrony/chrony.conf
    include: confdir /etc/chrony/conf.d
    settings: /etc/chrony/conf.d/halocline.conf
  dashboard:
    instead_of:
      restful: >-
        of Debian 12's Ceph 16 one of restful and dashboard alone can load (MGR_MODULE_DEPENDENCY, PyO3); to have it
        back remove the package ceph-mgr-dashboard from the managers' hosts, then 'ceph mgr module enable restful'
  node-exporter:
    service: prometheus-node-exporter
    arguments: /etc/default/prometheus-node-exporter
    variable: ARGS
    textfile: /var/lib/prometheus/node-exporter
  prometheus: {service: prometheus, arguments: /etc/default/prometheus, variable: ARGS, always: []}
  alertmanager:
    service: prometheus-alertmanager
    arguments: /etc/default/prometheus-alertmanager
    variable: ARGS
    always: []
ceph_health:
  mon:
    mgr_initial_modules:
      value: iostat
      warning: MGR_MODULE_DEPENDENCY (PyO3 modules may only be initialized once per interpreter process)
      cause: of Debian 12's Ceph 16 only one of the modules restful and dashboard can load; restful is on by default
      source: https://docs.ceph.com/en/pacific/mgr/administrator/ (mgr_initial_modules)
