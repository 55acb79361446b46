# Stage 2: policy.cfg -> pillar: one new generation, checked before it is served.
ceph-stage-configure-push:
  step.runner:
    - name: policy.push
    - failhard: True
