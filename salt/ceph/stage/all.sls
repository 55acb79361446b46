# Stages 0 to 4 as one: where nothing is to be done, one look at every host says so for all of them.
include:
  - ceph.stage.prep
  - ceph.stage.discovery
  - ceph.stage.configure
  - ceph.stage.deploy
  - ceph.stage.services

ceph-stage-all-begin:
  step.begin:
    - name: stage.begin
    - stage: all
    - only: {{ pillar['ceph_only'] | tojson }}
    - needs: answering
    - order: first
    - failhard: True

# Where configure serves a new generation: the stages behind it, compiled with that.
ceph-stage-all-rest:
  step.rest:
    - sls: [ceph.stage.deploy, ceph.stage.services]
    - order: last
    - failhard: True
