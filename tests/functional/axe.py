"""axe-core, the accessibility checker, in a browser's page; a kept program of npm, pinned in setup.cfg."""

import configparser
import subprocess
import tarfile
from typing import Any

from browser import Browser
from saltmaster import CHECKOUT

from lab import daemon

FOLDER = CHECKOUT / "build/axe"
TAGS = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]
RUN = "const done = arguments[1]; axe.run(document, {runOnly: arguments[0], resultTypes: ['violations']}).then(done)"


def source() -> str:
    """The script of the pinned version, fetched once."""
    pins = configparser.ConfigParser(interpolation=None)
    pins.read(CHECKOUT / "setup.cfg")
    version = pins["halocline:npm"]["axe-core"]
    archive = FOLDER / f"axe-core-{version}.tgz"
    if not archive.exists():
        daemon.install_missing({"npm": "npm"})
        FOLDER.mkdir(parents=True, exist_ok=True)
        words = ["npm", "pack", f"axe-core@{version}", "--pack-destination", str(FOLDER)]
        subprocess.run(words, check=True, capture_output=True, timeout=300)
    with tarfile.open(archive) as packed:
        return packed.extractfile("package/axe.min.js").read().decode()


def violations(window: Browser, script: str) -> list[str]:
    """What breaks a rule on the page as it is now: ``rule: what is meant: which elements``."""
    window.run(f"{script}\nwindow.axe = axe;")
    told: Any = window.later(RUN, TAGS)
    return [
        f"{rule['id']}: {rule['help']}: {[' '.join(map(str, node['target'])) for node in rule['nodes']][:5]}"
        for rule in told["violations"]
    ]
