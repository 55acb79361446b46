# Ceph's newer packages on a running cluster: in Ceph's order, by its leave, host by host.
ceph-stage-upgrade-begin:
  step.begin:
    - name: stage.begin
    - stage: upgrade
    - only: {{ pillar['ceph_only'] | tojson }}
    - needs: answering
    - must: {{ pillar['ceph']['members']['master'] | tojson }}
    - failhard: True

ceph-stage-upgrade-check:
  step.runner:
    - name: upgrade.check
    - check: upgrade.check
    - failhard: True
    - require:
      - step: ceph-stage-upgrade-begin

ceph-stage-upgrade-daemons:
  step.runner:
    - name: upgrade.carry_out
    - failhard: True
    - require:
      - step: ceph-stage-upgrade-check

ceph-stage-upgrade-left:
  step.end:
    - name: targets.left
    - failhard: True
    - require:
      - step: ceph-stage-upgrade-daemons
