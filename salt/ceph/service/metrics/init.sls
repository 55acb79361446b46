# What the product tells of itself, on the master's host: a timer writes it where the node exporter there reads it.
include:
  - ceph.service.node-exporter

ceph-service-metrics-folder:
  file.directory:
    - name: {{ pillar['ceph_os']['node-exporter']['textfile'] }}
    - makedirs: True

ceph-service-metrics-arguments:
  host_daemon.arguments:
    - name: {{ pillar['ceph_os']['node-exporter']['arguments'] }}
    - variable: {{ pillar['ceph_os']['node-exporter']['variable'] }}
    - always: []
    - more: ["--collector.textfile.directory={{ pillar['ceph_os']['node-exporter']['textfile'] }}"]
    - require:
      - pkg: ceph-service-node-exporter-packages
    - watch_in:
      - host_daemon: ceph-service-node-exporter-running

ceph-service-metrics-unit:
  file.managed:
    - name: /etc/systemd/system/halocline-metrics.service
    - source: salt://ceph/service/metrics/files/halocline-metrics.service.j2
    - template: jinja
    - mode: '0644'

ceph-service-metrics-timer:
  file.managed:
    - name: /etc/systemd/system/halocline-metrics.timer
    - source: salt://ceph/service/metrics/files/halocline-metrics.timer
    - mode: '0644'

ceph-service-metrics-running:
  host_daemon.running:
    - name: halocline-metrics.timer
    - files:
      - /etc/systemd/system/halocline-metrics.service
      - /etc/systemd/system/halocline-metrics.timer
    - require:
      - file: ceph-service-metrics-folder
    - watch:
      - file: ceph-service-metrics-unit
      - file: ceph-service-metrics-timer
