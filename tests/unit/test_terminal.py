"""What a person reads on a terminal: trees, and widths that fit also where a runner prints into its text first."""

import fcntl
import os
import pty
import struct
import subprocess
import sys
import termios

import pytest
from planning import GUIDE, apollo, peek
from test_command_line import run
from test_pictures import NASTY

from proposals.pictures import disks, terminal

PRINTS = """
from planning import apollo, peek
from proposals.pictures import disks, terminal
from proposals.text import tables
print(tables.printed(tables.proposal, peek(apollo())))
print(tables.printed(terminal.show, disks.picture(peek(apollo()))))
"""


@pytest.mark.slow
def test_each_disk_stands_below_what_it_hangs_on():
    done = run("peek", "reference:apollo", *GUIDE, "--tree")
    assert (done.returncode, done.stderr) == (0, "")
    lines = done.stdout.splitlines()
    assert any(line.startswith("└── osdnode1, osdnode2, osdnode3, osdnode4: ssd-spinner") for line in lines)
    heads = [number for number, line in enumerate(lines) if "── S " in line and "9 OSDs, 54.0 TB fall with it" in line]
    assert len(heads) == 6 and all("── H " in lines[head + below] for head in heads for below in range(1, 10))


@pytest.mark.slow
def test_a_stored_proposal_is_a_tree_too_and_data_stay_data(tmp_path):
    root = tmp_path / "proposals"
    run("populate", "reference:apollo", "--root", root, *GUIDE)
    assert "── S " in run("show", root, "apollo", "--tree").stdout
    assert (
        run("show", root, "apollo", "--tree", "--out", "json").stdout
        == run("show", root, "apollo", "--out", "json").stdout
    )


def test_what_a_minion_said_moves_no_cursor(capsys):
    told = peek(apollo(), *GUIDE)
    told["hosts"] = {NASTY: told["hosts"]["osdnode1"]}
    terminal.show(disks.picture({**told, "name": NASTY, "warnings": [NASTY]}))
    out = capsys.readouterr().out
    assert "\x1b" not in out and "<script>" in out


@pytest.mark.slow
@pytest.mark.parametrize(("columns", "fits"), [(72, 72), (110, 110), (0, 160)])
def test_it_fits_the_terminal_that_the_answer_ends_on(columns, fits, checkout):
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
    path = os.pathsep.join([str(checkout / "tests/unit"), str(checkout)])
    with subprocess.Popen(
        [sys.executable, "-c", PRINTS], stdout=theirs, env={**os.environ, "PYTHONPATH": path}
    ) as done:
        os.close(theirs)
        said = b""
        while part := _read(ours):
            said += part
    lines = said.decode().splitlines()
    assert done.returncode == 0 and len(lines) > 60
    assert max(map(len, lines)) <= fits


def _read(fd):
    try:
        return os.read(fd, 1 << 16)
    except OSError:  # the other end is closed
        return b""
