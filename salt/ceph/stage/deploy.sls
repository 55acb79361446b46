# Stage 3: what the pillar says -> running daemons. All checks stand before the first change.
ceph-stage-deploy-begin:
  step.runner:
    - name: stage.begin
    - check: stage.begin
    - stage: deploy
    - members: {{ pillar['ceph']['members']['all'] | tojson }}
    - failhard: True

ceph-stage-deploy-validate:
  step.runner:
    - name: validate.deploy
    - check: validate.deploy
    - failhard: True
    - require:
      - step: ceph-stage-deploy-begin

ceph-stage-deploy-check:
  salt.state:
    - tgt: {{ pillar['ceph']['members']['all'] | tojson }}
    - tgt_type: list
    - sls: ceph.host.check
    - pillar: {expected_generation: {{ pillar['ceph']['generation'] | tojson }}}
    - failhard: True
    - require:
      - step: ceph-stage-deploy-validate

ceph-stage-deploy-before:
  step.runner:
    - name: health.before
    - failhard: True
    - require:
      - salt: ceph-stage-deploy-check

ceph-stage-deploy-networks:
  step.runner:
    - name: links.deploy
    - check: links.deploy
    - minions: {{ pillar['ceph']['members']['networks'] | tojson }}
    - failhard: True
    - require:
      - step: ceph-stage-deploy-before

ceph-stage-deploy-tunings:
  salt.state:
    - tgt: {{ pillar['ceph']['members']['all'] | tojson }}
    - tgt_type: list
    - sls: ceph.host.tunings
    - failhard: True
    - require:
      - step: ceph-stage-deploy-networks

ceph-stage-deploy-configuration:
  salt.state:
    - tgt: {{ pillar['ceph']['members']['all'] | tojson }}
    - tgt_type: list
    - sls: [ceph.host.packages, ceph.configuration]
    - failhard: True
    - require:
      - salt: ceph-stage-deploy-tunings

ceph-stage-deploy-mon:
  salt.state:
    - tgt: {{ pillar['ceph']['members']['mon'] | tojson }}
    - tgt_type: list
    - sls: ceph.cluster.mon
    - failhard: True
    - require:
      - salt: ceph-stage-deploy-configuration

ceph-stage-deploy-admin:
  salt.state:
    - tgt: {{ pillar['ceph']['members']['admin'] | tojson }}
    - tgt_type: list
    - sls: ceph.cluster.admin
    - failhard: True
    - require:
      - salt: ceph-stage-deploy-mon

ceph-stage-deploy-keys:
  salt.state:
    - tgt: {{ pillar['ceph']['members']['master'] | tojson }}
    - tgt_type: list
    - sls: [ceph.cluster.keys, ceph.cluster.central-config]
    - failhard: True
    - require:
      - salt: ceph-stage-deploy-admin

ceph-stage-deploy-mgr:
  salt.state:
    - tgt: {{ pillar['ceph']['members']['mgr'] | tojson }}
    - tgt_type: list
    - sls: ceph.cluster.mgr
    - failhard: True
    - require:
      - salt: ceph-stage-deploy-keys

# Before the OSDs: the first of a new host stands in its rack from the beginning, and moves nothing later.
ceph-stage-deploy-crush:
  step.runner:
    - name: crush.place
    - check: crush.place
    - failhard: True
    - require:
      - salt: ceph-stage-deploy-mgr

ceph-stage-deploy-osd:
  salt.state:
    - tgt: {{ pillar['ceph']['members']['storage'] | tojson }}
    - tgt_type: list
    - sls: ceph.cluster.osd
    - failhard: True
    - require:
      - step: ceph-stage-deploy-crush

ceph-stage-deploy-pools:
  step.runner:
    - name: pool.make
    - check: pool.make
    - failhard: True
    - require:
      - salt: ceph-stage-deploy-osd

ceph-stage-deploy-health:
  step.runner:
    - name: health.after
    - failhard: True
    - require:
      - step: ceph-stage-deploy-pools

ceph-stage-deploy-restarts:
  step.runner:
    - name: daemon.pending
    - failhard: True
    - require:
      - step: ceph-stage-deploy-health
