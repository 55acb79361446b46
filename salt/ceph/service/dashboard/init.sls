# The cluster's dashboard, from the master's host, which has the admin's key: certificate, settings, module, user.
{%- for name in pillar['ceph']['services']['dashboard']['given'] %}
ceph-service-dashboard-{{ name }}:
  file.managed:
    - name: /etc/ceph/{{ name }}
    - contents_pillar: ceph_secrets:{{ name }}
    - mode: '0600'
    - show_changes: False
{%- endfor %}
{%- for names in pillar['ceph']['services']['dashboard']['made'] %}
# RSA: Ceph checks the key with pyOpenSSL, which knows no other kind. Ten years, as Ceph's own certificates.
ceph-service-dashboard-key:
  x509.private_key_managed:
    - name: /etc/ceph/dashboard.key
    - keysize: 3072
    - mode: '0600'

ceph-service-dashboard-certificate:
  x509.certificate_managed:
    - name: /etc/ceph/dashboard.crt
    - signing_private_key: /etc/ceph/dashboard.key
    - CN: ceph-service-dashboard
    - subjectAltName: {{ names | tojson }}
    - basicConstraints: critical, CA:FALSE
    - extendedKeyUsage: serverAuth
    - days_valid: 3650
    - days_remaining: 365
    - mode: '0644'
    - require:
      - x509: ceph-service-dashboard-key
{%- endfor %}

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
    - given: {{ pillar['ceph']['services']['dashboard']['given'] | tojson }}
    - instead_of: {{ pillar['ceph_os']['dashboard']['instead_of'] | tojson }}
    - require:
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
