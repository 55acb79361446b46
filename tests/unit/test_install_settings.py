"""The install command: how two configurations become one, and who can read what is copied."""

import os

import pytest
import salt.config
import yaml
from test_install import install

__all__ = ["install"]  # a fixture


def as_salt_reads(folder, wanted):
    """The master's options as Salt's own reader joins them with our drop-in, which is written."""
    (folder / "master.d").mkdir(exist_ok=True)
    (folder / "master.d/zz-halocline.conf").write_text(wanted._drop_in(folder, "master"))
    return salt.config.master_config(str(folder / "master"))


@pytest.mark.slow
def test_the_sites_own_words_come_first_and_stay(install, tmp_path):
    _, wanted = install
    (tmp_path / "master.d").mkdir()
    (tmp_path / "master").write_text("file_roots: {base: [/srv/theirs], dev: [/srv/dev]}\nlog_level: info\n")
    (tmp_path / "master.d/site.conf").write_text("pillar_roots: {base: [/srv/their-pillar]}\nrunner_dirs: [/r]\n")
    made = as_salt_reads(tmp_path, wanted)
    assert made["file_roots"] == {"base": ["/srv/theirs", "/srv/halocline/salt"], "dev": ["/srv/dev"]}
    assert made["pillar_roots"]["base"] == ["/srv/their-pillar", "/srv/halocline/pillar"]
    assert made["ext_pillar"][0]["stack"][0] == "/srv/their-pillar/ceph/current/assignment.cfg"
    assert made["runner_dirs"] == ["/r", "/srv/halocline/runners"]
    assert made["log_level"] == "info"


@pytest.mark.slow
def test_a_main_file_that_came_back_counts_once_it_is_copied(install, tmp_path):
    """As ``master.restore`` brings it onto a fresh host: why its guide runs the installer once more."""
    _, wanted = install
    (tmp_path / "master").write_text("")
    as_salt_reads(tmp_path, wanted)
    (tmp_path / "master").write_text("ext_pillar: [{cmd_json: echo}]\ntimeout: 60\n")
    hidden = salt.config.master_config(str(tmp_path / "master"))
    assert (hidden["timeout"], [next(iter(each)) for each in hidden["ext_pillar"]]) == (15, ["stack"])
    made = as_salt_reads(tmp_path, wanted)
    assert (made["timeout"], [next(iter(each)) for each in made["ext_pillar"]]) == (60, ["cmd_json", "stack"])


SECRET = {"pepa": {"password": "hunter2"}}
WHERE = {  # where the site's own words stand; whether Salt's reading asks us to say them again
    "main": ({"master": [SECRET]}, True),
    "drop-in": ({"master.d/site.conf": [SECRET]}, False),
    "two": ({"master.d/a.conf": [{"cmd_json": "echo"}], "master.d/b.conf": [SECRET]}, False),
    "hidden": ({"master": [{"cmd_json": "echo"}], "master.d/a.conf": [SECRET]}, False),
    "after": ({"master.d/a.conf": [{"cmd_json": "echo"}], "master.d/zz-site.conf": [SECRET]}, True),
}


@pytest.mark.slow
@pytest.mark.parametrize("where", WHERE)
def test_what_salt_joins_itself_is_not_copied(install, tmp_path, where):
    _, wanted = install
    files, again = WHERE[where]
    (tmp_path / "master.d").mkdir()
    for name, pillars in {"master": [], **files}.items():
        settings = {"ext_pillar": pillars, "log_granular_levels": {"theirs": "info"}, "timeout": 60} if pillars else {}
        (tmp_path / name).write_text(yaml.safe_dump(settings))
    before = salt.config.master_config(str(tmp_path / "master"))["ext_pillar"]
    assert SECRET in before
    made = as_salt_reads(tmp_path, wanted)
    assert made["ext_pillar"][:-1] == before and "stack" in made["ext_pillar"][-1]
    assert made["log_granular_levels"]["theirs"] == "info" and made["log_granular_levels"]["salt.runner"] == "error"
    assert made["timeout"] == 60
    assert made["halocline_log_dir"] == wanted._settings(tmp_path, "master")["halocline_log_dir"]
    drop_in = (tmp_path / "master.d/zz-halocline.conf").read_text()
    assert ("hunter2" in drop_in) is again and "timeout: 60" not in drop_in
    assert wanted._drop_in(tmp_path, "master") == drop_in


