#!yaml
# Kernel settings as TuneD profiles. configure chooses one for each host by its role and disks (ceph:tuning); a site
# chooses otherwise with `ceph: {tuning: NAME}` (or none) under stack/ceph/, and adds settings of its own in this form:
#   KIND of setting, its key, value, meaning, source; price: risky, applied only where ceph:tunings_allowed names its id; least: a host that has
#   more keeps it; devices: vendor:device of the ports that have this PCI register, the others are left alone.
# What a host's kernel or hardware lacks is reported and skipped.
ceph_tunings:
  ceph-latency:
    summary: monitors, managers, metadata servers and gateways, which answer small messages soon
    include: latency-performance
    settings:
      - {id: somaxconn, sysctl: net.core.somaxconn, value: '2048', least: true,
         meaning: 'connections that wait to be accepted', source: 'SUSE, IO500 at SC19; since 5.4 kernels begin with 4096'}
      - {id: aio, sysctl: fs.aio-max-nr, value: '1048576', least: true,
         meaning: 'asynchronous requests of all processes', source: 'Ceph, Hardware Recommendations; ceph-osd packages set it'}
  ceph-throughput:
    summary: OSD nodes with hard disks, which move large amounts
    include: throughput-performance
    settings:
      - {id: aio, sysctl: fs.aio-max-nr, value: '1048576', least: true,
         meaning: 'asynchronous requests of all processes; an OSD takes about 3000', source: 'Ceph, Hardware Recommendations; ceph-osd packages set it'}
      - {id: pid_max, sysctl: kernel.pid_max, value: '4194304', least: true,
         meaning: 'threads; a node of many OSDs recovers with tens of thousands', source: 'Ceph, Hardware Recommendations'}
      - {id: read_ahead, disk: read_ahead_kb, value: '4096', meaning: 'KiB read ahead of sequential reads', source: 'TuneD, throughput-performance'}
  ceph-flash:
    summary: OSD nodes with flash alone; the set of SUSE's IO500 entry at SC19
    include: null
    settings:
      - {id: tcp_timestamps, sysctl: net.ipv4.tcp_timestamps, value: '1', meaning: 'round-trip times are measured', source: 'SUSE, IO500 at SC19'}
      - {id: tcp_sack, sysctl: net.ipv4.tcp_sack, value: '1', meaning: 'lost segments alone are sent again', source: 'SUSE, IO500 at SC19'}
      - {id: rmem_max, sysctl: net.core.rmem_max, value: '2147483647', meaning: 'bytes of a receive buffer at most', source: 'SUSE, IO500 at SC19'}
      - {id: wmem_max, sysctl: net.core.wmem_max, value: '2147483647', meaning: 'bytes of a send buffer at most', source: 'SUSE, IO500 at SC19'}
      - {id: somaxconn, sysctl: net.core.somaxconn, value: '2048', least: true,
         meaning: 'connections that wait to be accepted', source: 'SUSE, IO500 at SC19; since 5.4 kernels begin with 4096'}
      - {id: tcp_low_latency, sysctl: net.ipv4.tcp_low_latency, value: '1',
         meaning: 'latency before throughput; newer kernels lack it', source: 'SUSE, IO500 at SC19'}
      - {id: tcp_fastopen, sysctl: net.ipv4.tcp_fastopen, value: '1', meaning: 'data in the first segment, as a client', source: 'SUSE, IO500 at SC19'}
      - {id: tcp_rmem, sysctl: net.ipv4.tcp_rmem, value: '10240 87380 2147483647',
         meaning: 'bytes of a TCP receive buffer: least, at first, most', source: 'SUSE, IO500 at SC19'}
      - {id: tcp_wmem, sysctl: net.ipv4.tcp_wmem, value: '10240 87380 2147483647', meaning: 'the same for sending', source: 'SUSE, IO500 at SC19'}
      - {id: netdev_max_backlog, sysctl: net.core.netdev_max_backlog, value: '250000', meaning: 'frames that wait for a CPU', source: 'SUSE, IO500 at SC19'}
      - {id: aio, sysctl: fs.aio-max-nr, value: '1048576', least: true,
         meaning: 'asynchronous requests of all processes', source: 'Ceph, Hardware Recommendations; ceph-osd packages set it'}
      - {id: thp, sysfs: /sys/kernel/mm/transparent_hugepage/enabled, value: never,
         meaning: 'no transparent huge pages: their compaction stalls', source: 'SUSE, IO500 at SC19'}
      - {id: rps, port: rps_cpus, value: local_cpus, meaning: 'received frames go to the CPUs next to the port', source: 'SUSE, IO500 at SC19'}
      - {id: ring, port: ring, value: 'rx 8192 tx 8192', meaning: 'frames that a port holds', source: 'SUSE, IO500 at SC19'}
      # Device Control (CAP_EXP+8), bits 14 to 12 alone: the largest read request, 5 for 4096 bytes. By vendor and device: ConnectX-4, -4 Lx, -5, -5 Ex,
      # -6, -6 Dx, -6 Lx, -7.
      - {id: pci_read_request, port: pci, value: 'CAP_EXP+8.w=5000:7000',
         devices: ['15b3:1013', '15b3:1015', '15b3:1017', '15b3:1019', '15b3:101b', '15b3:101d', '15b3:101f', '15b3:1021'],
         meaning: 'a port reads 4 KiB of memory at a time', source: 'SUSE, IO500 at SC19; PCI Express Base Specification, 7.5.3.4; pci.ids',
         price: 'long reads keep other devices behind the same bridge waiting'}
      - {id: scheduler, disk: scheduler, value: none, meaning: 'requests go to the drive as they come', source: 'SUSE, IO500 at SC19'}
      - {id: drive_cache, disk: drive, value: '-W1 -A1', meaning: 'write cache and look-ahead of the drive',
         source: 'SUSE, IO500 at SC19', price: 'a drive without power-loss protection loses what it acknowledged'}
      - {id: mitigations, cmdline: mitigations=off,
         meaning: 'no guards against CPU side channels', source: 'SUSE, IO500 at SC19', price: 'any program on the host can read what others keep in memory'}
      - {id: idle_poll, cmdline: idle=poll, meaning: 'idle CPUs never sleep', source: 'SUSE, IO500 at SC19', price: 'full power and heat at rest, no turbo'}
      - {id: cstates, cmdline: intel_idle.max_cstate=0 processor.max_cstate=0,
         meaning: 'idle CPUs wake at once', source: 'SUSE, IO500 at SC19', price: 'more power at rest'}
      - {id: blk_mq, cmdline: scsi_mod.use_blk_mq=1, meaning: 'SCSI with several queues; newer kernels know nothing else',
         source: 'SUSE, IO500 at SC19', price: 'a boot parameter that newer kernels ignore'}
  ceph-load:
    summary: load generators of a benchmark, chosen by name alone
    include: throughput-performance
    settings:
      - {id: pause, port: pause, value: 'rx on', meaning: 'a port stops sending when the switch asks', source: 'SUSE, IO500 at SC19'}
      - {id: ring, port: ring, value: 'rx 4078 tx 4078', meaning: 'frames that a port holds', source: 'SUSE, IO500 at SC19'}
