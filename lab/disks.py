"""The disks of the lab's hosts: sparse files below labs/NAME/disks/HOST, behind loop devices.

What a disk is stands beside its file (SLOT.json); whether it is plugged in, the kernel's loop list says.
From both comes the list that the node's own helper (image/files/usr/local/lib/lab/disks.py) works from.
"""

import json
import os
from pathlib import Path

from lab import identity, loops, store
from lab.cluster import Model, Node
from lab.commands import run
from lab.store import Lab

BOOT_OFFSET, BOOT_SIZE = 1 << 20, 512 << 20  # a boot disk's only partition: small, so nothing much is written


def folder(lab: Lab, host: str) -> Path:
    return lab.folder / "disks" / host


def mounted_folder(lab: Lab, host: str) -> Path:
    """The folder that the node sees as /etc/lab."""
    return lab.folder / "hosts" / host


def make_all(lab: Lab, host: Node) -> None:
    """Make and plug in every disk of a host."""
    for slot, model in enumerate(host.slots):
        make(lab, host.name, slot, 0, model, _mount_point(host, slot))
    write_list(lab, host.name)


def _mount_point(host: Node, slot: int) -> str | None:
    model = host.slots[slot]
    nth = host.slots[:slot].count(model)
    return model.mount[nth] if nth < len(model.mount) else None


def make(lab: Lab, host: str, slot: int, generation: int, model: Model, mount: str | None = None) -> None:
    """Make one disk (generation 0: the slot's first) and plug it in."""
    path = folder(lab, host) / f"{slot}.{generation}.img"
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("wb") as file:
        os.truncate(file.fileno(), model.size)
    if mount:
        table = f"label: gpt\nstart={BOOT_OFFSET >> 20}MiB, size={BOOT_SIZE >> 20}MiB, name={Path(mount).name}\n"
        run("sfdisk", "--quiet", path, text=table)
        run("mkfs.ext4", "-q", "-F", "-E", f"offset={BOOT_OFFSET}", path, f"{BOOT_SIZE >> 10}k")
    facts = identity.describe(lab.name, host, slot, generation, model)
    facts |= {"slot": slot, "generation": generation, "rotational": model.rotational, "mount": mount}
    facts["sector"] = model.sector
    path.with_suffix(".json").write_text(json.dumps(facts))
    loops.attach(path, model.rotational, model.sector)


def plugged(lab: Lab, host: str) -> list[dict]:
    """The disks a host has now, by slot: identity, kernel name, file."""
    disks = []
    for path, name in loops.attached(folder(lab, host)).items():
        facts = path.with_suffix(".json")
        if facts.exists():
            disks.append({**json.loads(facts.read_text()), "name": name, "file": str(path)})
    return sorted(disks, key=lambda disk: disk["slot"])


def write_list(lab: Lab, host: str) -> None:
    """Tell the node which disks are its own; its helper reads this list."""
    target = mounted_folder(lab, host) / "disks.json"
    target.parent.mkdir(parents=True, exist_ok=True)
    draft = target.with_suffix(".new")
    draft.write_text(json.dumps({"disks": plugged(lab, host)}, indent=1))
    draft.replace(target)


def remove_all(keep: frozenset[str]) -> list[str]:
    """Detach every loop device below the labs' folder but those of labs to keep; returns what was detached."""
    gone = []
    for path, name in loops.attached(store.LABS).items():
        if path.relative_to(store.LABS).parts[0] not in keep:
            loops.detach(name)
            gone.append(name)
    return gone
