ceph-configuration:
  host_ceph_conf.rendered:
    - name: /etc/ceph/ceph.conf
    - source: salt://ceph/configuration/files/ceph.conf.j2

ceph-configuration-known:
  host_ceph_conf.known:
    - require:
      - host_ceph_conf: ceph-configuration
