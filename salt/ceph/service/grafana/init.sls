# Grafana with Ceph's dashboards, its data source the Prometheus beside it. The Ceph Dashboard shows them inside of its
# own pages: for that everybody may look (docs.ceph.com, mgr/dashboard: Grafana).
include:
  - ceph.service.grafana.{{ pillar['ceph']['services']['grafana']['certificate'] }}

ceph-service-grafana-packages:
  pkg.installed:
    - pkgs: {{ pillar['ceph_os']['packages']['grafana'] | tojson }}
    - require_in:
      - sls: ceph.service.grafana.{{ pillar['ceph']['services']['grafana']['certificate'] }}

ceph-service-grafana-password:
  host_secret.managed:
    - name: /etc/grafana/admin.password
    - use: grafana
    - group: grafana
    - mode: '0640'
    - require:
      - pkg: ceph-service-grafana-packages

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
      - host_secret: ceph-service-grafana-password

ceph-service-grafana-provisioning:
  file.managed:
    - names:
      - /etc/grafana/provisioning/datasources/ceph.yml:
        - source: salt://ceph/service/grafana/files/datasource.yml
      - /etc/grafana/provisioning/dashboards/ceph.yml:
        - source: salt://ceph/service/grafana/files/dashboards.yml
    - makedirs: True
    - require:
      - pkg: ceph-service-grafana-packages

ceph-service-grafana-running:
  service.running:
    - name: grafana-server
    - enable: True
    - watch:
      - sls: ceph.service.grafana.{{ pillar['ceph']['services']['grafana']['certificate'] }}
      - ini: ceph-service-grafana-settings
      - file: ceph-service-grafana-provisioning
