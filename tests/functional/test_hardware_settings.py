"""Settings that can hurt hardware, on made-up devices: nothing is written but where a list says so, and it goes back.

A PCI register and a drive's cache cannot be had here: `setpci` and `hdparm` are programs of this test that keep one
register a device, a drive's flags, and a line of what was written. `tuned-adm` calls a profile's script as TuneD does.
"""

import importlib.util
import resource
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from saltfactories.utils.loader import LoaderModuleMock

STATE = Path(__file__).parents[2] / "salt/_states/tunings.py"
ASKED = {"allowed": ["pci_read_request", "drive_cache"], "drives": ["MZ7LH*"]}
USED = ("tunings.wanted", "tunings.settings", "tunings.check", "tunings_hardware.real")
USED += tuple(f"tunings_tuned.{verb}" for verb in ("active", "boots", "files", "ours", "there", "apply", "remove"))
PORTS = {  # port: its PCI vendor and device, and its Device Control register
    "ens1f0": ("0000:5b:00.0", "15b3", "1017", "2936"),  # ConnectX-5
    "ens1f1": ("0000:5b:00.1", "15b3", "1017", "593f"),  # reads 4 KiB already
    "ens2f0": ("0000:af:00.0", "8086", "10fb", "2936"),  # Intel 82599
    "ens3f0": ("0000:d8:00.0", "15b3", "673c", "2936"),  # ConnectX-2, which nobody tried
    "virt0": (None, "", "", ""),  # not on PCI
}
DRIVES = {"sdb": "MZ7LH480HAHQ0D3", "sdc": "ST4000NM0035"}
SETPCI = """#!/bin/sh
[ "$1" = -s ] || exit 1
file={registers}/$2
old=$((0x$(cat $file)))
case "$3" in
CAP_EXP+8.w) printf '%04x\\n' $old ;;
CAP_EXP+8.w=*:*)
    bits=${{3#*=}}
    value=$((0x${{bits%:*}})) mask=$((0x${{bits#*:}}))
    printf '%04x' $((old & ~mask | value & mask)) >$file
    ;;
*) exit 1 ;;
esac
"""
HDPARM = """#!/bin/sh
case "$1" in
-q) echo "$@" >>{log}; echo "$2 $3" >{drives}/${{4##*/}} ;;
-W)
    read -r cache ahead <{drives}/${{3##*/}}
    printf ' write-caching =  %s (?)\\n look-ahead    =  %s (?)\\n' ${{cache#-W}} ${{ahead#-A}}
    ;;
esac
"""
TUNED_ADM = """#!/bin/sh
called() {{ [ ! -e {folder}/$1/script.sh ] || sed "s#/sys/#{sys}/#g" {folder}/$1/script.sh | sh -s $2; }}
runs=$(cat {folder}/runs 2>/dev/null)
case "$1" in
active) [ -z "$runs" ] || echo "Current active profile: $runs" ;;
off) called "$runs" stop; rm {folder}/runs ;;
profile) [ -z "$runs" ] || called "$runs" stop; echo $2 >{folder}/runs; called $2 start ;;
esac
"""


