ceph-cluster-mgr-packages:
  pkg.installed:
    - pkgs: {{ pillar['ceph_os']['packages']['mgr'] | tojson }}

ceph-cluster-mgr-keyring:
  host_secret.managed:
    - name: /var/lib/ceph/mgr/ceph-{{ grains['host'] }}/keyring
    - use: mgr
    - user: ceph
    - group: ceph
    - require:
      - pkg: ceph-cluster-mgr-packages

ceph-cluster-mgr-running:
  host_daemon.running:
    - name: ceph-mgr@{{ grains['host'] }}
    - require:
      - host_secret: ceph-cluster-mgr-keyring
