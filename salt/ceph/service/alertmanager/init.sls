# Alertmanager: who is told of an alert. Its secrets are files that only it can read.
ceph-service-alertmanager-packages:
  pkg.installed:
    - pkgs: {{ pillar['ceph_os']['packages']['alertmanager'] | tojson }}

{%- for name in pillar['ceph']['services']['alertmanager']['given'] %}
ceph-service-alertmanager-secret-{{ name }}:
  file.managed:
    - name: /etc/prometheus/secrets/{{ name }}
    - contents_pillar: ceph_secrets:alertmanager-{{ name }}
    - user: prometheus
    - mode: '0400'
    - makedirs: True
    - show_changes: False
    - require:
      - pkg: ceph-service-alertmanager-packages
    - require_in:
      - file: ceph-service-alertmanager-configuration
{%- endfor %}

ceph-service-alertmanager-configuration:
  file.serialize:
    - name: /etc/prometheus/alertmanager.yml
    - dataset_pillar: ceph:services:alertmanager:config
    - serializer: yaml
    - check_cmd: amtool check-config
    - require:
      - pkg: ceph-service-alertmanager-packages

ceph-service-alertmanager-arguments:
  file.keyvalue:
    - name: {{ pillar['ceph_os']['alertmanager']['arguments'] }}
    - key: {{ pillar['ceph_os']['alertmanager']['variable'] }}
    - value: '"{{ (pillar['ceph_os']['alertmanager']['always'] + pillar['ceph']['services']['alertmanager']['arguments']) | join(' ') }}"'
    - append_if_not_found: True
    - create_if_missing: True
    - require:
      - pkg: ceph-service-alertmanager-packages

ceph-service-alertmanager-running:
  service.running:
    - name: {{ pillar['ceph_os']['alertmanager']['service'] }}
    - enable: True
    - watch:
      - file: ceph-service-alertmanager-arguments
      - file: ceph-service-alertmanager-configuration
