# The site keeps its hosts' time itself.
ceph-time-disabled:
  test.nop: []
