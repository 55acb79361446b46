# What the roles of this host bring up once monitors run: its manager, crash reports, OSDs.
include: {{ pillar['ceph']['daemons'] | tojson }}
