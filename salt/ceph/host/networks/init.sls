# The planned bonds, VLANs and addresses of this host, with a way back that stands before anything is changed.
ceph-networks-undo:
  file.managed:
    - names:
      - /usr/local/sbin/links-undo:
        - source: salt://ceph/host/networks/files/links-undo
        - mode: '0755'
      - /etc/systemd/system/links-undo.service:
        - source: salt://ceph/host/networks/files/links-undo.service
    - makedirs: True

ceph-networks-undo-at-boot:
  service.enabled:
    - name: links-undo
    - require:
      - file: ceph-networks-undo

ceph-networks-applied:
  links.applied:
    - require:
      - service: ceph-networks-undo-at-boot
