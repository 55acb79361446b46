# Prometheus, with Ceph's own alert rules from their package and the site's beside them.
ceph-prometheus-packages:
  pkg.installed:
    - pkgs: {{ pillar['ceph_os']['packages']['prometheus'] | tojson }}

{%- for path, source in pillar['ceph']['services']['prometheus']['rules'] %}
ceph-prometheus-rules-{{ loop.index }}:
  file.managed:
    - name: {{ path }}
    - source: {{ source }}
    - makedirs: True
    - check_cmd: promtool check rules
    - require:
      - pkg: ceph-prometheus-packages
    - require_in:
      - file: ceph-prometheus-configuration
    - watch_in:
      - service: ceph-prometheus-reloaded
{%- endfor %}

ceph-prometheus-configuration:
  file.serialize:
    - name: /etc/prometheus/prometheus.yml
    - dataset_pillar: ceph:services:prometheus:config
    - serializer: yaml
    - check_cmd: promtool check config
    - require:
      - pkg: ceph-prometheus-packages

ceph-prometheus-arguments:
  file.keyvalue:
    - name: {{ pillar['ceph_os']['prometheus']['arguments'] }}
    - key: {{ pillar['ceph_os']['prometheus']['variable'] }}
    - value: '"{{ (pillar['ceph_os']['prometheus']['always'] + pillar['ceph']['services']['prometheus']['arguments']) | join(' ') }}"'
    - append_if_not_found: True
    - create_if_missing: True
    - require:
      - pkg: ceph-prometheus-packages

ceph-prometheus-running:
  service.running:
    - name: {{ pillar['ceph_os']['prometheus']['service'] }}
    - enable: True
    - require:
      - file: ceph-prometheus-configuration
    - watch:
      - file: ceph-prometheus-arguments

ceph-prometheus-reloaded:
  service.running:
    - name: {{ pillar['ceph_os']['prometheus']['service'] }}
    - reload: True
    - require:
      - service: ceph-prometheus-running
    - watch:
      - file: ceph-prometheus-configuration
