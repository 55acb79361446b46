"""A browser in a lab's network: Chromium without a screen, driven by Selenium, in a container for one test."""

import json
import subprocess
from pathlib import Path
from typing import Any

from lab.store import CHECKOUT

SOURCE = CHECKOUT / "tests/lab/browser"
# What each program begins with. stdin: JSON with `host`, the one name or address that it can ask: every other is
# unknown to it. Screenshots go to /kept.
BEGIN = r"""
import json, sys, time
from selenium import webdriver
from selenium.webdriver.chrome.service import Service
from selenium.webdriver.common.by import By
from selenium.webdriver.support.ui import WebDriverWait

told = json.load(sys.stdin)
options = webdriver.ChromeOptions()
for flag in ("headless=new", "no-sandbox", "disable-gpu", "disable-dev-shm-usage", "disable-background-networking",
             "disable-component-update", "disable-sync", "no-first-run", "window-size=1400,900",
             f"host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE {told['host']}"):
    options.add_argument(f"--{flag}")
options.accept_insecure_certs = True  # whose it is other tests look at
options.set_capability("goog:loggingPrefs", {"performance": "ALL"})
browser = webdriver.Chrome(service=Service("/usr/bin/chromedriver"), options=options)
wait = WebDriverWait(browser, 90)
find = lambda selector: browser.find_elements(By.CSS_SELECTOR, selector)
"""


def image() -> str:
    """The image with the browser; Docker builds it once."""
    done = docker("build", "--quiet", "--tag", "halocline-browser", "--label", "halocline=browser", str(SOURCE))
    return done.stdout.strip()


def docker(*words: str, stdin: str | None = None, limit: float = 500) -> subprocess.CompletedProcess[str]:
    """Run Docker's own client; its words where it fails."""
    done = subprocess.run(["docker", *words], input=stdin, capture_output=True, text=True, check=False, timeout=limit)
    assert done.returncode == 0, done.stdout + done.stderr
    return done


def browse(lab: str, program: str, told: dict[str, Any], kept: Path, limit: float = 500) -> Any:
    """Run a program behind BEGIN in a lab's public network; the JSON that it prints."""
    kept.mkdir(parents=True, exist_ok=True)
    words = ("--network", f"halocline-{lab}-public", "--volume", f"{kept}:/kept", image())
    done = docker(
        *("run", "--rm", "--interactive", *words, "python3", "-c", BEGIN + program), stdin=json.dumps(told), limit=limit
    )
    return json.loads(done.stdout)
