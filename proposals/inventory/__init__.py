"""What hosts are: their disks as discovery saw them, checked across disks and hosts, kept, compared."""
