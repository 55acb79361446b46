# Stage 4: all services, in the order in which they need each other.
{% with stage = 'services' %}{% include 'ceph/stage/services.j2' %}{% endwith %}
