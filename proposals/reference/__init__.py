"""Reference deployments: the disks and ports of published clusters, for tests, lab, docs and benchmark."""