@pytest.mark.slow
@pytest.mark.parametrize("where", ["master", "master.d/site.conf"])
@pytest.mark.parametrize("text", ["file_roots:\npillar_roots:\n", "file_roots: {base: }\next_pillar:\n", "# none\n"])
def test_keys_without_a_value_say_nothing(install, tmp_path, checkout, where, text):
    _, wanted = install
    (tmp_path / "master.d").mkdir()
    (tmp_path / where).write_text(text)
    made = as_salt_reads(tmp_path, wanted)
    shipped = yaml.load((checkout / "srv/master.d/halocline.conf").read_text(), yaml.CSafeLoader)
    assert {key: made[key] for key in ("file_roots", "pillar_roots", "ext_pillar")} == {
        key: shipped[key] for key in ("file_roots", "pillar_roots", "ext_pillar")
    }


BROKEN = {
    "timeout: 5\nfile_roots: [\n": "expected YAML, found line 3: ",
    "\xff": "expected YAML, found .*decode",
    "file_roots: [/srv/salt]\n": "file_roots: expected keys with values, found a list; ",
    "pillar_roots: {base: /srv/pillar}\n": "pillar_roots: base: expected a list, found a single value; ",
    "ext_pillar: {pepa: hunter2}\n": "ext_pillar: expected a list, found keys with values; ",
    "timeout: [5]\n": "timeout: expected a single value, found a list; ",
    "timeout\n": "site.conf: expected keys with values, found a single value; ",
}


@pytest.mark.parametrize("text", BROKEN)
def test_a_configuration_that_salt_would_pass_over_is_named(install, tmp_path, text):
    record, wanted = install
    (tmp_path / "master.d").mkdir()
    (tmp_path / "master.d/site.conf").write_bytes(text.encode("latin-1"))
    with pytest.raises(
        record.InstallError, match=f"site.conf: .*{BROKEN[text].removeprefix('site.conf: ')}"
    ) as refused:
        wanted._drop_in(tmp_path, "master")
    assert str(refused.value).endswith("; mend it, then run this again") and "hunter2" not in str(refused.value)


def test_who_cannot_read_the_sites_configuration_cannot_read_what_is_copied_of_it(install, tmp_path):
    record, wanted = install
    drop_ins = tmp_path / "master.d"
    drop_ins.mkdir()
    ours, main, later = drop_ins / "zz-halocline.conf", tmp_path / "master", drop_ins / "zz-site.conf"

    def mode(*modes):
        for path, each in zip((main, later), modes, strict=False):
            path.touch()
            path.chmod(each)
        record.Record().write({str(ours): b"x"}, {str(ours): wanted.copied(tmp_path, "master")})
        return ours.stat().st_mode & 0o777

    assert mode() == 0o644
    assert mode(0o600) == 0o600  # it was there: an installation that others could read
    assert mode(0o640) == 0o640
    assert mode(0o644, 0o600) == 0o600
    if os.geteuid() == 0:  # the master's user
        os.chown(main, 1, 2)
        assert mode(0o640, 0o644) == 0o640 and (ours.stat().st_uid, ours.stat().st_gid) == (1, 2)
    os.utime(ours, (1, 1))
    assert mode(0o600) == 0o600 and ours.stat().st_mtime == 1  # as it was written: no master is older than it


def test_without_words_of_the_site_it_is_what_is_shipped(install, tmp_path, checkout):
    _, wanted = install
    shipped = (checkout / "srv/master.d/halocline.conf").read_text()
    assert yaml.load(wanted._drop_in(tmp_path, "master"), yaml.CSafeLoader) == yaml.load(shipped, yaml.CSafeLoader)
