# A host that may use the gateways: the keys of their users.
ceph-service-client-radosgw-credentials:
  host_secret.rendered:
    - name: /etc/ceph/rgw-users.credentials
    - source: salt://ceph/service/rgw-users/files/credentials.j2
    - context: {users: {{ pillar['ceph']['services']['client-radosgw']['users'] | tojson(ensure_ascii=False) }}}
