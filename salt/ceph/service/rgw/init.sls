# Gateways of this host. All that one reads at its start lies in its own folder, so that ceph.stage.restart sees what is
# newer than it; nothing restarts it here, where its neighbours would be restarted at the same time.
include:
  - ceph.configuration

ceph-service-rgw-packages:
  pkg.installed:
    - pkgs: {{ pillar['ceph_os']['packages']['rgw'] | tojson }}
{%- for name in pillar['ceph']['services']['rgw']['trusted'] %}

ceph-service-rgw-trust-{{ name }}:
  file.managed:
    - name: {{ pillar['ceph_os']['trust']['folder'] }}/{{ name }}.crt
    - contents_pillar: ceph_secrets:{{ name }}
    - mode: '0644'
    - makedirs: True
    - show_changes: False
  cmd.run:
    - name: {{ pillar['ceph_os']['trust']['command'] }}
    - onchanges:
      - file: ceph-service-rgw-trust-{{ name }}
{%- endfor %}
{%- for gateway in pillar['ceph']['services']['rgw']['gateways'] %}
{%- for file in gateway['files'] %}

ceph-service-rgw-{{ gateway['name'] }}-{{ file }}:
  file.managed:
    - name: {{ gateway['folder'] }}/{{ file }}
    - contents_pillar: {{ 'ceph_secrets:' ~ gateway['name'] ~ '/' ~ file }}
    - user: ceph
    - group: ceph
    - mode: '0600'
    - dir_mode: '0750'
    - makedirs: True
    - show_changes: False
    - require:
      - pkg: ceph-service-rgw-packages
    - require_in:
      - service: ceph-service-rgw-{{ gateway['name'] }}-running
{%- endfor %}

# One that failed to start several times systemd starts no more for a while, though its cause is gone.
ceph-service-rgw-{{ gateway['name'] }}-again:
  cmd.run:
    - name: systemctl reset-failed ceph-radosgw@{{ gateway['name'] }}
    - onlyif: systemctl is-failed --quiet ceph-radosgw@{{ gateway['name'] }}
    - require_in:
      - service: ceph-service-rgw-{{ gateway['name'] }}-running

ceph-service-rgw-{{ gateway['name'] }}-running:
  service.running:
    - name: ceph-radosgw@{{ gateway['name'] }}
    - enable: True
    - require:
      - file: ceph-configuration

ceph-service-rgw-{{ gateway['name'] }}-answers:
  host_services.listening:
    - process: radosgw
    - port: {{ gateway['port'] }}
    - unit: ceph-radosgw@{{ gateway['name'] }}
    - daemon: client.{{ gateway['name'] }}
    - require:
      - service: ceph-service-rgw-{{ gateway['name'] }}-running
{%- endfor %}
