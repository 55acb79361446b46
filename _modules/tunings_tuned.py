"""This host's settings as a TuneD profile: its text, applied and taken away. TuneD keeps what was before.

Sources: tuned.conf(5), tuned-adm(8), tuned-profiles(7).
"""

import re
import shlex
import shutil
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path

import halocline

FOLDER, HOME = Path("/etc/tuned"), Path("/var/lib/halocline/tunings")
MAIN, SHIPPED = Path("/etc/tuned/tuned-main.conf"), Path("/usr/lib/tuned/profiles")
CONTAINER = Path("/run/systemd/container")
LIMIT = 120  # seconds one command may take
MADE = "# Made from the pillar's ceph_tunings; changes here are lost."
UNDO = {"disable": "is-enabled", "stop": "is-active"}  # what takes back that TuneD starts at boot, or runs
COMMANDS = {  # a setting that TuneD has no plugin for, as a shell command
    "ring": "ethtool -G {on} {value}",
    "pause": "ethtool -A {on} {value}",
    "pci": (
        "is /sys/class/net/{on}/device/vendor 0x{vendor} && is /sys/class/net/{on}/device/device 0x{device} && "
        "setpci -s $(basename $(readlink -f /sys/class/net/{on}/device)) {value}"
    ),
    "drive": "is /sys/block/{on}/device/model {model} && hdparm -q {value} /dev/{on}",
}
# TuneD calls the script at each boot, when a port's or a drive's name may have become another's, that no list names.
IS = 'is() { read -r found <"$1" && [ "$found" = "$2" ]; }'


def files(name: str, settings: Sequence[Mapping], before: Mapping[str, str] | None = None) -> dict[str, str]:
    """Return ``{file name: text}`` of a profile.

    name
        The profile's, in the pillar's table.
    settings
        As ``tunings.settings`` gives them; those left out are left out, but not what is left at more for now: without
        it TuneD would put back the value from before, which is less.
    before
        ``{on kind: value}`` that the script puts back, of what no plugin of TuneD restores.

    CLI Example:

    .. code-block:: bash

        salt 'osdnode1' tunings_tuned.files ceph-latency '[]'
    """
    table = __pillar__["ceph_tunings"][name]
    use = [setting for setting in settings if not setting["left"] or setting["more"]]
    sections = {
        "main": [f"summary={table['summary']}"] + ([f"include={table['include']}"] if table.get("include") else [])
    }
    # At a boot a kernel may begin with more than it had when this was written: `=>` of TuneD only raises.
    lines = [(setting, "=>" if setting.get("least") else "=") for setting in use if setting["kind"] == "sysctl"]
    sections["sysctl"] = [f"{setting['on']}{sign}{setting['value']}" for setting, sign in lines]
    sections["sysfs"] = [f"{setting['path']}={setting['value']}" for setting in use if setting["kind"] == "sysfs"]
    words = [setting["value"] for setting in use if setting["kind"] == "cmdline"]
    sections["bootloader"] = [f"cmdline=+{' '.join(words)}"] if words else []
    own = [setting for setting in use if setting["kind"] in COMMANDS]
    sections["script"] = ["script=${i:PROFILE_DIR}/script.sh"] if own else []
    text = "\n".join(
        f"[{title}]\n" + "".join(f"{line}\n" for line in lines) for title, lines in sections.items() if lines
    )
    texts = {"tuned.conf": f"{MADE}\n{text}"}
    if own:
        texts["script.sh"] = _script(own, before or {})
    return texts


def _script(own: Sequence[Mapping], before: Mapping[str, str]) -> str:
    """What TuneD calls with start and with stop; what fails is seen when the value is read back."""
    start = [_command(setting, setting["value"]) for setting in own]
    stop = [_command(setting, value) for setting in own if (value := before.get(f"{setting['on']} {setting['kind']}"))]
    lines = ["#!/bin/sh", IS, 'case "$1" in', "start)", *start, ";;", "stop)", *stop, ";;", "esac", "exit 0"]
    return "\n".join(lines) + "\n"


def _command(setting: Mapping, value: str) -> str:
    """What gives a setting's place a value."""
    identity = setting.get("identity", "")
    vendor, _, device = identity.partition(":")
    model = shlex.quote(identity)
    return COMMANDS[setting["kind"]].format(on=setting["on"], value=value, vendor=vendor, device=device, model=model)


