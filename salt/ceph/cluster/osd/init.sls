ceph-cluster-osd-packages:
  pkg.installed:
    - pkgs: {{ pillar['ceph_os']['packages']['osd'] | tojson }}

ceph-cluster-osd-bootstrap:
  host_secret.managed:
    - name: /var/lib/ceph/bootstrap-osd/ceph.keyring
    - use: bootstrap-osd
    - user: ceph
    - group: ceph
    - require:
      - pkg: ceph-cluster-osd-packages

ceph-cluster-osd-devices:
  file.managed:
    - names:
      - /usr/local/sbin/osd-devices:
        - source: salt://ceph/cluster/osd/files/osd-devices
        - mode: '0755'
      - /etc/systemd/system/osd-devices@.service:
        - source: salt://ceph/cluster/osd/files/osd-devices@.service
      - /etc/systemd/system/ceph-osd@.service.d/osd-devices.conf:
        - source: salt://ceph/cluster/osd/files/ceph-osd-devices.conf
    - makedirs: True

ceph-cluster-osd-reload:
  module.run:
    - service.systemctl_reload: []
    - onchanges:
      - file: ceph-cluster-osd-devices

ceph-cluster-osd-deployed:
  osd.deployed:
    - require:
      - host_secret: ceph-cluster-osd-bootstrap
      - module: ceph-cluster-osd-reload
