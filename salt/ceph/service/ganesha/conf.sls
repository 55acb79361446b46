# What the server is started with, and what it exports.
ceph-service-ganesha-conf-moved:
  ganesha_grace.moved:
    - name: {{ pillar['ceph']['services']['ganesha']['name'] | tojson }}
    - user: {{ pillar['ceph']['services']['ganesha']['user'] | tojson }}
    - pool: {{ pillar['ceph']['services']['ganesha']['pool'] | tojson }}
    - namespace: {{ pillar['ceph']['services']['ganesha']['namespace'] | tojson }}

ceph-service-ganesha-conf:
  host_secret.rendered:
    - name: /etc/ganesha/ganesha.conf
    - source: salt://ceph/service/ganesha/files/ganesha.conf.j2
    - require:
      - ganesha_grace: ceph-service-ganesha-conf-moved

ceph-service-ganesha-conf-read:
  ganesha.kept:
    - require:
      - ganesha_grace: ceph-service-ganesha-conf-moved

ceph-service-ganesha-conf-exports:
  host_secret.rendered:
    - name: /etc/ganesha/exports.conf
    - source: salt://ceph/service/ganesha/files/exports.conf.j2
    - require:
      - ganesha: ceph-service-ganesha-conf-read

# With a bucket exported, a server that is told to end hangs when all its exports are gone (4.3): not 90 s then.
ceph-service-ganesha-conf-unit:
  file.managed:
    - name: /etc/systemd/system/nfs-ganesha.service.d/halocline.conf
    - contents: |
        [Service]
        TimeoutStopSec=20
    - makedirs: True
