# Stage 4, and each service's own stage, which is a link to this file: what roles ask for beside monitors, managers and
# OSDs, brought up on a running cluster. What fails is named at the end; the others come up.
ceph-stage-services-begin:
  step.runner:
    - name: stage.begin
    - check: stage.begin
    - stage: {{ sls.split('.') | last | tojson }}
    - needs: answering
    - members: {{ pillar['ceph']['members']['all'] | tojson }}
    - failhard: True

ceph-stage-services-check:
  step.runner:
    - name: service.check
    - check: service.check
    - services: {{ sls.split('.') | last | tojson }}
    - failhard: True
    - require:
      - step: ceph-stage-services-begin

ceph-stage-services-up:
  step.runner:
    - name: service.up
    - check: service.up
    - services: {{ sls.split('.') | last | tojson }}
    - failhard: True
    - require:
      - step: ceph-stage-services-check
