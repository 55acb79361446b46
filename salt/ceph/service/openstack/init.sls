# What OpenStack's hosts need of the cluster, for the admin to take there: keys and lines of configuration.
ceph-service-openstack-folder:
  file.directory:
    - name: /etc/ceph/openstack
    - mode: '0700'
{%- for file in pillar['ceph']['services']['openstack']['files'] %}

ceph-service-openstack-{{ file }}:
  host_secret.managed:
    - name: /etc/ceph/openstack/{{ file }}
    - use: openstack/{{ file }}
    - require:
      - file: ceph-service-openstack-folder
{%- endfor %}
{%- for file in ['ceph.conf', 'glance-api.conf', 'cinder.conf', 'cinder-backup.conf', 'nova.conf'] %}

ceph-service-openstack-{{ file }}:
  file.managed:
    - name: /etc/ceph/openstack/{{ file }}
    - source: salt://ceph/service/openstack/files/{{ file }}.j2
    - template: jinja
    - mode: '0644'
    - require:
      - file: ceph-service-openstack-folder
{%- endfor %}
{%- for user, uuid in pillar['ceph']['services']['openstack']['secrets'] | dictsort %}

ceph-service-openstack-secret-{{ user }}:
  file.managed:
    - name: /etc/ceph/openstack/secret-{{ user }}.xml
    - source: salt://ceph/service/openstack/files/secret.xml.j2
    - template: jinja
    - context: {user: {{ user | tojson }}, uuid: {{ uuid | tojson }}}
    - mode: '0644'
    - require:
      - file: ceph-service-openstack-folder
{%- endfor %}
