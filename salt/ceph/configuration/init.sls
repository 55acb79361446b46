ceph-configuration:
  file.managed:
    - name: /etc/ceph/ceph.conf
    - source: salt://ceph/configuration/files/ceph.conf.j2
    - template: jinja
    - makedirs: True
    - mode: '0644'
    - unless:
      - fun: host_ceph_conf.adopted

ceph-configuration-known:
  host_ceph_conf.known:
    - require:
      - file: ceph-configuration
