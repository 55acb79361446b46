bench-nop:
  test.nop: []
