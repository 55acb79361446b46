# The programs with which a host of these roles uses the cluster.
{% for role in pillar['ceph']['services']['clients']['roles'] %}
ceph-service-clients-{{ role }}:
  pkg.installed:
    - pkgs: {{ pillar['ceph_os']['packages'][role] | tojson }}
{% endfor %}
