"""Who a pretended disk is: serial number, WWN, place, as udev would have read them from a real one.

All derived from cluster, host, slot and generation, so they are the same at each `up` and no two are alike;
a disk that replaces another in its slot is the next generation.
"""

import base64
import hashlib

from lab.cluster import Model

SEAGATE, MICRON = "5000c500", "500a0751"  # NAA and IEEE company part of a hard disk's and an SSD's WWN


def describe(cluster: str, host: str, slot: int, generation: int, model: Model) -> dict:
    """udev's properties of the disk and its links below /dev, as the node's own helper wants them."""
    digest = hashlib.sha256(f"{cluster}/{host}/{slot}/{generation}".encode()).digest()
    serial = model.serial + base64.b32encode(digest[:5]).decode()
    wwn = f"0x{SEAGATE if model.rotational else MICRON}{digest[5:9].hex()}"
    bus, path, links = _PLACES[model.transport](slot, model.model, serial, wwn, digest)
    if model.expander:  # udev names what a host's port leads to, which is then the shelf's
        path = path.replace("-sas-phy", f"-sas-exp{model.expander}-phy")
    wwn = f"eui.{_eui(digest)}" if model.transport == "nvme" else wwn
    properties = {
        "ID_BUS": bus,
        "ID_TYPE": "disk",
        "ID_VENDOR": model.vendor,
        "ID_MODEL": model.model,
        "ID_SERIAL": f"{model.model}_{serial}",
        "ID_SERIAL_SHORT": serial,
        "ID_WWN": wwn,
        "ID_PATH": path,
        "ID_PATH_TAG": path.replace(":", "_").replace(".", "_"),
    }
    links = [f"disk/by-id/{link}" for link in links] + [f"disk/by-path/{path}"]
    return {"properties": properties, "links": links}


def _eui(digest: bytes) -> str:
    return "00253851" + digest[5:9].hex()


def _sata(slot: int, model: str, serial: str, wwn: str, _digest: bytes) -> tuple[str, str, list[str]]:
    return "ata", f"pci-0000:00:17.0-ata-{slot + 1}", [f"ata-{model}_{serial}", f"wwn-{wwn}"]


def _sas(slot: int, _model: str, _serial: str, wwn: str, _digest: bytes) -> tuple[str, str, list[str]]:
    return "scsi", f"pci-0000:5c:00.0-sas-phy{slot}-lun-0", [f"scsi-3{wwn[2:]}", f"wwn-{wwn}"]


def _nvme(slot: int, model: str, serial: str, _wwn: str, digest: bytes) -> tuple[str, str, list[str]]:
    return (
        "nvme",
        f"pci-0000:{0x10 + slot:02x}:00.0-nvme-1",
        [f"nvme-{model}_{serial}", f"nvme-eui.{_eui(digest)}"],
    )


_PLACES = {"sata": _sata, "sas": _sas, "nvme": _nvme}
