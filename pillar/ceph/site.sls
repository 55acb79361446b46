# The site's own settings, those of ceph/defaults.sls that are to be otherwise: put a file of the same name into the
# master's own pillar root, under ceph/. (What configure writes, and stack/ceph/, come after it.)
{}