@pytest.fixture
def node(with_pillar: Callable, python_module: Callable, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable:
    """A function of pillar's ``ceph``: the modules on a node with these ports and drives."""
    folders = sys, dev, programs, registers, drives, tuned = [
        tmp_path / name for name in ("sys", "dev", "programs", "registers", "drives", "tuned")
    ]
    for folder in folders:
        folder.mkdir()
    for port, (address, vendor, device, register) in PORTS.items():
        place = sys / "devices" / (address or port)
        place.mkdir(parents=True)
        (sys / "class/net" / port).mkdir(parents=True)
        if address:
            (sys / "class/net" / port / "device").symlink_to(place)
            (place / "vendor").write_text(f"0x{vendor}\n")
            (place / "device").write_text(f"0x{device}\n")
            (registers / address).write_text(register)
    for drive, model in DRIVES.items():
        (sys / "block" / drive / "device").mkdir(parents=True)
        (sys / "block" / drive / "device/model").write_text(f"{model} \n")
        (dev / drive).touch()
        (drives / drive).write_text("-W0 -A1\n")
    texts = {
        "setpci": SETPCI.format(registers=registers),
        "hdparm": HDPARM.format(log=tmp_path / "hdparm.log", drives=drives),
        "tuned-adm": TUNED_ADM.format(folder=tuned, sys=sys),
        "systemctl": "#!/bin/sh\n",
    }
    for name, text in texts.items():
        (programs / name).write_text(text)
        (programs / name).chmod(0o755)
    monkeypatch.setenv("PATH", str(programs), prepend=":")
    for module in (python_module("tunings"), python_module("tunings_hardware")):
        monkeypatch.setattr(module, "SYS", sys)
        monkeypatch.setattr(module, "PROC", tmp_path / "none")  # of the kernel it has nothing
    for module in (python_module("tunings"), python_module("tunings_tuned")):
        monkeypatch.setattr(module, "CONTAINER", tmp_path / "none")
    monkeypatch.setattr(module, "FOLDER", tuned)
    monkeypatch.setattr(module, "HOME", tmp_path / "home")

    def load(allowed: list[str] | str | None, drives: list[str] | str | None) -> dict:
        osds = {str(dev / drive): {"format": "bluestore"} for drive in DRIVES}
        ceph = {"tuning": "ceph-flash", "tunings_allowed": allowed, "tunings_drives": drives}
        return with_pillar(ceph=ceph | {"network": {"ports": dict.fromkeys(PORTS)}, "storage": {"osds": osds}})

    return load


@pytest.fixture
def applied(modules: dict, tmp_path: Path) -> Callable[[], dict]:
    """A function: the answer of the state ``tunings.applied`` on that node."""
    spec = importlib.util.spec_from_file_location("tunings_state", STATE)
    state = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(state)
    state.BEFORE = tmp_path / "home/values.json"

    def run() -> dict:
        told = {"__salt__": {name: modules[name] for name in USED}, "__opts__": {"test": False}}
        with LoaderModuleMock({state: {**told, "__pillar__": modules.pack["__pillar__"]}}):
            return state.applied("tunings")

    return run


def registers(tmp_path: Path) -> dict[str, str]:
    return {path.name: path.read_text() for path in (tmp_path / "registers").iterdir()}


def script(modules: dict, tmp_path: Path, verb: str, before: dict | None = None) -> str:
    """Run a profile's script, as TuneD does, on the made-up tree."""
    text = modules["tunings_tuned.files"]("ceph-flash", modules["tunings.settings"](), before).get("script.sh", "")
    path = tmp_path / "script.sh"
    path.write_text(text.replace("/sys/", f"{tmp_path}/sys/"))
    subprocess.run(["sh", path, verb], check=True, capture_output=True)
    return text


@pytest.mark.slow
def test_nothing_is_written_unasked(node: Callable, tmp_path: Path) -> None:
    before = registers(tmp_path)
    text = script(node(allowed=[], drives=["*"]), tmp_path, "start")
    assert "setpci" not in text and "hdparm" not in text
    assert registers(tmp_path) == before and not (tmp_path / "hdparm.log").exists()


@pytest.mark.slow
def test_a_register_is_written_on_listed_devices_alone_only_the_bits_meant_and_put_back(
    node: Callable, tmp_path: Path
) -> None:
    modules = node(**ASKED)
    was = registers(tmp_path)
    own = [row for row in modules["tunings.settings"]() if row["kind"] in ("pci", "drive") and not row["left"]]
    assert [row["on"] for row in own] == ["ens1f0", "ens1f1", "sdb"]
    kept = {f"{row['on']} {row['kind']}": modules["tunings_hardware.real"](row) for row in own}
    script(modules, tmp_path, "start")
    changed = {address: value for address, value in registers(tmp_path).items() if value != was[address]}
    assert changed == {"0000:5b:00.0": "5936"}  # 2936 with bits 14 to 12 as 5, and no other
    assert (tmp_path / "hdparm.log").read_text().splitlines() == ["-q -W1 -A1 /dev/sdb"]
    states = {row["on"]: row["state"] for row in modules["tunings.check"]() if row["id"] == "pci_read_request"}
    assert states == {"ens1f0": "ok", "ens1f1": "ok", "ens2f0": "left", "ens3f0": "left", "virt0": "left"}
    script(modules, tmp_path, "stop", kept)
    assert registers(tmp_path) == was
    assert (tmp_path / "hdparm.log").read_text().splitlines()[1:] == ["-q -W0 -A1 /dev/sdb"]


@pytest.mark.parametrize("verb", ["start", "stop"])
def test_a_name_that_became_another_devices_is_left_alone(node: Callable, tmp_path: Path, verb: str) -> None:
    """TuneD calls the script at each boot, when nobody has looked yet which card and drive have which name now."""
    modules, was = node(**ASKED), registers(tmp_path)
    kept = {"ens1f0 pci": "CAP_EXP+8.w=2000:7000", "ens1f1 pci": "CAP_EXP+8.w=5000:7000", "sdb drive": "-W0 -A1"}
    text = modules["tunings_tuned.files"]("ceph-flash", modules["tunings.settings"](), kept)["script.sh"]
    for port in ("ens1f0", "ens1f1"):
        (tmp_path / "sys/class/net" / port / "device").unlink()
        (tmp_path / "sys/class/net" / port / "device").symlink_to(tmp_path / "sys/devices/0000:af:00.0")
    (tmp_path / "sys/block/sdb/device/model").write_text(f"{DRIVES['sdc']} \n")
    subprocess.run(["sh", "-s", verb], input=text.replace("/sys/", f"{tmp_path}/sys/"), text=True, check=True)
    assert "setpci" in text and "hdparm" in text
    assert registers(tmp_path) == was and not (tmp_path / "hdparm.log").exists()


@pytest.mark.slow
@pytest.mark.parametrize("more", [True, False], ids=["beside another setting", "alone"])
def test_what_is_asked_for_no_longer_goes_back(node: Callable, applied: Callable, tmp_path: Path, more: bool) -> None:
    if more:
        (tmp_path / "sys/block/sdb/queue").mkdir()
        (tmp_path / "sys/block/sdb/queue/scheduler").write_text("[none] mq-deadline\n")
    was = registers(tmp_path)
    node(**ASKED)
    assert applied()["result"] is True
    assert registers(tmp_path) != was and (tmp_path / "drives/sdb").read_text() == "-W1 -A1\n"
    assert applied()["changes"] == {}
    node(allowed=[], drives=[])
    assert applied()["changes"]
    assert registers(tmp_path) == was and (tmp_path / "drives/sdb").read_text() == "-W0 -A1\n"
    assert applied()["changes"] == {}


@pytest.mark.slow
def test_the_values_from_before_are_kept_whole_or_not_at_all(node: Callable, applied: Callable, tmp_path: Path) -> None:
    was = registers(tmp_path)
    node(**ASKED)
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, hard))  # as on a full disk: the file is made, and stays empty
    try:
        with pytest.raises(OSError, match="too large"):
            applied()
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert applied()["result"] is True
    node(allowed=[], drives=[])
    assert applied()["changes"] and registers(tmp_path) == was


