ceph-mon-packages:
  pkg.installed:
    - pkgs: {{ pillar['ceph_os']['packages']['mon'] | tojson }}

ceph-mon-created:
  mon.created:
    - require:
      - pkg: ceph-mon-packages

ceph-mon-running:
  service.running:
    - name: ceph-mon@{{ grains['host'] }}
    - enable: True
    - require:
      - mon: ceph-mon-created

ceph-mon-quorum:
  mon.in_quorum:
    - timeout: 60
    - require:
      - service: ceph-mon-running

# By the monitor's own key: a fresh one of the admin's must be known before any host gets it.
ceph-mon-admin-key:
  cluster_auth.admin:
    - require:
      - mon: ceph-mon-quorum
