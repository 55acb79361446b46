ceph-cluster-mgr-packages:
  pkg.installed:
    - pkgs: {{ pillar['ceph_os']['packages']['mgr'] | tojson }}

ceph-cluster-mgr-keyring:
  file.managed:
    - name: /var/lib/ceph/mgr/ceph-{{ grains['host'] }}/keyring
    - contents_pillar: ceph_secrets:mgr
    - user: ceph
    - group: ceph
    - mode: '0600'
    - makedirs: True
    - show_changes: False
    - require:
      - pkg: ceph-cluster-mgr-packages

ceph-cluster-mgr-running:
  service.running:
    - name: ceph-mgr@{{ grains['host'] }}
    - enable: True
    - require:
      - file: ceph-cluster-mgr-keyring
