"""A master that runs as another user than root: what is said where the system refuses it a file."""

import errno

import pytest

from proposals.files import atomic
from runners.engine import answer


@pytest.mark.parametrize(
    ("user", "path", "says"),
    [
        ("salt", "logs/a/b", "Permission denied: chown -R salt {}/logs: the master runs as salt"),
        ("sudo_salt", "cache/x", "Permission denied: mkdir -p -m 750 {0}/cache; chown -R salt {0}/cache: the master"),
        (
            "salt",
            "elsewhere",
            "Permission denied: the master runs as salt, and salt-run with it, also where root types it",
        ),
        ("root", "logs/a/b", "Permission denied: run this as root, or as the user who owns it"),
    ],
)
def test_a_file_that_is_refused_says_whose_its_folder_has_to_be(tmp_path, monkeypatch, user, path, says):
    (tmp_path / "logs").mkdir()
    opts = {"user": user, "halocline_log_dir": f"{tmp_path}/logs", "cachedir": f"{tmp_path}/cache"}
    monkeypatch.setattr(atomic, "_WRITER", {})
    monkeypatch.setitem(globals(), "__opts__", opts)

    @answer.answers
    def refused():
        raise atomic.failed("write", tmp_path / path, OSError(errno.EACCES, "Permission denied"))

    assert says.format(tmp_path) in refused()["error"]
