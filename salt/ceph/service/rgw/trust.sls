# Certificates of those whom the gateways ask, such as Keystone, trusted by this host.
{%- for name in pillar['ceph']['services']['rgw']['trusted'] %}
ceph-service-rgw-trust-{{ name }}:
  host_secret.managed:
    - name: {{ pillar['ceph_os']['trust']['folder'] }}/{{ name }}.crt
    - use: trusted/{{ name }}
    - mode: '0644'
{%- endfor %}

ceph-service-rgw-trust-only:
  host_trust.only:
    - name: {{ pillar['ceph_os']['trust']['folder'] }}
    - wanted: {{ pillar['ceph']['services']['rgw']['trusted'] | tojson }}
    - command: {{ pillar['ceph_os']['trust']['command'] }}
