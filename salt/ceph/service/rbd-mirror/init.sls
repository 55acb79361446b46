# The daemon's program and its key. What it mirrors, and from where, is the admin's to say (rbd mirror pool peer).
include: {{ pillar['ceph'].get('crash', ['ceph.cluster.crash']) | tojson }}

ceph-service-rbd-mirror-packages:
  pkg.installed:
    - pkgs: {{ pillar['ceph_os']['packages']['rbd-mirror'] | tojson }}

ceph-service-rbd-mirror-keyring:
  host_secret.managed:
    - name: /etc/ceph/ceph.{{ pillar['ceph']['services']['rbd-mirror']['entity'] }}.keyring
    - use: rbd-mirror
    - user: ceph
    - group: ceph
    - require:
      - pkg: ceph-service-rbd-mirror-packages
