# Keyrings of clients of the site's own (ceph_keys).
{%- for keyring in pillar['ceph']['services']['client-keys']['keyrings'] %}

ceph-service-client-keys-{{ keyring.path }}:
  host_secret.managed:
    - name: {{ keyring.path }}
    - use: {{ keyring.use | tojson }}
    - user: {{ keyring.user | tojson }}
    - group: {{ keyring.group | tojson }}
    - mode: {{ keyring.mode | tojson }}
{%- endfor %}
