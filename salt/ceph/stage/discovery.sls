# Stage 1: look at every minion of ours, store what was seen, write the fragments that policy.cfg chooses from.
ceph-stage-discovery-begin:
  step.begin:
    - name: stage.begin
    - stage: discovery
    - only: {{ pillar['ceph_only'] | tojson }}
    - needs: answering
    - failhard: True

ceph-stage-discovery-collect:
  step.runner:
    - name: discovery.collect
    - failhard: True
    - require:
      - step: ceph-stage-discovery-begin

ceph-stage-discovery-default:
  step.runner:
    - name: proposal.default
    - failhard: True
    - require:
      - step: ceph-stage-discovery-collect

ceph-stage-discovery-left:
  step.end:
    - name: targets.left
    - failhard: True
    - require:
      - step: ceph-stage-discovery-default
