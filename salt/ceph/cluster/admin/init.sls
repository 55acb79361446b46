ceph-cluster-admin-keyring:
  file.managed:
    - name: /etc/ceph/ceph.client.admin.keyring
    - contents_pillar: ceph_secrets:admin
    - mode: '0600'
    - show_changes: False
