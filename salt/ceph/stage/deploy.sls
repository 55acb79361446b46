# Stage 3: what the pillar says -> running daemons. All checks stand before the first change. A host that does not
# answer, or fails where it says go_on, holds back only itself; the last step names it.
ceph-stage-deploy-begin:
  step.begin:
    - name: stage.begin
    - stage: deploy
    - only: {{ pillar['ceph_only'] | tojson }}
    - needs: answering
    - members: {{ pillar['ceph']['members']['all'] | tojson }}
    - must: {{ pillar['ceph']['members']['master'] | tojson }}
    - failhard: True

ceph-stage-deploy-validate:
  step.runner:
    - name: validate.deploy
    - check: validate.deploy
    - failhard: True
    - require:
      - step: ceph-stage-deploy-begin

# Where no host differs from what all SLS below say of it, none of them is applied. The first step has looked.
ceph-stage-deploy-look:
  step.look:
    - name: targets.same
    - failhard: True
    - require:
      - step: ceph-stage-deploy-validate

ceph-stage-deploy-check:
  step.state:
    - hosts: {{ pillar['ceph']['members']['all'] | tojson }}
    - sls: ceph.host.check
    - pillar: {expected_generation: {{ pillar['ceph']['generation'] | tojson }}}
    - failhard: True
    - require:
      - step: ceph-stage-deploy-look

ceph-stage-deploy-before:
  step.runner:
    - name: health.before
    - failhard: True
    - require:
      - step: ceph-stage-deploy-check

ceph-stage-deploy-networks:
  step.runner:
    - name: links.deploy
    - check: links.deploy
    - minions: {{ pillar['ceph']['members']['networks'] | tojson }}
    - failhard: True
    - require:
      - step: ceph-stage-deploy-before

ceph-stage-deploy-configuration:
  step.state:
    - hosts: {{ pillar['ceph']['members']['all'] | tojson }}
    - sls: [ceph.host.tunings, ceph.host.packages, ceph.configuration]
    - go_on: True
    - failhard: True
    - require:
      - step: ceph-stage-deploy-networks

# Where the cluster could not say it before: what is in maintenance is started by nobody. Monitors that are all down are
# started before they can say it; the step before OSDs asks again.
ceph-stage-deploy-maintained:
  step.runner:
    - name: targets.away
    - must: False
    - failhard: True
    - require:
      - step: ceph-stage-deploy-configuration

ceph-stage-deploy-mon:
  step.state:
    - hosts: {{ pillar['ceph']['members']['mon'] | tojson }}
    - sls: ceph.cluster.mon
    - failhard: True
    - require:
      - step: ceph-stage-deploy-maintained

ceph-stage-deploy-admin:
  step.state:
    - hosts: {{ pillar['ceph']['members']['admin'] | tojson }}
    - sls: ceph.cluster.admin
    - failhard: True
    - require:
      - step: ceph-stage-deploy-mon

ceph-stage-deploy-keys:
  step.state:
    - hosts: {{ pillar['ceph']['members']['master'] | tojson }}
    - sls: ceph.cluster.keys
    - limited: False
    - failhard: True
    - require:
      - step: ceph-stage-deploy-admin

ceph-stage-deploy-central-config:
  step.state:
    - hosts: {{ pillar['ceph']['members']['master'] | tojson }}
    - sls: ceph.cluster.central-config
    - failhard: True
    - require:
      - step: ceph-stage-deploy-keys

ceph-stage-deploy-maintenance:
  step.runner:
    - name: targets.away
    - failhard: True
    - require:
      - step: ceph-stage-deploy-central-config

# Before the OSDs: the first of a new host stands in its rack from the beginning, and moves nothing later.
ceph-stage-deploy-crush:
  step.runner:
    - name: crush.place
    - check: crush.place
    - failhard: True
    - require:
      - step: ceph-stage-deploy-maintenance

# Managers, crash reports and OSDs of a host, in one job.
ceph-stage-deploy-daemons:
  step.state:
    - hosts: {{ pillar['ceph']['members']['daemons'] | tojson }}
    - sls: ceph.cluster.daemons
    - go_on: True
    - failhard: True
    - require:
      - step: ceph-stage-deploy-crush

# After the OSDs: where nothing moves, those that wait get their weights, so that pools find a place.
ceph-stage-deploy-growth:
  step.runner:
    - name: osd.growth
    - check: osd.growth
    - failhard: True
    - require:
      - step: ceph-stage-deploy-daemons

ceph-stage-deploy-pools:
  step.runner:
    - name: pool.make
    - check: pool.make
    - failhard: True
    - require:
      - step: ceph-stage-deploy-growth

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

ceph-stage-deploy-disks:
  step.runner:
    - name: disk.health
    - warn: True
    - failhard: True
    - require:
      - step: ceph-stage-deploy-restarts

ceph-stage-deploy-left:
  step.end:
    - name: targets.left
    - cluster: True
    - failhard: True
    - require:
      - step: ceph-stage-deploy-disks
