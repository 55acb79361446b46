"""How fast this host's disks are read, by fio; nothing is ever written to one."""

import json

import halocline
from salt.exceptions import CommandExecutionError

LIMIT = 60  # seconds that fio may take beyond its time
# --readonly: fio refuses every job that would write (fio(1)).
READ = ["fio", "--readonly", "--name=read", "--rw=read", "--bs=4M", "--iodepth=4", "--ioengine=libaio", "--direct=1"]


def read(seconds: int) -> dict[str, dict]:
    """Return how fast each whole disk is read from its begin, one after the other: ``{id: {mib_s, model, size}}``.

    seconds
        For each disk.

    CLI Example:

    .. code-block:: bash

        salt 'osdnode*' benchmark_disks.read 5
    """
    disks = {disk["id"]: disk for disk in __salt__["disks.inspect"]()["ceph_disks"] if disk["size"]}
    return {
        name: {
            "mib_s": _speed(disk["device"], int(seconds)),
            "model": disk.get("model") or "disk",
            "size": disk["size"],
        }
        for name, disk in sorted(disks.items())
    }


def _speed(device: str, seconds: int) -> float:
    words = [*READ, f"--filename={device}", "--time_based", f"--runtime={seconds}", "--output-format=json"]
    out = halocline.run(words, limit=seconds + LIMIT)
    try:
        return float(json.loads(out[out.find("{") :])["jobs"][0]["read"]["bw_bytes"]) / (1 << 20)
    except (ValueError, LookupError) as err:
        raise CommandExecutionError(f"'{' '.join(words)}': answered in another form than fio 3's JSON: {err}") from err
