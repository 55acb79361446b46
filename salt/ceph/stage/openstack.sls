# What OpenStack needs alone, as in ceph.stage.services.
{% with stage = 'openstack' %}{% include 'ceph/stage/services.j2' %}{% endwith %}
