# Object gateways alone, as in ceph.stage.services.
{% with stage = 'radosgw' %}{% include 'ceph/stage/services.j2' %}{% endwith %}
