"""Completion in real shells: keys are typed into bash and zsh on a terminal, and what they made of them is read.

The files are found where srv/install puts them: bash-completion's and zsh's folders.
"""

import os
import pty
import re
import select
import subprocess
from pathlib import Path

import pytest

from lab import daemon

CHECKOUT = Path(__file__).resolve().parents[2]
LOADER = Path("/usr/share/bash-completion/bash_completion")
LIMIT = 60  # seconds until a shell has answered
END = "\x01told \x05 end\n"  # from the line's beginning to its end: the line as words of a function that prints them
TOLD = "told() { printf 'words:'; printf '<%s>' \"$@\"; echo; }\n"
SHELLS = {
    "bash": (["bash", "--norc", "--noprofile", "-i"], "PS1='$ '; set -o emacs; bind 'set bell-style none'\n{load}\n"),
    "zsh": (
        ["zsh", "-f", "-i"],
        "PS1='$ '; bindkey -e; setopt no_beep; fpath=({folder}/zsh/site-functions $fpath)\n"
        "autoload -Uz compinit; compinit -u -D\n",
    ),
}
CASES = [  # what is typed, a tab behind it, and what stands there then; of several candidates what they share
    ("salt-run halocline.doc", ["salt-run", "halocline.doctor"]),
    ("salt-run osd.rep", ["salt-run", "osd.rep"]),
    ("salt-run proposal.peek rat", ["salt-run", "proposal.peek", "ratio="]),
    ("salt-run disk.wipe osdnode1 /dev/sdc ye", ["salt-run", "disk.wipe", "osdnode1", "/dev/sdc", "yes="]),
    ("salt-run disk.wipe osdnode1 /dev/sdc yes=t", ["salt-run", "disk.wipe", "osdnode1", "/dev/sdc", "yes=true"]),
    ("salt-run state.orch ceph.stage.conf", ["salt-run", "state.orch", "ceph.stage.configure"]),
    ("salt-run stage.plan no-such-wo", ["salt-run", "stage.plan", "no-such-wo"]),
    ("halocline pee", ["halocline", "peek"]),
    ("halocline peek reference:ap", ["halocline", "peek", "reference:apollo"]),
    ("halocline peek reference:apollo db-s", ["halocline", "peek", "reference:apollo", "db-size="]),
    ("halocline peek reference:apollo --out=j", ["halocline", "peek", "reference:apollo", "--out=json"]),
    ("halocline peek a-fi", ["halocline", "peek", "a-file.json"]),
    ("halocline networks sw", ["halocline", "networks", "switch"]),
    ("halocline reference tig", ["halocline", "reference", "tigershark"]),
]


class Shell:
    """A shell on a terminal of its own."""

    def __init__(self, words, folder, env):
        self.master, end = pty.openpty()
        self.process = subprocess.Popen(
            words, stdin=end, stdout=end, stderr=end, cwd=folder, env=env, start_new_session=True
        )
        os.close(end)

    def type(self, keys):
        os.write(self.master, keys.encode())

    def until(self, pattern):
        """What it printed up to a line of this form."""
        read = ""
        while not (found := re.search(pattern, read)):
            ready, _, _ = select.select([self.master], [], [], LIMIT)
            assert ready, f"no answer within {LIMIT} s: {read[-2000:]!r}"
            read += os.read(self.master, 65536).decode(errors="replace")
        return found

    def completed(self, text):
        """The words that a line has after a tab."""
        self.type(f"{text}\t{END}")
        return re.findall("<([^>]*)>", self.until(r"\nwords:(?:<[^>\n]*>)*<end>\r\n")[0])[:-1]

    def close(self):
        self.process.kill()
        self.process.wait()
        os.close(self.master)


@pytest.fixture(scope="module", params=SHELLS)
def shell(request, tmp_path_factory):
    daemon.install_missing({"zsh": "zsh"} if LOADER.is_file() else {"zsh": "zsh", str(LOADER): "bash-completion"})
    folder = tmp_path_factory.mktemp("shell")
    (folder / "share/bash-completion").mkdir(parents=True)
    (folder / "share/zsh").mkdir()
    (folder / "share/bash-completion/completions").symlink_to(CHECKOUT / "srv/completions/bash")
    (folder / "share/zsh/site-functions").symlink_to(CHECKOUT / "srv/completions/zsh")
    (folder / "a-file.json").touch()
    words, setup = SHELLS[request.param]
    env = {"PATH": os.environ["PATH"], "HOME": str(folder), "TERM": "dumb", "XDG_DATA_DIRS": f"{folder}/share"}
    made = Shell(words, folder, {**env, "LC_ALL": "C.UTF-8"})
    made.type(TOLD + setup.format(load=f". {LOADER}", folder=folder / "share") + "told ready\n")
    made.until(r"words:<ready>\r\n")
    yield made
    made.close()


@pytest.mark.parametrize(("typed", "words"), CASES, ids=[typed for typed, _ in CASES])
def test_a_tab_completes(shell, typed, words):
    assert shell.completed(typed) == words


@pytest.mark.slow
def test_where_it_is_sourced_python_m_proposals_is_completed_too(tmp_path):
    script = f"""
    . '{CHECKOUT}/srv/completions/bash/halocline'
    COMP_LINE='python3 -m proposals populate x --ro' COMP_WORDBREAKS==: COMP_POINT=100
    _halocline_python; echo "${{COMPREPLY[*]}}"
    COMP_LINE='python3 -m pytest --ro' COMPREPLY=(); _halocline_python; echo "none: ${{COMPREPLY[*]}}"
    """
    done = subprocess.run(["bash", "-c", script], cwd=tmp_path, capture_output=True, text=True, check=True)
    assert (done.stdout, done.stderr) == ("--root=\nnone: \n", "")
