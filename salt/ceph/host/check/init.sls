# Only looks: the pillar is the master's newest, and every planned disk is as the proposal saw it.
ceph-check-generation:
  generation.equal:
    - expected: {{ pillar['expected_generation'] | tojson }}

ceph-check-links:
  links.usable:
    - require:
      - generation: ceph-check-generation

ceph-check-osd-disks:
  osd.usable:
    - require:
      - generation: ceph-check-generation
