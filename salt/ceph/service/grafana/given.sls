# The certificate that the site gives.
ceph-service-grafana-given:
  host_secret.managed:
    - names:
      - /etc/grafana/grafana.crt: [{use: grafana.crt}]
      - /etc/grafana/grafana.key: [{use: grafana.key}]
    - group: grafana
    - mode: '0640'
