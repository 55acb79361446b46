# What a daemon leaves of a crash is posted to the cluster: `ceph crash ls` shows it, and Ceph's health tells of it.
ceph-cluster-crash-packages:
  pkg.installed:
    - pkgs: {{ pillar['ceph_os']['packages']['crash'] | tojson }}

# The unit runs as root and drops to the user ceph before it looks for a key.
ceph-cluster-crash-keyring:
  host_secret.managed:
    - name: /etc/ceph/ceph.client.crash.keyring
    - use: crash
    - user: ceph
    - group: ceph
    - require:
      - pkg: ceph-cluster-crash-packages

ceph-cluster-crash-running:
  service.running:
    - name: ceph-crash
    - enable: True
    - require:
      - host_secret: ceph-cluster-crash-keyring
