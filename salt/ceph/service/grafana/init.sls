# Grafana with Ceph's dashboards, its data source the Prometheus beside it. The Ceph Dashboard shows them inside of its
# own pages: for that everybody may look (docs.ceph.com, mgr/dashboard: Grafana).
ceph-service-grafana-packages:
  pkg.installed:
    - pkgs: {{ pillar['ceph_os']['packages']['grafana'] | tojson }}

{%- for name in pillar['ceph']['services']['grafana']['given'] %}
ceph-service-grafana-{{ name }}:
  file.managed:
    - name: /etc/grafana/{{ name }}
    - contents_pillar: ceph_secrets:{{ name }}
    - group: grafana
    - mode: '0640'
    - show_changes: False
    - require:
      - pkg: ceph-service-grafana-packages
    - watch_in:
      - service: ceph-service-grafana-running
{%- endfor %}
{%- for names in pillar['ceph']['services']['grafana']['made'] %}
ceph-service-grafana-key:
  x509.private_key_managed:
    - name: /etc/grafana/grafana.key
    - keysize: 3072
    - group: grafana
    - mode: '0640'
    - require:
      - pkg: ceph-service-grafana-packages

ceph-service-grafana-certificate:
  x509.certificate_managed:
    - name: /etc/grafana/grafana.crt
    - signing_private_key: /etc/grafana/grafana.key
    - CN: ceph-service-grafana
    - subjectAltName: {{ names | tojson }}
    - basicConstraints: critical, CA:FALSE
    - extendedKeyUsage: serverAuth
    - days_valid: 3650
    - days_remaining: 365
    - mode: '0644'
    - require:
      - x509: ceph-service-grafana-key
    - watch_in:
      - service: ceph-service-grafana-running
{%- endfor %}

ceph-service-grafana-password:
  file.managed:
    - name: /etc/grafana/admin.password
    - contents_pillar: ceph_secrets:grafana
    - group: grafana
    - mode: '0640'
    - show_changes: False
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
      - file: ceph-service-grafana-password

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
      - ini: ceph-service-grafana-settings
      - file: ceph-service-grafana-provisioning
