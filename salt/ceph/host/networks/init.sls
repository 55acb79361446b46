# The planned bonds, VLANs and addresses of this host, with a way back that stands before anything is changed.
ceph-host-networks-undo:
  file.managed:
    - names:
      - /usr/local/sbin/links-undo:
        - source: salt://ceph/host/networks/files/links-undo
        - mode: '0755'
      - /etc/systemd/system/links-undo.service:
        - source: salt://ceph/host/networks/files/links-undo.service
    - makedirs: True

ceph-host-networks-undo-at-boot:
  service.enabled:
    - name: links-undo
    - require:
      - file: ceph-host-networks-undo

ceph-host-networks-applied:
  links.applied:
    - require:
      - service: ceph-host-networks-undo-at-boot
