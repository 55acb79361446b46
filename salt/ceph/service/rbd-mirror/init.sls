# The daemon's program and its key. What it mirrors, and from where, is the admin's to say (rbd mirror pool peer).
ceph-service-rbd-mirror-packages:
  pkg.installed:
    - pkgs: {{ pillar['ceph_os']['packages']['rbd-mirror'] | tojson }}

ceph-service-rbd-mirror-keyring:
  file.managed:
    - name: /etc/ceph/ceph.{{ pillar['ceph']['services']['rbd-mirror']['entity'] }}.keyring
    - contents_pillar: ceph_secrets:rbd-mirror
    - user: ceph
    - group: ceph
    - mode: '0600'
    - show_changes: False
    - require:
      - pkg: ceph-service-rbd-mirror-packages
