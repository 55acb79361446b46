ceph-cluster-admin-packages:
  pkg.installed:
    - pkgs: {{ pillar['ceph_os']['packages']['admin'] | tojson }}

ceph-cluster-admin-keyring:
  host_secret.managed:
    - name: /etc/ceph/ceph.client.admin.keyring
    - use: admin
