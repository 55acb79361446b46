# An iSCSI gateway: the kernel's target, tcmu-runner behind it, and the API that is told what to serve.
ceph-service-igw-packages:
  pkg.installed:
    - pkgs: {{ pillar['ceph_os']['packages']['igw'] | tojson }}

ceph-service-igw-kernel:
  kmod.present:
    - mods: [target_core_user, iscsi_target_mod]
    - persist: True

ceph-service-igw-keyring:
  host_secret.managed:
    - name: /etc/ceph/ceph.{{ pillar['ceph']['services']['igw']['client'] }}.keyring
    - use: igw
    - require:
      - pkg: ceph-service-igw-packages

ceph-service-igw-conf:
  host_secret.rendered:
    - name: /etc/ceph/iscsi-gateway.cfg
    - source: salt://ceph/service/igw/files/iscsi-gateway.cfg.j2
    - require:
      - pkg: ceph-service-igw-packages

ceph-service-igw-tcmu-runner:
  service.running:
    - name: tcmu-runner
    - enable: True
    - require:
      - kmod: ceph-service-igw-kernel
      - host_secret: ceph-service-igw-keyring

ceph-service-igw-api:
  host_daemon.running:
    - name: rbd-target-api
    - files:
      - /etc/ceph/iscsi-gateway.cfg
      - /etc/ceph/ceph.{{ pillar['ceph']['services']['igw']['client'] }}.keyring
    - watch:
      - host_secret: ceph-service-igw-conf
      - host_secret: ceph-service-igw-keyring
    - require:
      - service: ceph-service-igw-tcmu-runner

# Before another gateway restarts: initiators are on this one then.
ceph-service-igw-answers:
  iscsi.answers:
    - require:
      - host_daemon: ceph-service-igw-api

ceph-service-igw-exporter:
  host_daemon.running:
    - name: rbd-target-gw
    - files: [/etc/ceph/iscsi-gateway.cfg]
    - watch:
      - host_secret: ceph-service-igw-conf
    - require:
      - host_daemon: ceph-service-igw-api
