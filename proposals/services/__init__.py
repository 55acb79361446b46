"""What stands beside monitors, managers and OSDs: file systems, gateways, the dashboard, monitoring, keys of clients.

One file a service, planning in plain Python: from roles, hosts and the site's settings to what each minion is told,
which keys there are, which pools. ``table`` joins them, ``planning`` asks them all. Applied by
``salt/ceph/service/PART`` and by ``salt-run service.up``, the step of ``ceph.stage.services`` and of each service's own
stage.
"""
