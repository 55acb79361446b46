# Stage 2: policy.cfg -> pillar: one new generation, checked before it is served.
ceph-stage-configure-begin:
  step.runner:
    - name: stage.begin
    - check: stage.begin
    - stage: configure
    - needs: policy
    - failhard: True

ceph-stage-configure-push:
  step.runner:
    - name: policy.push
    - failhard: True
    - require:
      - step: ceph-stage-configure-begin
