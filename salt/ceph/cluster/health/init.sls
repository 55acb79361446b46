ceph-cluster-health:
  cluster_health.whole:
    - osds: {{ pillar['ceph']['expected_osds'] }}
    - timeout: 300
