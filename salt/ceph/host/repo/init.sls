# The package sources that the site names; none where it names none.
{%- for name, arguments in (pillar['ceph_repos'] or {}) | dictsort %}
ceph-host-repo-{{ name }}:
  pkgrepo.managed:
  {%- for argument in arguments | dictsort %}
    - {{ argument[0] }}: {{ argument[1] | tojson }}
  {%- endfor %}
{%- endfor %}