def test_what_is_left_alone_says_why(node: Callable) -> None:
    modules = node(**ASKED)
    why = {row["on"]: row["left"] for row in modules["tunings.settings"]() if row["kind"] in ("pci", "drive")}
    assert why["ens2f0"].startswith("8086:10fb is none of 15b3:1013, ")
    assert why["virt0"].startswith("no PCI device is none of")
    assert "'ST4000NM0035' is not in ceph:tunings_drives" in why["sdc"]


@pytest.mark.parametrize(
    ("said", "cached"),
    [("MZ7LH*", "-W1 -A1\n"), ("MZ7LM*", "-W0 -A1\n"), ("", "-W0 -A1\n"), (None, "-W0 -A1\n")],
)
def test_one_model_need_not_be_in_a_list(
    node: Callable, applied: Callable, tmp_path: Path, said: str | None, cached: str
) -> None:
    """Letter by letter, `*` would be every drive; those that lose what they acknowledged too."""
    node(allowed="drive_cache", drives=said)
    assert applied()["result"] is True
    assert [(tmp_path / "drives" / drive).read_text() for drive in ("sdb", "sdc")] == [cached, "-W0 -A1\n"]


@pytest.mark.parametrize("said", [None, "", "not_drive_cache"])
def test_a_price_is_paid_by_whole_names_alone(node: Callable, applied: Callable, tmp_path: Path, said: object) -> None:
    node(allowed=said, drives=["MZ7LH*"])
    assert applied()["result"] is True
    assert (tmp_path / "drives/sdb").read_text() == "-W0 -A1\n"
