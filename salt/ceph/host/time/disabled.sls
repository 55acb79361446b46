# The site keeps its hosts' time itself.
ceph-host-time-disabled:
  test.nop: []
