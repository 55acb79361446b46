# NFS servers alone, as in ceph.stage.services.
{% with stage = 'ganesha' %}{% include 'ceph/stage/services.j2' %}{% endwith %}
