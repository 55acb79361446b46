# What stands before configure has run: nobody is anything yet.
ceph:
  generation: null
  members: {all: [], master: [], admin: [], mon: [], mgr: [], storage: []}
  expected_osds: 0
