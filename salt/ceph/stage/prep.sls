# Stage 0: modules and packages on every minion of ours.
ceph-stage-prep-begin:
  step.runner:
    - name: stage.begin
    - check: stage.begin
    - stage: prep
    - failhard: True

ceph-stage-prep-sync:
  salt.state:
    - tgt: {{ pillar['ceph_minions'] | tojson }}
    - tgt_type: compound
    - sls: ceph.sync
    - failhard: True
    - require:
      - step: ceph-stage-prep-begin

ceph-stage-prep-packages:
  salt.state:
    - tgt: {{ pillar['ceph_minions'] | tojson }}
    - tgt_type: compound
    - sls: ceph.packages
    - failhard: True
    - require:
      - salt: ceph-stage-prep-sync
