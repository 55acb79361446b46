# iSCSI gateways alone, as in ceph.stage.services.
{% with stage = 'iscsi' %}{% include 'ceph/stage/services.j2' %}{% endwith %}
