# Monitoring alone, as in ceph.stage.services.
{% with stage = 'monitoring' %}{% include 'ceph/stage/services.j2' %}{% endwith %}
