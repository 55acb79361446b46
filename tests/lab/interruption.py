"""A deploy that is killed while it makes OSDs, on each node in another way, and what the next one has to make of it."""

from collections.abc import Sequence
from dataclasses import dataclass

from product import DEPLOY, STORAGE, Product, planned, until

from lab.containers import Done

# A program of the OSD maker that at its first call with these words does what it is told: `$real "$@"` is the program,
# $PPID the maker, Salt's process with all its threads.
TRAP = r"""
cat >/usr/local/sbin/PROGRAM <<'END'
#!/bin/sh
real=$(PATH=/usr/sbin:/usr/bin:/sbin:/bin command -v PROGRAM)
case " $* " in
*" WORDS"*) mkdir /run/trapped 2>/dev/null || exec $real "$@"; WHAT ;;
*) exec $real "$@" ;;
esac
END
chmod 755 /usr/local/sbin/PROGRAM
"""
# The Python of `ceph` asks the monitors: the maker is killed once they have given it new OSDs.
ASKED_TRAP = r"""
{ echo '#!/usr/local/sbin/trapped-python'; tail -n +2 /usr/bin/ceph; } >/usr/local/sbin/ceph
cat >/usr/local/sbin/trapped-python <<'END'
#!/bin/sh
case "$1" in *halocline_rados.py) ;; *) exec /usr/bin/python3 "$@" ;; esac
asked=$(cat)
case "$asked" in *'"osd new"'*) mkdir /run/trapped 2>/dev/null && trapped=yes ;; esac
printf %s "$asked" | /usr/bin/python3 "$@"
[ -z "$trapped" ] || kill -9 $PPID
END
chmod 755 /usr/local/sbin/ceph /usr/local/sbin/trapped-python
"""
KILLED = "kill -9 $PPID"
AFTER_NEW = "after osd new"
FAULTS = {
    "after partitioning": ("sgdisk", "--clear", f'$real "$@"; {KILLED}'),
    "during mkfs": ("ceph-osd", "--mkfs", f'$real "$@" & sleep 0.2; kill -9 $!; {KILLED}'),
    "after mkfs": ("ceph-osd", "--mkfs", f'$real "$@"; {KILLED}'),
    "before enabling": ("systemctl", "enable ceph-osd@", KILLED),
    "with all of Salt": ("ceph-osd", "--mkfs", "systemctl kill --kill-whom=all --signal=KILL salt-minion"),
}
FIRST = (AFTER_NEW, "during mkfs", "with all of Salt")  # a node each


@dataclass(frozen=True)
class Interrupted:
    """How a deploy ended in which a fault waited on each node, and what was there then."""

    done: Done
    happened: tuple[str, ...]  # hosts on which the fault did happen
    whole: bool


def trap(product: Product, host: str, fault: str) -> None:
    if fault == AFTER_NEW:
        product.run(host, ASKED_TRAP)
    else:
        program, words, what = FAULTS[fault]
        product.run(host, TRAP.replace("PROGRAM", program).replace("WORDS", words).replace("WHAT", what))


def interrupted(product: Product, faults: Sequence[str]) -> Interrupted:
    """Deploy with a fault on each storage node; nodes are mended and their traps away afterwards."""
    for host, fault in zip(STORAGE, faults, strict=True):
        trap(product, host, fault)
    done = product.stage(DEPLOY, check=False)
    happened = tuple(host for host in STORAGE if product.run(host, "ls -d /run/trapped", check=False).code == 0)
    answer = Interrupted(done, happened, product.whole())
    for host in STORAGE:
        product.session.verb("mend", host)
        untrap(product, host)
    return answer


def untrap(product: Product, host: str) -> None:
    """Take every trap away."""
    names = {program for program, *_ in FAULTS.values()} | {"ceph", "trapped-python"}
    programs = " ".join(f"/usr/local/sbin/{name}" for name in sorted(names))
    product.run(host, f"rm -rf /run/trapped {programs}")


def replanned(product: Product) -> None:
    """What an interrupted run left on the disks is its OSDs' own: looked at and planned again, they stay."""
    before = {host: set(osds) for host, osds in planned(product).items()}
    until(lambda: product.stage("ceph.stage.discovery", check=False).code == 0, 120, "discovery ends well")
    (populate,) = (command for command in product.way.commands if "proposal.populate" in command)
    product.type(populate)
    assert {host: set(osds) for host, osds in planned(product).items()} == before
    product.stage("ceph.stage.configure")
