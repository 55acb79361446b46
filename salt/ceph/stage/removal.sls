# Stage 5: what policy.cfg no longer names leaves: only the list that stage.plan printed, confirmed by its hash.
ceph-stage-removal-begin:
  step.begin:
    - name: stage.begin
    - stage: removal
    - only: {{ pillar['ceph_only'] | tojson }}
    - needs: answering
    - must: {{ pillar['ceph']['members']['master'] | tojson }}
    - failhard: True

ceph-stage-removal-check:
  step.runner:
    - name: removal.check
    - check: removal.check
    - confirm: {{ pillar['ceph_confirm'] | tojson }}
    - gone: {{ pillar['ceph_gone'] | tojson }}
    - steps: {{ pillar['ceph_steps'] | tojson }}
    - failhard: True
    - require:
      - step: ceph-stage-removal-begin

ceph-stage-removal-leave:
  step.runner:
    - name: removal.carry_out
    - check: removal.carry_out
    - confirm: {{ pillar['ceph_confirm'] | tojson }}
    - gone: {{ pillar['ceph_gone'] | tojson }}
    - steps: {{ pillar['ceph_steps'] | tojson }}
    - failhard: True
    - require:
      - step: ceph-stage-removal-check

ceph-stage-removal-left:
  step.end:
    - name: targets.left
    - failhard: True
    - require:
      - step: ceph-stage-removal-leave
