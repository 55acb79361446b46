# An iSCSI gateway: the kernel's target, tcmu-runner behind it, and the API that is told what to serve.
ceph-service-igw-packages:
  pkg.installed:
    - pkgs: {{ pillar['ceph_os']['packages']['igw'] | tojson }}

ceph-service-igw-kernel:
  kmod.present:
    - mods: [target_core_user, iscsi_target_mod]
    - persist: True

ceph-service-igw-keyring:
  file.managed:
    - name: /etc/ceph/ceph.{{ pillar['ceph']['services']['igw']['client'] }}.keyring
    - contents_pillar: ceph_secrets:igw
    - mode: '0600'
    - show_changes: False
    - require:
      - pkg: ceph-service-igw-packages

ceph-service-igw-conf:
  file.managed:
    - name: /etc/ceph/iscsi-gateway.cfg
    - source: salt://ceph/service/igw/files/iscsi-gateway.cfg.j2
    - template: jinja
    - context: {told: {{ pillar['ceph']['services']['igw'] | tojson }}}
    - mode: '0600'
    - show_changes: False
    - require:
      - pkg: ceph-service-igw-packages

ceph-service-igw-tcmu-runner:
  service.running:
    - name: tcmu-runner
    - enable: True
    - require:
      - kmod: ceph-service-igw-kernel
      - file: ceph-service-igw-keyring

ceph-service-igw-api:
  service.running:
    - name: rbd-target-api
    - enable: True
    - watch:
      - file: ceph-service-igw-conf
      - file: ceph-service-igw-keyring
    - require:
      - service: ceph-service-igw-tcmu-runner

ceph-service-igw-exporter:
  service.running:
    - name: rbd-target-gw
    - enable: True
    - watch:
      - file: ceph-service-igw-conf
    - require:
      - service: ceph-service-igw-api
