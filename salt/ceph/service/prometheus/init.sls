# Prometheus, with Ceph's own alert rules from their package and the site's beside them.
ceph-service-prometheus-packages:
  pkg.installed:
    - pkgs: {{ pillar['ceph_os']['packages']['prometheus'] | tojson }}

{%- for path, source in pillar['ceph']['services']['prometheus']['rules'] %}
ceph-service-prometheus-rules-{{ loop.index }}:
  file.managed:
    - name: {{ path }}
    - source: {{ source }}
    - makedirs: True
    - check_cmd: promtool check rules
    - require:
      - pkg: ceph-service-prometheus-packages
    - require_in:
      - file: ceph-service-prometheus-configuration
    - watch_in:
      - host_daemon: ceph-service-prometheus-reloaded
{%- endfor %}

ceph-service-prometheus-configuration:
  file.serialize:
    - name: /etc/prometheus/prometheus.yml
    - dataset_pillar: ceph:services:prometheus:config
    - serializer: yaml
    - check_cmd: promtool check config
    - require:
      - pkg: ceph-service-prometheus-packages

ceph-service-prometheus-arguments:
  host_daemon.arguments:
    - name: {{ pillar['ceph_os']['prometheus']['arguments'] }}
    - variable: {{ pillar['ceph_os']['prometheus']['variable'] }}
    - always: {{ pillar['ceph_os']['prometheus']['always'] | tojson }}
    - more: {{ pillar['ceph']['services']['prometheus']['arguments'] | tojson }}
    - require:
      - pkg: ceph-service-prometheus-packages

# Only what this state did not just start is reloaded: a Prometheus that is still starting ends at the signal.
ceph-service-prometheus-reloaded:
  host_daemon.running:
    - name: {{ pillar['ceph_os']['prometheus']['service'] }}
    - reload: True
    - files:
      - /etc/prometheus/prometheus.yml
{%- for path, source in pillar['ceph']['services']['prometheus']['rules'] %}
      - {{ path }}
{%- endfor %}
    - require:
      - host_daemon: ceph-service-prometheus-arguments
    - watch:
      - file: ceph-service-prometheus-configuration

# It runs at the end whatever happened: a package may have started it right before the reload.
ceph-service-prometheus-running:
  host_daemon.running:
    - name: {{ pillar['ceph_os']['prometheus']['service'] }}
    - files: [{{ pillar['ceph_os']['prometheus']['arguments'] }}]
    - require:
      - host_daemon: ceph-service-prometheus-reloaded
    - watch:
      - host_daemon: ceph-service-prometheus-arguments
