ceph-host-packages:
  pkg.installed:
    - pkgs: {{ pillar['ceph_os']['packages']['common'] | tojson }}
