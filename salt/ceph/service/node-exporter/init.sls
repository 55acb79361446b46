ceph-service-node-exporter-packages:
  pkg.installed:
    - pkgs: {{ pillar['ceph_os']['packages']['node-exporter'] | tojson }}

ceph-service-node-exporter-running:
  host_daemon.running:
    - name: {{ pillar['ceph_os']['node-exporter']['service'] }}
    - files: [{{ pillar['ceph_os']['node-exporter']['arguments'] }}]
    - require:
      - pkg: ceph-service-node-exporter-packages
