# Grafana with Ceph's dashboards, its data source the Prometheus beside it. The Ceph Dashboard shows them inside of its
# own pages: for that everybody may look (docs.ceph.com, mgr/dashboard: Grafana).
include:
  - ceph.service.grafana.{{ pillar['ceph']['services']['grafana']['certificate'] }}
  - ceph.service.grafana.settings

ceph-service-grafana-packages:
  pkg.installed:
    - pkgs: {{ pillar['ceph_os']['packages']['grafana'] | tojson }}
    - require_in:
      - sls: ceph.service.grafana.{{ pillar['ceph']['services']['grafana']['certificate'] }}
      - sls: ceph.service.grafana.settings

ceph-service-grafana-running:
  host_daemon.running:
    - name: grafana-server
    - files:
      - /etc/grafana/grafana.crt
      - /etc/grafana/grafana.key
      - /etc/grafana/grafana.ini
      - /etc/grafana/provisioning/datasources/ceph.yml
      - /etc/grafana/provisioning/dashboards/ceph.yml
    - watch:
      - sls: ceph.service.grafana.{{ pillar['ceph']['services']['grafana']['certificate'] }}
      - ini: ceph-service-grafana-settings
      - file: ceph-service-grafana-settings-provisioning
