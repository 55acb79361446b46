# The Ceph Dashboard alone, as in ceph.stage.services.
{% with stage = 'dashboard' %}{% include 'ceph/stage/services.j2' %}{% endwith %}
