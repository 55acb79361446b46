# The kernel settings that this host's role and hardware ask for, as a TuneD profile; none of ours where none is asked.
ceph-host-tunings-packages:
  pkg.installed:
    - pkgs: {{ pillar['ceph_os']['packages']['tunings'] | tojson }}
    - onlyif:
      - fun: tunings.wanted

ceph-host-tunings-applied:
  tunings.applied:
    - require:
      - pkg: ceph-host-tunings-packages
