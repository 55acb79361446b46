# Alertmanager: who is told of an alert. Its secrets are files that only it can read.
ceph-service-alertmanager-packages:
  pkg.installed:
    - pkgs: {{ pillar['ceph_os']['packages']['alertmanager'] | tojson }}

{%- for name in pillar['ceph']['services']['alertmanager']['given'] %}
ceph-service-alertmanager-secret-{{ name }}:
  host_secret.managed:
    - name: /etc/prometheus/secrets/{{ name }}
    - use: alertmanager-{{ name }}
    - user: prometheus
    - mode: '0400'
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
    - user: root
    - group: prometheus  # of the daemon, with every family; an address in it may be a secret
    - mode: '0640'
    - show_changes: False
    - require:
      - pkg: ceph-service-alertmanager-packages

ceph-service-alertmanager-arguments:
  host_daemon.arguments:
    - name: {{ pillar['ceph_os']['alertmanager']['arguments'] }}
    - variable: {{ pillar['ceph_os']['alertmanager']['variable'] }}
    - always: {{ pillar['ceph_os']['alertmanager']['always'] | tojson }}
    - more: {{ pillar['ceph']['services']['alertmanager']['arguments'] | tojson }}
    - require:
      - pkg: ceph-service-alertmanager-packages

ceph-service-alertmanager-running:
  host_daemon.running:
    - name: {{ pillar['ceph_os']['alertmanager']['service'] }}
    - files:
      - {{ pillar['ceph_os']['alertmanager']['arguments'] }}
      - /etc/prometheus/alertmanager.yml
    - watch:
      - host_daemon: ceph-service-alertmanager-arguments
      - file: ceph-service-alertmanager-configuration
