# The certificate that the site gives.
ceph-service-dashboard-given:
  host_secret.managed:
    - names:
      - /etc/ceph/dashboard.crt: [{use: dashboard.crt}]
      - /etc/ceph/dashboard.key: [{use: dashboard.key}]
