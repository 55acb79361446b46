# Who of the proxies' hosts has the address.
ceph-service-rgw-frontend-keepalived-conf:
  file.managed:
    - name: /etc/ceph/rgw-frontend/keepalived.conf
    - source: salt://ceph/service/rgw-frontend/files/keepalived.conf.j2
    - template: jinja
    - makedirs: True
    - mode: '0644'

ceph-service-rgw-frontend-keepalived-unit:
  file.managed:
    - name: /etc/systemd/system/ceph-rgw-keepalived.service
    - source: salt://ceph/service/rgw-frontend/files/ceph-rgw-keepalived.service
    - mode: '0644'

ceph-service-rgw-frontend-keepalived-running:
  host_daemon.running:
    - name: ceph-rgw-keepalived
    - reload: True
    - files: [/etc/ceph/rgw-frontend/keepalived.conf]
    - require:
      - file: ceph-service-rgw-frontend-keepalived-unit
    - watch:
      - file: ceph-service-rgw-frontend-keepalived-conf
