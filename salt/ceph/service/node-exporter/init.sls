ceph-service-node-exporter-packages:
  pkg.installed:
    - pkgs: {{ pillar['ceph_os']['packages']['node-exporter'] | tojson }}

ceph-service-node-exporter-running:
  service.running:
    - name: {{ pillar['ceph_os']['node-exporter']['service'] }}
    - enable: True
    - require:
      - pkg: ceph-service-node-exporter-packages
