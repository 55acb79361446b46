"""Planning of networks: ports in, bonds, VLANs, addresses and what the switches must be told out."""
