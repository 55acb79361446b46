"""Whether the lab has changed since its own tests passed: one hash over all that it is made of, kept in proven.json."""

import configparser
import hashlib
import json
from datetime import UTC, datetime
from pathlib import Path

RECORD = "tests/rig/proven.json"
SOURCES = ("lab", "tests/rig")  # the image and the guest lie in lab/
PINS = (("options", "install_requires"), ("options.extras_require", "salt"), ("options.extras_require", "lab"))


def digest(checkout: Path) -> str:
    """One hash over lab/, its tests, and the pins of what runs in a node and of what the lab itself runs on."""
    config = configparser.ConfigParser()
    config.read(checkout / "setup.cfg")
    whole = hashlib.sha256("\n".join(config[section][name] for section, name in PINS).encode())
    for path in sorted(path for source in SOURCES for path in (checkout / source).rglob("*")):
        name = str(path.relative_to(checkout))
        if path.is_file() and "__pycache__" not in path.parts and name != RECORD:
            whole.update(f"{name}\0{path.stat().st_mode & 0o111:o}\0".encode() + path.read_bytes() + b"\0")
    return whole.hexdigest()


def unchanged(checkout: Path) -> tuple[bool, str]:
    """Whether the lab is as it was when all of its tests passed, and a sentence that says so."""
    path = checkout / RECORD
    if not path.exists():
        return False, f"they have never passed here ({RECORD} is not there)"
    record = json.loads(path.read_text())
    passed = f"{record['tests']} of them passed on {record['date']}"
    if record["hash"] == digest(checkout):
        return True, f"the lab, its tests and the pins are as they were when {passed}"
    return False, f"the lab, its tests or the pins changed since {passed}"


def sentence(checkout: Path, always: bool = False) -> str:
    """Whether the lab's own tests run and why, for the start of a run."""
    same, why = unchanged(checkout)
    if always:
        return f"the lab's own tests run: --rig=always ({why})"
    return f"the lab's own tests {'do not run' if same else 'run'}: {why}"


def write(checkout: Path, tests: int) -> None:
    """Keep that all of the lab's own tests passed on it as it is now; tests: how many those were."""
    record = {"hash": digest(checkout), "date": f"{datetime.now(UTC):%Y-%m-%d}", "tests": tests}
    (checkout / RECORD).write_text(json.dumps(record, indent=1) + "\n")


if __name__ == "__main__":
    print(sentence(Path(__file__).resolve().parents[2]))
