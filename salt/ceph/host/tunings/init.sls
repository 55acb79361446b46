# The kernel settings that this host's role and hardware ask for, as a TuneD profile; none of ours where none is asked.
ceph-host-tunings-packages:
  tunings.installed:
    - pkgs: {{ pillar['ceph_os']['packages']['tunings'] | tojson }}

ceph-host-tunings-applied:
  tunings.applied:
    - require:
      - tunings: ceph-host-tunings-packages
