"""Guests of a real kernel (User Mode Linux): what containers cannot show, such as bonds, VLANs, LVM and dm-crypt."""
