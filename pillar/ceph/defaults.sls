#!yaml
# What stands where the site says nothing: its own words go into ceph/site.sls.

# Package sources that prep adds: {NAME: arguments of Salt's pkgrepo.managed}. None is added unasked.
ceph_repos: {}
# How hosts keep time: chrony, or disabled where the site sees to it itself (a file of ceph/host/time/).
time_init: chrony
# A name or address, or a list: where chrony takes the time from. Without one: from the Salt master's host.
time_server: null
# What prep does to the master's host and to all others: default-no-update-no-reboot, default-update-no-reboot,
# default-no-update-reboot (where one is due), default-update-reboot. The master's host is never rebooted, only named.
stage_prep_master: default-no-update-no-reboot
stage_prep_minion: default-no-update-no-reboot
# Seconds that prep waits for a rebooted host, and for the cluster to be well before the next one.
ready_timeout: 300
# Whether minions may take jobs from other masters too, at the same time: none of these runs Halocline then.
several_masters: false
# The hosts that a stage changes, as Salt's glob: given for one run, salt-run state.orch NAME pillar='{"ceph_only": ...}'.
ceph_only: null
# Of ceph.stage.removal, given for one run alike: the hash of the list that was printed, hosts that are gone for good
# (with commas), and in how many steps data leaves OSDs.
ceph_confirm: null
ceph_gone: null
ceph_steps: 1
# Of ceph.stage.benchmark: a suite, what it runs on (null: all that it is for), quick or paper, a word of its own.
ceph_suite: null
ceph_target: null
ceph_size: quick
ceph_label: ""
# Of ceph.host.upgrade, given by ceph.stage.upgrade: [{PACKAGE: version}].
ceph_upgrade: []

# Before configure has run nobody is anything yet.
ceph:
  generation: null
  members: {all: [], master: [], admin: [], mon: [], mgr: [], storage: [], daemons: [], networks: []}
  services: {}
