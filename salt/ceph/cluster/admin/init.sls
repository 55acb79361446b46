ceph-cluster-admin-keyring:
  host_secret.managed:
    - name: /etc/ceph/ceph.client.admin.keyring
    - use: admin
