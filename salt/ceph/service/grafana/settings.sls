# How it is reached, and what it shows.
ceph-service-grafana-settings-password:
  host_secret.managed:
    - name: /etc/grafana/admin.password
    - use: grafana
    - group: grafana
    - mode: '0640'

ceph-service-grafana-settings:
  ini.options_present:
    - name: /etc/grafana/grafana.ini
    - separator: '='
    - sections:
        server:
          protocol: https
          http_port: {{ pillar['ceph']['services']['grafana']['port'] }}
          cert_file: /etc/grafana/grafana.crt
          cert_key: /etc/grafana/grafana.key
        security:
          admin_password: $__file{/etc/grafana/admin.password}
          allow_embedding: 'true'
        auth.anonymous:
          enabled: 'true'
          org_role: Viewer
    - require:
      - host_secret: ceph-service-grafana-settings-password

ceph-service-grafana-settings-provisioning:
  file.managed:
    - names:
      - /etc/grafana/provisioning/datasources/ceph.yml:
        - source: salt://ceph/service/grafana/files/datasource.yml
      - /etc/grafana/provisioning/dashboards/ceph.yml:
        - source: salt://ceph/service/grafana/files/dashboards.yml
    - makedirs: True
