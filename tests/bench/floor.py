"""The floor: the cluster of a lab made by bare shell, with the Ceph-level commands that deploying takes and no Salt.

The same nodes, disks, partitions and daemons as the product makes, as many OSDs of a node at once, until the cluster
is whole by the same judgement.
"""

import json
import time
import uuid
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

from lab.session import Session

KEYS = r"""
set -e
rm -rf /run/floor; mkdir -p /run/floor; cd /run/floor; exec 3>&1 >/dev/null
ceph-authtool -C k --gen-key -n mon. --cap mon 'allow *'
ceph-authtool k --gen-key -n client.admin --cap mon 'allow *' --cap mgr 'allow *' --cap osd 'allow *' \
    --cap mds 'allow *'
ceph-authtool k --gen-key -n client.bootstrap-osd --cap mon 'profile bootstrap-osd'
for mgr in MGRS; do
    ceph-authtool k --gen-key -n mgr.$mgr --cap mon 'allow profile mgr' --cap osd 'allow *' --cap mds 'allow *'
done
for name in client.admin client.bootstrap-osd $(for mgr in MGRS; do echo mgr.$mgr; done); do
    printf '[%s]\n\tkey = %s\n' $name "$(ceph-authtool -p -n $name k)" >$name
done
monmaptool --create --fsid FSID --set-min-mon-release pacific MONITORS monmap >/dev/null
tar -c . | base64 -w0 >&3
"""
UNPACK = r"""
mkdir -p /run/floor /etc/ceph
echo PACKED | base64 -d | tar -x -C /run/floor
cp /run/floor/client.admin /etc/ceph/ceph.client.admin.keyring
cat >/etc/ceph/ceph.conf <<'END'
CONF
END
"""
MON = r"""
set -e
name=$(hostname)
chmod 755 /run/floor; chmod 644 /run/floor/k
install -d -o ceph -g ceph /var/lib/ceph/mon/ceph-$name
ceph-mon --mkfs --id $name --monmap /run/floor/monmap --keyring /run/floor/k --setuser ceph --setgroup ceph
systemctl enable -q ceph-mon@$name; systemctl start ceph-mon@$name
"""
MGR = r"""
set -e
name=$(hostname)
install -d -o ceph -g ceph /var/lib/ceph/mgr/ceph-$name
install -o ceph -g ceph -m 600 /run/floor/mgr.$name /var/lib/ceph/mgr/ceph-$name/keyring
systemctl enable -q ceph-mgr@$name; systemctl start ceph-mgr@$name
"""
# The partitions of a host, one write a disk; then its OSDs, one a line of the list: uuid, then the parts' PARTUUIDs. A
# name that udev lost is one more look away, as for the product.
OSDS = r"""
set -e
TABLES
tries=0
for part in PARTS; do
    until [ -b /dev/disk/by-partuuid/$part ]; do
        sleep 0.1; tries=$((tries + 1))
        [ $tries != 30 ] || for disk in DISKS; do partx --update $disk || true; done
    done
done
cat >/run/floor/one <<'END'
set -e
uuid=$1 by=/dev/disk/by-partuuid
for part in $2 $3 $4; do until [ -b $by/$part ]; do sleep 0.1; done; done
key=$(ceph-authtool --gen-print-key)
id=$(printf '{"cephx_secret": "%s"}' "$key" | ceph --name client.bootstrap-osd \
    --keyring /run/floor/client.bootstrap-osd osd new $uuid -i -)
folder=/var/lib/ceph/osd/ceph-$id
install -d -o ceph -g ceph $folder
printf '[osd.%s]\n\tkey = %s\n' $id "$key" >$folder/keyring
ln -s $by/$2 $folder/block
ln -s $by/$3 $folder/block.db
ln -s $by/$4 $folder/block.wal
chown -L ceph:ceph $folder/*
ceph-osd --id $id --mkfs --osd-uuid $uuid --osd-objectstore bluestore --setuser ceph --setgroup ceph
systemctl start ceph-osd@$id
END
xargs -P ATONCE -L 1 sh /run/floor/one <<'END'
LIST
END
systemctl enable -q $(ls /var/lib/ceph/osd | sed s/ceph-/ceph-osd@/)
"""
ROLES = ("data", "db", "wal")
LIMIT = 3600  # seconds one deploy may take: hundreds of OSDs start on few processors


@dataclass
class Floor:
    """A lab's nodes, and what of the product's plan the floor makes again.

    planned: OSDs of each host as proposal.json has them. members, monitors, fsid: as minions are told. conf: ceph.conf.
    at_once: OSDs of one node made side by side.
    """

    session: Session
    planned: dict[str, list[dict]]
    members: dict[str, list[str]]
    monitors: list[dict]
    fsid: str
    conf: str
    at_once: int

    def deploy(self) -> dict[str, float]:
        """Make the cluster; seconds from the start until each part was done."""
        start, times = time.monotonic(), {}

        def done(part: str) -> None:
            times[part] = time.monotonic() - start

        addresses = " ".join(f"--addv {each['name']} {each['addrs']}" for each in self.monitors)
        keys = KEYS.replace("MGRS", " ".join(self.members["mgr"])).replace("FSID", self.fsid)
        packed = self.session.run(self.session.master, keys.replace("MONITORS", addresses)).out
        unpack = UNPACK.replace("PACKED", packed).replace("CONF", self.conf)
        self._all({host: unpack + (MON if host in self.members["mon"] else "") for host in self.members["all"]})
        self.session.run(self.session.master, "ceph auth import -i /run/floor/k")
        done("monitors")
        self._all(dict.fromkeys(self.members["mgr"], MGR))
        done("managers")
        self._all({host: self._osds(osds) for host, osds in self.planned.items()})
        done("OSDs")
        while not self.whole():
            time.sleep(0.5)
        done("whole")
        return times

    def whole(self) -> bool:
        """What the product's last step waits for."""
        status = json.loads(self.session.run(self.session.master, "ceph --format json status").out)
        osds, groups = status["osdmap"], status["pgmap"]
        count = sum(map(len, self.planned.values()))
        return (
            status["health"]["status"] == "HEALTH_OK"
            and status["mgrmap"]["available"]
            and count == osds["num_osds"] == osds["num_up_osds"] == osds["num_in_osds"]
            and [state["state_name"] for state in groups.get("pgs_by_state", [])] == ["active+clean"]
        )

    def _osds(self, osds: list[dict]) -> str:
        """The script that makes a host's OSDs."""
        tables: dict[str, list[str]] = {}
        rows = []
        for osd in osds:
            row = [osd["uuid"]]
            for role in ROLES:
                words = tables.setdefault(osd[role], [])
                at = len(words) // 2 + 1
                row.append(str(uuid.uuid4()))
                end = f"+{osd[f'{role}_size'] // 1024}K" if role != "data" else "0"
                words += [f"--new={at}:0:{end}", f"--partition-guid={at}:{row[-1]}"]
            rows.append(" ".join(row))
        made = "\n".join(f"sgdisk --clear {' '.join(words)} {disk} >/dev/null" for disk, words in tables.items())
        script = OSDS.replace("TABLES", made).replace("ATONCE", str(self.at_once)).replace("DISKS", " ".join(tables))
        script = script.replace("PARTS", " ".join(row.partition(" ")[2] for row in rows))
        return script.replace("LIST", "\n".join(rows))

    def _all(self, scripts: dict[str, str]) -> None:
        """Run a script on each host, all hosts at once."""
        with ThreadPoolExecutor(len(scripts)) as pool:
            list(pool.map(lambda host: self.session.run(host, ["sh", "-c", scripts[host]], limit=LIMIT), scripts))
