# One address before the gateways: HAProxy and keepalived in units of our own, beside those that a site may run.
ceph-service-rgw-frontend-packages:
  pkg.installed:
    - pkgs: {{ pillar['ceph_os']['packages']['rgw-frontend'] | tojson }}
{%- for file in pillar['ceph']['services']['rgw-frontend']['files'] %}

ceph-service-rgw-frontend-{{ file }}:
  host_secret.managed:
    - name: /etc/ceph/rgw-frontend/{{ file }}
    - use: rgw-frontend/{{ file }}
    - require_in:
      - file: ceph-service-rgw-frontend-haproxy
    - watch_in:
      - service: ceph-service-rgw-frontend-haproxy-running
{%- endfor %}

ceph-service-rgw-frontend-haproxy:
  file.managed:
    - name: /etc/ceph/rgw-frontend/haproxy.cfg
    - source: salt://ceph/service/rgw-frontend/files/haproxy.cfg.j2
    - template: jinja
    - makedirs: True
    - mode: '0644'
    - check_cmd: /usr/sbin/haproxy -c -f
    - tmp_ext: .cfg
    - require:
      - pkg: ceph-service-rgw-frontend-packages

ceph-service-rgw-frontend-keepalived:
  file.managed:
    - name: /etc/ceph/rgw-frontend/keepalived.conf
    - source: salt://ceph/service/rgw-frontend/files/keepalived.conf.j2
    - template: jinja
    - makedirs: True
    - mode: '0644'
    - require:
      - pkg: ceph-service-rgw-frontend-packages
{%- for unit in ['haproxy', 'keepalived'] %}

ceph-service-rgw-frontend-{{ unit }}-unit:
  file.managed:
    - name: /etc/systemd/system/ceph-rgw-{{ unit }}.service
    - source: salt://ceph/service/rgw-frontend/files/ceph-rgw-{{ unit }}.service
    - mode: '0644'

ceph-service-rgw-frontend-{{ unit }}-running:
  service.running:
    - name: ceph-rgw-{{ unit }}
    - enable: True
    - reload: True
    - require:
      - file: ceph-service-rgw-frontend-{{ unit }}-unit
    - watch:
      - file: ceph-service-rgw-frontend-{{ unit }}
{%- endfor %}

ceph-service-rgw-frontend-answers:
  host_services.listening:
    - process: haproxy
    - port: {{ pillar['ceph']['services']['rgw-frontend']['port'] }}
    - unit: ceph-rgw-haproxy
    - require:
      - service: ceph-service-rgw-frontend-haproxy-running
