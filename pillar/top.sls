#!yaml
# No Jinja here, nor in the other files that begin so: rendering them would be an eighth of what a minion's pillar costs.
# What every minion is told before the generated layers (srv/master.d: ext_pillar), also beside a top file of the
# site's own: srv/master.d serves this folder once more as `halocline`. Of two equal targets Salt keeps the later, so
# these are none that a site would write; their order lets the site's own pillar win.
base:
  'E@.':
    - match: compound
    - order: -2
    - ceph.minions
    - ceph.defaults
    - ceph.health
    - ceph.tunings
  'E@. and G@os_family:Debian':
    - match: compound
    - order: -2
    - ceph.os.debian
  'E@. and G@os_family:Suse':
    - match: compound
    - order: -2
    - ceph.os.suse
  'E@. and G@os_family:RedHat':
    - match: compound
    - order: -2
    - ceph.os.redhat
  'E@.+':
    - match: compound
    - order: -1
    - ceph.site
