# What every minion is told before the generated layers (srv/master.d: ext_pillar).
base:
  '*':
    - ceph.minions
    - ceph.defaults
    - ceph.health
  'os_family:Debian':
    - match: grain
    - ceph.os.debian
  'os_family:Suse':
    - match: grain
    - ceph.os.suse
  'os_family:RedHat':
    - match: grain
    - ceph.os.redhat
