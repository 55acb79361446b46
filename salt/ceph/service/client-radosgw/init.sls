# A host that may use the gateways: the keys of their users.
ceph-service-client-radosgw-credentials:
  file.managed:
    - name: /etc/ceph/rgw-users.credentials
    - source: salt://ceph/service/rgw-users/files/credentials.j2
    - template: jinja
    - context: {users: {{ pillar['ceph']['services']['client-radosgw']['users'] | tojson }}}
    - makedirs: True
    - mode: '0600'
    - show_changes: False
