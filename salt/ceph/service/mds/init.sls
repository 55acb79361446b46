include: {{ pillar['ceph'].get('crash', ['ceph.cluster.crash']) | tojson }}

ceph-service-mds-packages:
  pkg.installed:
    - pkgs: {{ pillar['ceph_os']['packages']['mds'] | tojson }}

ceph-service-mds-keyring:
  host_secret.managed:
    - name: /var/lib/ceph/mds/ceph-{{ pillar['ceph']['services']['mds']['name'] }}/keyring
    - use: mds
    - user: ceph
    - group: ceph
    - require:
      - pkg: ceph-service-mds-packages

ceph-service-mds-running:
  host_daemon.running:
    - name: ceph-mds@{{ pillar['ceph']['services']['mds']['name'] }}
    - require:
      - host_secret: ceph-service-mds-keyring
