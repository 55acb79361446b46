"""Network planner: from ports to bonds, VLANs, addresses and switch configuration."""
