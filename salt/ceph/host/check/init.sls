# Only looks: the pillar is the master's newest, and every planned disk is as the proposal saw it.
ceph-host-check-generation:
  generation.equal:
    - expected: {{ pillar['expected_generation'] | tojson }}

ceph-host-check-links:
  links.usable:
    - require:
      - generation: ceph-host-check-generation

ceph-host-check-osd-disks:
  osd.usable:
    - require:
      - generation: ceph-host-check-generation
