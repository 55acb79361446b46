# The cluster's central configuration: what the site's `ceph_config` says.
ceph-cluster-central-config:
  cluster_config.managed:
    - options: {{ (pillar.get('ceph_config') or {}) | tojson }}

# Whether new OSDs wait for their data: `osd.fill`.
ceph-cluster-central-config-growth:
  cluster_config.growth:
    - hold: {{ pillar.get('hold_new_osds', False) | tojson }}
