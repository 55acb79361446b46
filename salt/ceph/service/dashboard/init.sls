# The cluster's dashboard, from the master's host, which has the admin's key: certificate, settings, module, user.
include:
  - ceph.service.dashboard.{{ pillar['ceph']['services']['dashboard']['certificate'] }}

# A manager that has just been given the module's package is restarting: until it is back its settings are not known.
ceph-service-dashboard-options:
  cluster_config.managed:
    - options: {{ pillar['ceph']['services']['dashboard']['options'] | tojson }}
    - kept: halocline/dashboard-options
    - retry: {attempts: 6, interval: 5}

ceph-service-dashboard-served:
  cluster_dashboard.served:
    - certificate: /etc/ceph/dashboard.crt
    - key: /etc/ceph/dashboard.key
    - port: {{ pillar['ceph']['services']['dashboard']['port'] | tojson }}
    - origin: {{ pillar['ceph']['services']['dashboard']['certificate'] }}
    - instead_of: {{ pillar['ceph_os']['dashboard']['instead_of'] | tojson }}
    - require:
      - sls: ceph.service.dashboard.{{ pillar['ceph']['services']['dashboard']['certificate'] }}
      - cluster_config: ceph-service-dashboard-options

ceph-service-dashboard-user:
  cluster_dashboard.admin:
    - user: {{ pillar['ceph']['services']['dashboard']['user'] | tojson }}
    - require:
      - cluster_dashboard: ceph-service-dashboard-served

ceph-service-dashboard-gateways:
  cluster_dashboard.gateways:
    - gateways: {{ pillar['ceph']['services']['dashboard']['gateways'] | tojson }}
    - require:
      - cluster_dashboard: ceph-service-dashboard-user
