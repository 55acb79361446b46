# Hosts that use the cluster alone, as in ceph.stage.services.
{% with stage = 'clients' %}{% include 'ceph/stage/services.j2' %}{% endwith %}
