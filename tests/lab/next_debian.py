"""Ceph of Debian's next release on the lab's hosts, which have an older systemd.

Newer libraries want a systemd that needs a kernel with one hierarchy of control groups. The one that runs is given out
for it, with its files as they are; users that newer packages bring, in a form of later years, nobody here needs. Salt
runs from a folder of its own, by Debian 12's Python, which stays installed and is named to it before.
"""

from concurrent.futures import ThreadPoolExecutor

from product import Product

# The release file of a mirror that is seldom brought up to date has expired.
SOURCE = "deb [check-valid-until=no] http://deb.debian.org/debian forky main"
FILE = "/etc/apt/sources.list.d/next.list"
PYTHON = "ln -sf /usr/bin/python3.11 /opt/salt/bin/python3 && /opt/salt/bin/python3 -c 'import salt'"
READY = r"""
set -e
for name in systemd systemd-sysv libsystemd-shared libpam-systemd udev; do
    root=/tmp/repacked/$name
    mkdir -p $root/DEBIAN
    dpkg-query --listfiles $name | while read -r path; do
        case "$path" in /etc/* | /var/*) continue ;; esac
        [ ! -d "$path" ] || continue
        mkdir -p "$root/usr$(dirname "${path#/usr}")"
        cp -a "$path" "$root/usr${path#/usr}"
    done
    form='Package: ${Package}\nVersion: 262-99\nArchitecture: ${Architecture}\nMulti-Arch: ${Multi-Arch}\n'
    form="$form"'Provides: ${Provides}\nMaintainer: lab\nDescription: repacked\n'
    dpkg-query --show --showformat "$form" $name | sed 's/ (= [^)]*)/ (= 262-99)/g; /^[^ ]*: $/d' >$root/DEBIAN/control
done
users=/tmp/repacked/systemd/usr/bin/systemd-sysusers
mv $users $users.own
printf '#!/bin/sh\n/usr/bin/systemd-sysusers.own "$@" || true\n' >$users
chmod +x $users
for root in /tmp/repacked/*; do dpkg-deb --build --root-owner-group $root $root.deb >/dev/null; done
dpkg --force-confold --force-depends --install /tmp/repacked/*.deb >/dev/null 2>&1
apt-get -qq check
printf 'force-overwrite\nforce-confold\nforce-unsafe-io\n' >/etc/dpkg/dpkg.cfg.d/lab
"""


def ready(product: Product) -> None:
    """Make hosts take such packages; nothing of Ceph is installed yet."""
    on_all(product, PYTHON)
    on_all(product, READY)


def on_all(product: Product, script: str) -> None:
    """Run a script on all hosts, side by side."""
    hosts = list(product.session.hosts)
    with ThreadPoolExecutor() as pool:
        list(pool.map(lambda host: product.run(host, script, limit=1200), hosts))
