# A manager's host: the module's code. Its package restarts a manager that runs, which then knows the module.
ceph-service-dashboard-mgr-packages:
  pkg.installed:
    - pkgs: {{ pillar['ceph_os']['packages']['dashboard'] | tojson }}
