# What the server is started with, and what it exports.
ceph-service-ganesha-conf:
  host_secret.rendered:
    - name: /etc/ganesha/ganesha.conf
    - source: salt://ceph/service/ganesha/files/ganesha.conf.j2

ceph-service-ganesha-conf-read:
  ganesha.kept

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
