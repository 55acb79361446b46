"""Monitors that are played: a ``ceph`` that is a Python program, and the binding ``rados`` beside it."""

import json
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

Answer = Callable[[Mapping[str, Any], str], tuple[int, Any, str]]  # command, input: status, JSON, words
CEPH = """#!{python}
import pathlib, sys
with pathlib.Path("{folder}/typed").open("a") as typed:
    print(*sys.argv[1:], file=typed)
print("Error EINVAL: no such command", file=sys.stderr)
sys.exit(22)
"""
RADOS = """
import json, os, pathlib, threading
FOLDER, STORE, LOCK = pathlib.Path({folder!r}), pathlib.Path({folder!r}, "store"), threading.Lock()

def kept(prefix, key, given):
    texts, left = json.loads(STORE.read_text())
    if prefix == "config-key dump":
        return 0, json.dumps({{name: text for name, text in texts.items() if name.startswith(key)}}).encode(), ""
    if len(given) > 65536:
        return -27, b"", "File too large"
    if not left:
        os._exit(1)
    if prefix == "config-key set":
        texts[key] = given.decode()
    else:
        del texts[key]
    STORE.write_text(json.dumps([texts, left - 1]))
    return 0, b"", "set"

class Error(Exception):
    pass

class Rados:
    DEFAULT_CONF_FILES = -1

    def __init__(self, name, conffile, conf):
        with (FOLDER / "asked").open("a") as asked:
            print(json.dumps([name, conf]), file=asked)

    def connect(self):
        if (FOLDER / "silent").exists():
            raise Error("[errno 110] RADOS timed out (error connecting to the cluster)")

    def mon_command(self, command, given):
        command = json.loads(command)
        assert command.pop("format") == "json"
        if STORE.exists() and command["prefix"].startswith("config-key"):
            with LOCK:
                return kept(command["prefix"], command["key"], given)
        for told, answer in json.loads((FOLDER / "answers").read_text()):
            if told == command:
                status, output, words = answer
                if status == "input":
                    status, output = 0, json.dumps(json.loads(given.decode()))
                return status, output.encode(), words
        return -22, b"", "command not known"

    def shutdown(self):
        pass
"""


class Monitors:
    """What played monitors answer, and how often somebody connected, as whom."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.folder, self.answers = folder, []
        (folder / "ceph").write_text(CEPH.format(python=sys.executable, folder=folder))
        (folder / "ceph").chmod(0o755)
        (folder / "rados.py").write_text(RADOS.format(folder=str(folder)))
        monkeypatch.setenv("PATH", f"{folder}:/usr/bin:/bin")
        monkeypatch.setenv("PYTHONPATH", str(folder))
        self.answer({})

    def answer(self, command: Mapping[str, Any], document: Any = None, status: int | str = 0, words: str = "") -> None:
        """Answer a command so from now on; with status ``input`` by what it reads."""
        self.answers = [each for each in self.answers if each[0] != command]
        text = "" if document is None else f"\n{json.dumps(document)}\n"
        self.answers.append([dict(command), [status, text, words]])
        (self.folder / "answers").write_text(json.dumps(self.answers))

    def store(self, texts: Mapping[str, str], changes: int = -1) -> None:
        """Keep texts (``config-key``), as long as Ceph takes; who asks for a change after so many more is killed."""
        (self.folder / "store").write_text(json.dumps([texts, changes]))

    def stored(self) -> tuple[dict[str, str], int]:
        """The texts that are kept, and how many changes are left."""
        texts, changes = json.loads((self.folder / "store").read_text())
        return texts, changes

    def silence(self) -> None:
        """No monitor answers."""
        (self.folder / "silent").touch()

    def connected(self) -> list[list[Any]]:
        """Who connected since this was asked last, with which options."""
        return [json.loads(line) for line in self._taken("asked")]

    def typed(self) -> list[str]:
        """How ``ceph`` itself was started since this was asked last."""
        return self._taken("typed")

    def _taken(self, name: str) -> list[str]:
        path = self.folder / name
        lines = path.read_text().splitlines() if path.exists() else []
        path.write_text("")
        return lines


@pytest.fixture
def monitors(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Monitors:
    """Monitors that are played."""
    return Monitors(tmp_path, monkeypatch)
