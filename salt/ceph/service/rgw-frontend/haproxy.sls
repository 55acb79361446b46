# The proxy, which spreads requests over the gateways.
{%- for file in pillar['ceph']['services']['rgw-frontend']['files'] %}
ceph-service-rgw-frontend-haproxy-{{ file }}:
  host_secret.managed:
    - name: /etc/ceph/rgw-frontend/{{ file }}
    - use: rgw-frontend/{{ file }}
    - require_in:
      - file: ceph-service-rgw-frontend-haproxy-conf
    - watch_in:
      - host_daemon: ceph-service-rgw-frontend-haproxy-running
{%- endfor %}

ceph-service-rgw-frontend-haproxy-gateways:
  host_haproxy.reachable

ceph-service-rgw-frontend-haproxy-conf:
  file.managed:
    - name: /etc/ceph/rgw-frontend/haproxy.cfg
    - source: salt://ceph/service/rgw-frontend/files/haproxy.cfg.j2
    - template: jinja
    - makedirs: True
    - mode: '0644'
    - check_cmd: /usr/sbin/haproxy -c -f
    - tmp_ext: .cfg
    - require:
      - host_haproxy: ceph-service-rgw-frontend-haproxy-gateways

ceph-service-rgw-frontend-haproxy-unit:
  file.managed:
    - name: /etc/systemd/system/ceph-rgw-haproxy.service
    - source: salt://ceph/service/rgw-frontend/files/ceph-rgw-haproxy.service
    - mode: '0644'

ceph-service-rgw-frontend-haproxy-running:
  host_daemon.running:
    - name: ceph-rgw-haproxy
    - reload: True
    - files:
      - /etc/ceph/rgw-frontend/haproxy.cfg
{%- for file in pillar['ceph']['services']['rgw-frontend']['files'] %}
      - /etc/ceph/rgw-frontend/{{ file }}
{%- endfor %}
    - require:
      - file: ceph-service-rgw-frontend-haproxy-unit
    - watch:
      - file: ceph-service-rgw-frontend-haproxy-conf

ceph-service-rgw-frontend-haproxy-answers:
  host_services.listening:
    - process: haproxy
    - port: {{ pillar['ceph']['services']['rgw-frontend']['port'] }}
    - unit: ceph-rgw-haproxy
    - require:
      - host_daemon: ceph-service-rgw-frontend-haproxy-running
