# Restart what runs with an older configuration than it would start with: host by host, by Ceph's leave.
ceph-stage-restart-begin:
  step.begin:
    - name: stage.begin
    - stage: restart
    - only: {{ pillar['ceph_only'] | tojson }}
    - needs: answering
    - members: {{ pillar['ceph']['members']['all'] | tojson }}
    - must: {{ pillar['ceph']['members']['master'] | tojson }}
    - failhard: True

ceph-stage-restart-daemons:
  step.runner:
    - name: daemon.restart
    - check: daemon.restart
    - failhard: True
    - require:
      - step: ceph-stage-restart-begin

ceph-stage-restart-left:
  step.end:
    - name: targets.left
    - failhard: True
    - require:
      - step: ceph-stage-restart-daemons
