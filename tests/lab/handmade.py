"""A cluster by hand: plain commands of Ceph's, as docs.ceph.com, install/manual-deployment gives them."""

# Keys and the store of a cluster's first monitor, for a script that sets $name before; {add} says where it listens.
MONITOR = r"""
cd /root
admin=/etc/ceph/ceph.client.admin.keyring boot=/var/lib/ceph/bootstrap-osd/ceph.keyring
ceph-authtool -C mon.keyring --gen-key -n mon. --cap mon 'allow *'
ceph-authtool -C $admin --gen-key -n client.admin --cap mon 'allow *' --cap osd 'allow *' --cap mgr 'allow *'
mkdir -p $(dirname $boot)
ceph-authtool -C $boot --gen-key -n client.bootstrap-osd --cap mon 'profile bootstrap-osd'
ceph-authtool mon.keyring --import-keyring $admin
ceph-authtool mon.keyring --import-keyring $boot
monmaptool --create {add} --fsid {fsid} monmap
mkdir -p /var/lib/ceph/mon/ceph-$name
ceph-mon --mkfs -i $name --monmap monmap --keyring mon.keyring
chown -R ceph:ceph /var/lib/ceph/mon
"""
# A monitor and a manager; daemons start at boot.
SCRIPT = (
    r"""
set -e
name=$(hostname -s)
address=$(hostname -I | tr ' ' '\n' | grep '^{public}')
cat >/etc/ceph/ceph.conf <<EOF
# made by hand
[global]
fsid = {fsid}
mon initial members = $name
mon host = $address
public network = {public}.0/24
osd pool default size = 1
osd pool default min size = 1
mon data avail warn = 1
[osd]
bluestore fsck on mkfs = false
EOF
"""
    + MONITOR.replace("{add}", '--addv $name "[v2:$address:3300,v1:$address:6789]"')
    + r"""
systemctl enable --now ceph-mon@$name
ceph --connect-timeout 60 -s
ceph config set global mon_allow_pool_size_one true
ceph config set mon auth_allow_insecure_global_id_reclaim false
ceph config set osd osd_max_scrubs 2
folder=/var/lib/ceph/mgr/ceph-$name
mkdir -p $folder
ceph auth get-or-create mgr.$name mon 'allow profile mgr' osd 'allow *' mds 'allow *' >$folder/keyring
chown -R ceph:ceph $folder
systemctl enable --now ceph-mgr@$name
rm mon.keyring monmap
"""
)
# The same page's long form: one OSD on a disk or partition.
OSD = r"""
set -e
fsid=$(cat /proc/sys/kernel/random/uuid) key=$(ceph-authtool --gen-print-key)
id=$(echo "{{\"cephx_secret\": \"$key\"}}" | ceph osd new $fsid -i -)
folder=/var/lib/ceph/osd/ceph-$id
mkdir -p $folder
ceph-authtool --create-keyring $folder/keyring --name osd.$id --add-key $key
ln -s {device} $folder/block
chown -R ceph:ceph $folder
chown ceph:ceph {device}
ceph-osd --id $id --mkfs --osd-uuid $fsid --osd-objectstore bluestore --setuser ceph --setgroup ceph
systemctl enable --now ceph-osd@$id
"""
DISK = "lsblk -dno NAME,ROTA | awk '$2 == 1 && ++found == {number} {{print $1; exit}}'"
PARTITION = "sgdisk --new=1:0:0 {disk} >/dev/null; until [ -b {disk}p1 ]; do sleep 0.1; done"
# When each daemon of Ceph's on a host was started, as the kernel has it, and under which number.
STARTED = "ps -C ceph-mon,ceph-mgr,ceph-osd -o pid=,lstart=,args= | sort"
HASHES = "find /etc/ceph -type f -exec sha256sum {} + | sort"
