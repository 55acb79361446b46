# Ceph's packages in the very versions that ceph.stage.upgrade asks for; it restarts the daemons in their turns.
ceph-host-upgrade:
  pkg.installed:
    - pkgs: {{ pillar['ceph_upgrade'] | tojson }}
