# A certificate of this host's own.
ceph-service-dashboard-made:
  host_certificate.self_signed:
    - name: /etc/ceph/dashboard.crt
    - key: /etc/ceph/dashboard.key
    - common_name: ceph-dashboard
    - names_of: {{ pillar['ceph']['services']['dashboard']['names'] | tojson }}
