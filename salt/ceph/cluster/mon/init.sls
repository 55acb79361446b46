ceph-cluster-mon-packages:
  pkg.installed:
    - pkgs: {{ pillar['ceph_os']['packages']['mon'] | tojson }}

ceph-cluster-mon-created:
  mon.created:
    - require:
      - pkg: ceph-cluster-mon-packages

ceph-cluster-mon-running:
  host_daemon.running:
    - name: ceph-mon@{{ grains['host'] }}
    - require:
      - mon: ceph-cluster-mon-created

ceph-cluster-mon-quorum:
  mon.in_quorum:
    - timeout: 60
    - require:
      - host_daemon: ceph-cluster-mon-running

# By the monitor's own key: a fresh one of the admin's must be known before any host gets it.
ceph-cluster-mon-admin-key:
  cluster_auth.admin:
    - require:
      - mon: ceph-cluster-mon-quorum
