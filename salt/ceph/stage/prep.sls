# Stage 0: modules, package sources, packages and time on every minion of ours; then updates, where the site asks.
ceph-stage-prep-begin:
  step.begin:
    - name: stage.begin
    - stage: prep
    - only: {{ pillar['ceph_only'] | tojson }}
    - failhard: True

ceph-stage-prep-validate:
  step.runner:
    - name: validate.prep
    - check: validate.prep
    - failhard: True
    - require:
      - step: ceph-stage-prep-begin

ceph-stage-prep-sync:
  step.runner:
    - name: minions.sync
    - check: minions.sync
    - failhard: True
    - require:
      - step: ceph-stage-prep-validate

# As in deploy: where all is as it says, what is next is not applied. The first step has looked.
ceph-stage-prep-look:
  step.look:
    - name: targets.same
    - failhard: True
    - require:
      - step: ceph-stage-prep-sync

ceph-stage-prep-packages:
  step.state:
    - sls: [ceph.host.repo, ceph.host.packages, {{ ('ceph.host.time.' ~ (pillar['time_init'] or 'chrony')) | tojson }}]
    - failhard: True
    - require:
      - step: ceph-stage-prep-look

ceph-stage-prep-updates:
  step.runner:
    - name: updates.apply
    - check: updates.apply
    - failhard: True
    - require:
      - step: ceph-stage-prep-packages

ceph-stage-prep-left:
  step.end:
    - name: targets.left
    - failhard: True
    - require:
      - step: ceph-stage-prep-updates
