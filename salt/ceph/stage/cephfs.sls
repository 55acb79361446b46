# File systems alone, as in ceph.stage.services.
{% with stage = 'cephfs' %}{% include 'ceph/stage/services.j2' %}{% endwith %}
