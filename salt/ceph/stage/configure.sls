# Stage 2: policy.cfg -> pillar: one new generation, checked before it is served.
ceph-stage-configure-begin:
  step.begin:
    - name: stage.begin
    - stage: configure
    - only: {{ pillar['ceph_only'] | tojson }}
    - needs: answering
    - failhard: True

ceph-stage-configure-push:
  step.runner:
    - name: policy.push
    - check: policy.push
    - only: {{ pillar['ceph_only'] | tojson }}
    - failhard: True
    - require:
      - step: ceph-stage-configure-begin

ceph-stage-configure-left:
  step.end:
    - name: targets.left
    - failhard: True
    - require:
      - step: ceph-stage-configure-push
