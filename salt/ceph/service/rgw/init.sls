# Gateways of this host. All that one reads at its start lies in its own folder, so that ceph.stage.restart sees what is
# newer than it; nothing restarts it here, where its neighbours would be restarted at the same time.
include:
{%- for sls in pillar['ceph'].get('crash', ['ceph.cluster.crash']) %}
  - {{ sls }}
{%- endfor %}
  - ceph.configuration
  - ceph.service.rgw.trust

ceph-service-rgw-packages:
  pkg.installed:
    - pkgs: {{ pillar['ceph_os']['packages']['rgw'] | tojson }}
    - require_in:
      - sls: ceph.service.rgw.trust
{%- for gateway in pillar['ceph']['services']['rgw']['gateways'] %}
{%- for file in gateway['files'] %}

ceph-service-rgw-{{ gateway['name'] }}-{{ file }}:
  host_secret.managed:
    - name: {{ gateway['folder'] }}/{{ file }}
    - use: {{ gateway['name'] ~ '/' ~ file }}
    - user: ceph
    - group: ceph
    - dir_mode: '0750'
    - require:
      - pkg: ceph-service-rgw-packages
    - require_in:
      - host_daemon: ceph-service-rgw-{{ gateway['name'] }}-running
{%- endfor %}

ceph-service-rgw-{{ gateway['name'] }}-running:
  host_daemon.running:
    - name: ceph-radosgw@{{ gateway['name'] }}
    - require:
      - host_ceph_conf: ceph-configuration

ceph-service-rgw-{{ gateway['name'] }}-answers:
  host_services.listening:
    - process: radosgw
    - port: {{ gateway['port'] }}
    - unit: ceph-radosgw@{{ gateway['name'] }}
    - daemon: client.{{ gateway['name'] }}
    - require:
      - host_daemon: ceph-service-rgw-{{ gateway['name'] }}-running
{%- endfor %}
