# Measures the cluster by one suite: pillar='{"ceph_suite": "apollo", "ceph_target": "rbd", "ceph_size": "quick"}'.
ceph-stage-benchmark-begin:
  step.begin:
    - name: stage.begin
    - stage: benchmark
    - only: {{ pillar['ceph_only'] | tojson }}
    - needs: answering
    - members: {{ pillar['ceph']['members']['all'] | tojson }}
    - must: {{ pillar['ceph']['members']['master'] | tojson }}
    - failhard: True

ceph-stage-benchmark-run:
  step.runner:
    - name: benchmark.run
    - check: benchmark.run
    - suite: {{ pillar['ceph_suite'] | tojson }}
    - target: {{ pillar['ceph_target'] | tojson }}
    - size: {{ pillar['ceph_size'] | tojson }}
    - label: {{ pillar['ceph_label'] | tojson }}
    - failhard: True
    - require:
      - step: ceph-stage-benchmark-begin

ceph-stage-benchmark-left:
  step.end:
    - name: targets.left
    - failhard: True
    - require:
      - step: ceph-stage-benchmark-run