def active() -> str | None:
    """Return the profile that TuneD runs; None where it runs none or is not there.

    CLI Example:

    .. code-block:: bash

        salt 'osdnode1' tunings_tuned.active
    """
    if CONTAINER.exists() or not shutil.which("tuned-adm"):
        return None
    out = _run("tuned-adm", "active", ok=None)
    return out.partition("Current active profile:")[2].strip() or None


def ours(name: str | None) -> bool:
    """Return whether a profile is one of ours: in the pillar's table, or of a site's own that is no more in it.

    CLI Example:

    .. code-block:: bash

        salt 'osdnode1' tunings_tuned.ours ceph-latency
    """
    if not name or name in __pillar__.get("ceph_tunings", {}):
        return bool(name)
    path = _folder() / name / "tuned.conf"
    return path.exists() and path.read_text(errors="replace").startswith(MADE)


def boots() -> bool:
    """Return whether TuneD starts at each boot: only then the settings are there after it.

    CLI Example:

    .. code-block:: bash

        salt 'osdnode1' tunings_tuned.boots
    """
    return halocline.status(["systemctl", UNDO["disable"], "--quiet", "tuned"]) == 0


def apply(name: str, texts: Mapping[str, str]) -> None:
    """Make TuneD run a profile with these files; the one that ran before is remembered, once, and
    whether TuneD itself ran and began at boot.

    What the same profile set before is put back first, by the files that it was set with.

    CLI Example:

    .. code-block:: bash

        salt 'osdnode1' tunings_tuned.apply ceph-latency '{}'
    """
    HOME.mkdir(parents=True, exist_ok=True)
    if not (HOME / "undo").exists():
        lacked = [verb for verb, word in UNDO.items() if halocline.status(["systemctl", word, "--quiet", "tuned"])]
        halocline.write(HOME / "undo", "\n".join(lacked))
    _run("systemctl", "enable", "--now", "tuned")
    runs = active()
    if not (HOME / "before").exists():
        halocline.write(HOME / "before", runs or "")
    if runs == name:
        _run("tuned-adm", "off")
    _forget(name)
    (_folder() / name).mkdir(parents=True)
    for file, text in texts.items():
        path = _folder() / name / file
        path.write_text(text)
        path.chmod(0o755 if file.endswith(".sh") else 0o644)
    _run("tuned-adm", "profile", name)


def remove() -> None:
    """Take our profiles away; TuneD restores what was, and runs what it ran before us, if it ran.

    CLI Example:

    .. code-block:: bash

        salt 'osdnode1' tunings_tuned.remove
    """
    before = (HOME / "before").read_text().strip() if (HOME / "before").exists() else ""
    runs = active()
    going = {*__pillar__.get("ceph_tunings", {}), *([runs] if runs and ours(runs) else [])}
    _run("tuned-adm", *(("profile", before) if before and not ours(before) else ("off",)))
    for name in going:
        _forget(name)
    for verb in (HOME / "undo").read_text().split() if (HOME / "undo").exists() else ():
        _run("systemctl", verb, "tuned")
    shutil.rmtree(HOME, ignore_errors=True)


def there(name: str) -> dict[str, str]:
    """Return the files of a profile as they lie on this host.

    CLI Example:

    .. code-block:: bash

        salt 'osdnode1' tunings_tuned.there ceph-latency
    """
    folder = _folder() / name
    return {path.name: path.read_text() for path in folder.iterdir()} if folder.is_dir() else {}


def _folder() -> Path:
    """Where this host's TuneD finds the profiles of a site: since 2.23 in a folder of their own, unless it says so."""
    text = MAIN.read_text() if MAIN.exists() else ""
    if named := re.findall(r"^[ \t]*profile_dirs[ \t]*=[ \t]*(\S.*)$", text, re.MULTILINE):
        return Path(re.split("[,;]", named[-1])[-1].strip())  # the last is preferred
    return FOLDER / "profiles" if SHIPPED.is_dir() else FOLDER


def _forget(name: str) -> None:
    """Take a profile's files away, also where an older TuneD had them."""
    for folder in {FOLDER, _folder()}:
        shutil.rmtree(folder / name, ignore_errors=True)


def _run(*words: str, ok: Collection[int] | None = (0,)) -> str:
    return halocline.run(words, ok=ok, limit=LIMIT)
