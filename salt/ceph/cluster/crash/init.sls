# What a daemon leaves of a crash is posted to the cluster: `ceph crash ls` shows it, and Ceph's health tells of it.
ceph-cluster-crash-packages:
  pkg.installed:
    - pkgs: {{ pillar['ceph_os']['packages']['crash'] | tojson }}

# The unit drops to the user ceph before it looks for a key. Of Debian's package the folder to which it moves what was
# posted is root's: it would post the same report again and again.
ceph-cluster-crash-posted:
  file.directory:
    - name: /var/lib/ceph/crash/posted
    - user: ceph
    - group: ceph
    - require:
      - pkg: ceph-cluster-crash-packages

ceph-cluster-crash-keyring:
  host_secret.managed:
    - name: /etc/ceph/ceph.client.crash.keyring
    - use: crash
    - user: ceph
    - group: ceph
    - require:
      - pkg: ceph-cluster-crash-packages

ceph-cluster-crash-running:
  host_daemon.running:
    - name: ceph-crash
    - require:
      - file: ceph-cluster-crash-posted
      - host_secret: ceph-cluster-crash-keyring
