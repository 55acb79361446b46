# Who may administer by the dashboard: its admin's first password.
ceph-service-dashboard-access-password:
  file.managed:
    - name: /etc/ceph/dashboard.password
    - contents_pillar: ceph_secrets:dashboard
    - makedirs: True
    - mode: '0600'
    - show_changes: False
