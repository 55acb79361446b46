# Restart what runs with an older configuration than it would start with: host by host, by Ceph's leave.
ceph-stage-restart-begin:
  step.runner:
    - name: stage.begin
    - check: stage.begin
    - stage: restart
    - members: {{ pillar['ceph']['members']['all'] | tojson }}
    - failhard: True

ceph-stage-restart-daemons:
  step.runner:
    - name: daemon.restart
    - check: daemon.restart
    - failhard: True
    - require:
      - step: ceph-stage-restart-begin
