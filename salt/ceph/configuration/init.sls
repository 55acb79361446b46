ceph-configuration:
  file.managed:
    - name: /etc/ceph/ceph.conf
    - source: salt://ceph/configuration/files/ceph.conf.j2
    - template: jinja
    - makedirs: True
    - mode: '0644'
