"""Chromium without a screen, driven by its own chromedriver in W3C WebDriver's words; it can reach one host alone."""

import base64
import json
import subprocess
import time
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from lab import daemon

ELEMENT = "element-6066-11e4-a52e-4f735466cecf"  # how WebDriver names an element
PATIENCE = 240  # seconds: a machine may do other things at once
FLAGS = (
    *("headless=new", "no-sandbox", "disable-gpu", "disable-dev-shm-usage", "disable-background-networking"),
    *("disable-component-update", "disable-sync", "no-first-run", "window-size=1400,900"),
    "host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1",
)


class Browser:
    """A window."""

    def __init__(self, port: int) -> None:
        self.base = f"http://127.0.0.1:{port}/session"
        options = {"args": [f"--{flag}" for flag in FLAGS], "binary": "/usr/bin/chromium"}
        asked = {"acceptInsecureCerts": True, "goog:chromeOptions": options, "goog:loggingPrefs": {"browser": "ALL"}}
        asked["goog:loggingPrefs"]["performance"] = "ALL"
        self.base += f"/{self._ask('', {'capabilities': {'alwaysMatch': asked}})['sessionId']}"

    def _ask(self, path: str, told: Any = None) -> Any:
        body = None if told is None else json.dumps(told).encode()
        request = urllib.request.Request(f"{self.base}{path}", body, {"Content-Type": "application/json"})
        with urllib.request.urlopen(request, timeout=PATIENCE) as answer:
            return json.load(answer)["value"]

    def open(self, url: str, ready: str) -> None:
        """Go to a page until a script finds it whole: Chromium drops what it loads while a network comes or goes."""
        end = time.monotonic() + PATIENCE
        while True:
            self._ask("/url", {"url": url})
            for _ in range(30):
                if self.run(f"return ({ready})"):
                    return
                time.sleep(0.1)
            assert time.monotonic() < end, f"{url}\n{self.text()}\n{self.console()}"

    def run(self, script: str, *args: Any) -> Any:
        """Run a script in the page; what it returns."""
        return self._ask("/execute/sync", {"script": script, "args": list(args)})

    def later(self, script: str, *args: Any) -> Any:
        """Run a script that calls its last argument with what it returns."""
        return self._ask("/execute/async", {"script": script, "args": list(args)})

    def until(self, script: str, *args: Any) -> Any:
        """Wait until a script returns something true."""
        end = time.monotonic() + PATIENCE
        while not (found := self.run(f"return ({script})", *args)):
            assert time.monotonic() < end, f"{script}\n{self.text()}\n{self.console()}"
            time.sleep(0.1)
        return found

    def find(self, selector: str) -> str:
        """The element of a selector, once it is there."""
        self.until(f"document.querySelector({json.dumps(selector)}) !== null")
        return self._ask("/element", {"using": "css selector", "value": selector})[ELEMENT]

    def click(self, selector: str) -> None:
        """Click as a person does."""
        self._ask(f"/element/{self.find(selector)}/click", {})

    def type(self, selector: str, text: str, clear: bool = True) -> None:
        """Type into a field, instead of what is in it."""
        element = self.find(selector)
        if clear:
            self._ask(f"/element/{element}/clear", {})
        self._ask(f"/element/{element}/value", {"text": text})

    def press(self, key: str) -> None:
        """Press a key of WebDriver's table, wherever the focus is."""
        told = [{"type": kind, "value": key} for kind in ("keyDown", "keyUp")]
        self._ask("/actions", {"actions": [{"type": "key", "id": "keyboard", "actions": told}]})

    def text(self) -> str:
        """What can be read on the page."""
        return self.run("return document.body.innerText")

    def says(self, *words: str) -> None:
        """Wait until all words can be read."""
        for word in words:
            self.until("document.body.innerText.includes(arguments[0])", word)

    def console(self) -> list[str]:
        """What the page told the console since it was last asked."""
        return [line["message"] for line in self._ask("/se/log", {"type": "browser"})]

    def asked_for(self) -> list[str]:
        """Every address that was asked for since this was last asked."""
        lines = [json.loads(line["message"])["message"] for line in self._ask("/se/log", {"type": "performance"})]
        return [line["params"]["request"]["url"] for line in lines if line["method"] == "Network.requestWillBeSent"]

    def emulate(self, feature: str, value: str) -> None:
        """Pretend a preference of the system's, such as prefers-color-scheme."""
        told = {"features": [{"name": feature, "value": value}]}
        self._ask("/goog/cdp/execute", {"cmd": "Emulation.setEmulatedMedia", "params": told})

    def size(self, width: int, height: int) -> None:
        """Make the window another size."""
        self._ask("/window/rect", {"width": width, "height": height})

    def picture(self, path: Path) -> None:
        """Keep a screenshot."""
        path.parent.mkdir(parents=True, exist_ok=True)
        request = urllib.request.Request(f"{self.base}/screenshot")
        with urllib.request.urlopen(request, timeout=PATIENCE) as answer:
            path.write_bytes(base64.b64decode(json.load(answer)["value"]))


@contextmanager
def browser(free: Callable[[], int]) -> Iterator[Browser]:
    """A browser for a test; ``free`` finds a port for its driver."""
    daemon.install_missing({"chromium": "chromium", "chromedriver": "chromium-driver"})
    port = free()
    driver = subprocess.Popen(["chromedriver", f"--port={port}", "--log-level=OFF"], start_new_session=True)
    try:
        end = time.monotonic() + PATIENCE
        while True:
            try:
                urllib.request.urlopen(f"http://127.0.0.1:{port}/status", timeout=5)
                break
            except OSError:
                assert driver.poll() is None and time.monotonic() < end
                time.sleep(0.1)
        window = Browser(port)
        try:
            yield window
        finally:
            urllib.request.urlopen(urllib.request.Request(window.base, method="DELETE"), timeout=PATIENCE)
    finally:
        driver.terminate()
        driver.wait(30)
