# A host that may mount file systems: its own key, and the client that needs no kernel module.
ceph-service-client-cephfs-packages:
  pkg.installed:
    - pkgs: {{ pillar['ceph_os']['packages']['client-cephfs'] | tojson }}

ceph-service-client-cephfs-keyring:
  host_secret.managed:
    - name: /etc/ceph/ceph.{{ pillar['ceph']['services']['client-cephfs']['entity'] }}.keyring
    - use: client-cephfs
    - require:
      - pkg: ceph-service-client-cephfs-packages
