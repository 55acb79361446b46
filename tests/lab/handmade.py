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
[client.rgw.$name]
rgw frontends = beast port=7480
[client.rgw.$name.rgw0]
rgw frontends = beast endpoint=$address:8081
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
# As ceph-disk laid one out and ceph-volume took it over (docs.ceph.com, ceph-volume/simple): a mounted partition for
# the folder, one for the data, both with ceph-disk's types, and the record that the scan writes.
SIMPLE = r"""
set -e
sgdisk --new=1:0:+200M --change-name='1:ceph data' --typecode=1:4fbd7e29-9d25-41b8-afd0-062c0ceff05d \
    --new=2:0:+40G --change-name='2:ceph block' --typecode=2:cafecafe-9b03-4f30-b4c6-b4b80ceff106 {disk} >/dev/null
until blockdev --getsize64 {disk}p1 {disk}p2 >/dev/null 2>&1; do sleep 0.1; done  # a name may be there before the disk
mkfs.ext4 -q {disk}p1
fsid=$(cat /proc/sys/kernel/random/uuid) key=$(ceph-authtool --gen-print-key)
id=$(echo "{{\"cephx_secret\": \"$key\"}}" | ceph osd new $fsid -i -)
folder=/var/lib/ceph/osd/ceph-$id
mkdir -p $folder
mount {disk}p1 $folder
ceph-authtool --create-keyring $folder/keyring --name osd.$id --add-key $key
ln -s {disk}p2 $folder/block
chown -R ceph:ceph $folder
chown ceph:ceph {disk}p2
ceph-osd --id $id --mkfs --osd-uuid $fsid --osd-objectstore bluestore --setuser ceph --setgroup ceph
ceph-volume simple scan $folder
test -f /etc/ceph/osd/$id-$fsid.json
systemctl enable ceph-volume@simple-$id-$fsid
systemctl enable --runtime --now ceph-osd@$id
"""
# The same page's metadata servers: one of its host's name, one of another, for a file system of other names than ours.
SERVERS = r"""
set -e
ceph osd pool create home_meta 8
ceph osd pool create home_files 8
ceph fs new home home_meta home_files
for server in $(hostname -s) spare; do
    folder=/var/lib/ceph/mds/ceph-$server
    mkdir -p $folder
    ceph-authtool --create-keyring $folder/keyring --gen-key -n mds.$server
    ceph auth add mds.$server osd 'allow rwx' mds 'allow *' mon 'allow profile mds' -i $folder/keyring
    chown -R ceph:ceph $folder
    systemctl enable --now ceph-mds@$server
done
"""
# As docs.ceph.com, man/8/radosgw: a gateway of our name, and one as ceph-ansible names its own.
GATEWAYS = r"""
set -e
for gateway in rgw.$(hostname -s) rgw.$(hostname -s).rgw0; do
    folder=/var/lib/ceph/radosgw/ceph-$gateway
    mkdir -p $folder
    ceph auth get-or-create client.$gateway mon 'allow rw' osd 'allow rwx' >$folder/keyring
    chown -R ceph:ceph $folder
    systemctl enable --now ceph-radosgw@$gateway
done
"""
DISK = "lsblk -dno NAME,ROTA | awk '$2 == 1 && ++found == {number} {{print $1; exit}}'"
FLASH = "lsblk -dno NAME,ROTA | awk '$2 == 0 {print $1; exit}'"
PARTITION = "sgdisk --new=1:0:0 {disk} >/dev/null; until [ -b {disk}p1 ]; do sleep 0.1; done"
# When each daemon of Ceph's on a host was started, as the kernel has it, and under which number.
STARTED = "ps -C ceph-mon,ceph-mgr,ceph-osd,ceph-mds,radosgw -o pid=,lstart=,args= | sort"
HASHES = "find /etc/ceph -type f -exec sha256sum {} + | sort"
KEYRINGS = "find /var/lib/ceph -type f -name '*keyring' -exec stat -c '%n %U %a %y' {} + -exec sha256sum {} + | sort"
