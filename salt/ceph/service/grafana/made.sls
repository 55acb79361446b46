# A certificate of this host's own.
ceph-service-grafana-made:
  host_certificate.self_signed:
    - name: /etc/grafana/grafana.crt
    - key: /etc/grafana/grafana.key
    - key_mode: '0640'
    - group: grafana
    - common_name: ceph-grafana
    - names_of: {{ pillar['ceph']['services']['grafana']['names'] | tojson }}
