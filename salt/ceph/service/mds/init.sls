ceph-service-mds-packages:
  pkg.installed:
    - pkgs: {{ pillar['ceph_os']['packages']['mds'] | tojson }}

ceph-service-mds-keyring:
  file.managed:
    - name: /var/lib/ceph/mds/ceph-{{ pillar['ceph']['services']['mds']['name'] }}/keyring
    - contents_pillar: ceph_secrets:mds
    - user: ceph
    - group: ceph
    - mode: '0600'
    - makedirs: True
    - show_changes: False
    - require:
      - pkg: ceph-service-mds-packages

ceph-service-mds-running:
  service.running:
    - name: ceph-mds@{{ pillar['ceph']['services']['mds']['name'] }}
    - enable: True
    - require:
      - file: ceph-service-mds-keyring
