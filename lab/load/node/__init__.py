"""What runs on the clients' host: needs Python, Ceph's bindings, ceph-fuse and boto3, and nothing else of the lab."""
