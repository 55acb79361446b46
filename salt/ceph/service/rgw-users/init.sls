# Users of the gateways, made on the master's host; their keys, for the admin alone.
# Names in full go as they are: of "\ud83d\ude00", as JSON has some characters, YAML makes no text.
ceph-service-rgw-users:
  cluster_rgw_users.answered:
    - users: {{ pillar['ceph']['services']['radosgw']['users'] | tojson(ensure_ascii=False) }}
{%- for user in pillar['ceph']['services']['radosgw']['users'] %}

ceph-service-rgw-users-{{ user['name'] }}:
  cluster_rgw_users.present:
    - name: {{ user['name'] | tojson }}
    - secret: {{ user['secret'] | tojson }}
    - given: {{ user.get('given', False) | tojson }}
    - display_name: {{ user['display_name'] | tojson(ensure_ascii=False) }}
    - access_key: {{ user['access_key'] | tojson }}
    - max_buckets: {{ user['max_buckets'] | tojson }}
    - caps: {{ user['caps'] | tojson }}
    - bare: {{ user.get('bare', False) | tojson }}
    - require:
      - cluster_rgw_users: ceph-service-rgw-users
{%- endfor %}

ceph-service-rgw-users-credentials:
  host_secret.rendered:
    - name: /etc/ceph/rgw-users.credentials
    - source: salt://ceph/service/rgw-users/files/credentials.j2
    - context: {users: {{ pillar['ceph']['services']['radosgw']['users'] | tojson(ensure_ascii=False) }}}
