# An NFS server: one of those that share a grace database, by the name of this host.
include:
  - ceph.service.ganesha.conf

ceph-service-ganesha-packages:
  pkg.installed:
    - pkgs: {{ pillar['ceph_os']['packages']['ganesha'] | tojson }}
    - require_in:
      - sls: ceph.service.ganesha.conf

ceph-service-ganesha-keyring:
  host_secret.managed:
    - name: /etc/ceph/ceph.client.{{ pillar['ceph']['services']['ganesha']['user'] }}.keyring
    - use: ganesha
    - require:
      - pkg: ceph-service-ganesha-packages

ceph-service-ganesha-grace:
  ganesha_grace.member:
    - name: {{ pillar['ceph']['services']['ganesha']['name'] | tojson }}
    - user: {{ pillar['ceph']['services']['ganesha']['user'] | tojson }}
    - pool: {{ pillar['ceph']['services']['ganesha']['pool'] | tojson }}
    - namespace: {{ pillar['ceph']['services']['ganesha']['namespace'] | tojson }}
    - require:
      - host_secret: ceph-service-ganesha-keyring

ceph-service-ganesha-running:
  host_daemon.running:
    - name: nfs-ganesha
    - files:
      - /etc/ganesha/ganesha.conf
      - /etc/ceph/ceph.client.{{ pillar['ceph']['services']['ganesha']['user'] }}.keyring
    - watch:
      - host_secret: ceph-service-ganesha-conf
      - host_secret: ceph-service-ganesha-keyring
    - require:
      - sls: ceph.service.ganesha.conf
      - ganesha_grace: ceph-service-ganesha-grace

ceph-service-ganesha-exports:
  ganesha.exporting:
    - exports: {{ pillar['ceph']['services']['ganesha']['ids'] | tojson }}
    - require:
      - host_daemon: ceph-service-ganesha-running
    - watch:
      - host_secret: ceph-service-ganesha-conf-exports
