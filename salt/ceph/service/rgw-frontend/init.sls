# One address before the gateways: HAProxy and keepalived in units of our own, beside those that a site may run.
include:
  - ceph.service.rgw-frontend.haproxy
  - ceph.service.rgw-frontend.keepalived

ceph-service-rgw-frontend-packages:
  pkg.installed:
    - pkgs: {{ pillar['ceph_os']['packages']['rgw-frontend'] | tojson }}
    - require_in:
      - sls: ceph.service.rgw-frontend.haproxy
      - sls: ceph.service.rgw-frontend.keepalived
