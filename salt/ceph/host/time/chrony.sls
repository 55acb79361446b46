# chrony as the distribution sets it up, with the site's sources, or the Salt master's host, added.
ceph-host-time-chrony-packages:
  pkg.installed:
    - pkgs: {{ pillar['ceph_os']['packages']['time'] | tojson }}

ceph-host-time-chrony-include:
  file.append:
    - name: {{ pillar['ceph_os']['chrony']['conf'] }}
    - text: {{ pillar['ceph_os']['chrony']['include'] | tojson }}
    - require:
      - pkg: ceph-host-time-chrony-packages

ceph-host-time-chrony-settings:
  host_time.rendered:
    - name: {{ pillar['ceph_os']['chrony']['settings'] }}
    - source: salt://ceph/host/time/files/chrony.conf.j2
    - require:
      - pkg: ceph-host-time-chrony-packages

ceph-host-time-chrony-running:
  host_daemon.running:
    - name: {{ pillar['ceph_os']['chrony']['service'] }}
    - files:
      - {{ pillar['ceph_os']['chrony']['conf'] }}
      - {{ pillar['ceph_os']['chrony']['settings'] }}
    - watch:
      - file: ceph-host-time-chrony-include
      - host_time: ceph-host-time-chrony-settings
