# An NFS server: one of those that share a grace database, by the name of this host.
ceph-service-ganesha-packages:
  pkg.installed:
    - pkgs: {{ pillar['ceph_os']['packages']['ganesha'] | tojson }}

ceph-service-ganesha-keyring:
  host_secret.managed:
    - name: /etc/ceph/ceph.client.{{ pillar['ceph']['services']['ganesha']['user'] }}.keyring
    - use: ganesha
    - require:
      - pkg: ceph-service-ganesha-packages

ceph-service-ganesha-conf:
  host_secret.rendered:
    - name: /etc/ganesha/ganesha.conf
    - source: salt://ceph/service/ganesha/files/ganesha.conf.j2
    - context: {told: {{ pillar['ceph']['services']['ganesha'] | tojson }}}
    - require:
      - pkg: ceph-service-ganesha-packages

ceph-service-ganesha-exports-conf:
  host_secret.rendered:
    - name: /etc/ganesha/exports.conf
    - source: salt://ceph/service/ganesha/files/exports.conf.j2
    - context: {told: {{ pillar['ceph']['services']['ganesha'] | tojson }}}
    - require:
      - pkg: ceph-service-ganesha-packages

# With a bucket exported, a server that is told to end hangs when all its exports are gone (4.3): not 90 s then.
ceph-service-ganesha-unit:
  file.managed:
    - name: /etc/systemd/system/nfs-ganesha.service.d/halocline.conf
    - contents: |
        [Service]
        TimeoutStopSec=20
    - makedirs: True

ceph-service-ganesha-grace:
  ganesha_grace.member:
    - name: {{ pillar['ceph']['services']['ganesha']['name'] }}
    - user: {{ pillar['ceph']['services']['ganesha']['user'] }}
    - pool: {{ pillar['ceph']['services']['ganesha']['pool'] }}
    - namespace: {{ pillar['ceph']['services']['ganesha']['namespace'] }}
    - require:
      - host_secret: ceph-service-ganesha-keyring

ceph-service-ganesha-running:
  service.running:
    - name: nfs-ganesha
    - enable: True
    - watch:
      - host_secret: ceph-service-ganesha-conf
      - host_secret: ceph-service-ganesha-keyring
    - require:
      - host_secret: ceph-service-ganesha-exports-conf
      - file: ceph-service-ganesha-unit
      - ganesha_grace: ceph-service-ganesha-grace

ceph-service-ganesha-exports:
  ganesha.exporting:
    - exports: {{ pillar['ceph']['services']['ganesha']['ids'] | tojson }}
    - require:
      - service: ceph-service-ganesha-running
    - watch:
      - host_secret: ceph-service-ganesha-exports-conf
