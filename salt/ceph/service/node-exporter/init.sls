ceph-node-exporter-packages:
  pkg.installed:
    - pkgs: {{ pillar['ceph_os']['packages']['node-exporter'] | tojson }}

ceph-node-exporter-running:
  service.running:
    - name: {{ pillar['ceph_os']['node-exporter']['service'] }}
    - enable: True
    - require:
      - pkg: ceph-node-exporter-packages
