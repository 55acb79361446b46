# The floor of a run with nothing to do (tests/bench/second.py): one step, one nop, on every minion.
bench-floor:
  salt.state:
    - tgt: '*'
    - sls: bench.nop
