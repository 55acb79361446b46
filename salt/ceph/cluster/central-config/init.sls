# The cluster's central configuration: what the site's `ceph_config` says.
ceph-cluster-central-config:
  cluster_config.managed:
    - options: {{ pillar.get('ceph_config', {}) | tojson }}
