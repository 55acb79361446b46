"""Load on a lab's cluster: clients that write and read back all the time, and a judge of what became of it."""
