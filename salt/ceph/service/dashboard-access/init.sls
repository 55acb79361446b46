# Who may administer by the dashboard: its admin's first password.
ceph-service-dashboard-access-password:
  host_secret.managed:
    - name: /etc/ceph/dashboard.password
    - use: dashboard
