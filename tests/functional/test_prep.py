"""The prep stage's states for each OS family, where chrony takes the time from, and pillars beside a site's own."""

import re
from types import SimpleNamespace

import pytest
import salt.config
import salt.loader
import salt.pillar

FAMILIES = {
    "Debian": ("chrony", "/etc/chrony/chrony.conf", "/etc/chrony/conf.d/halocline.conf"),
    "Suse": ("chronyd", "/etc/chrony.conf", "/etc/chrony.d/halocline.conf"),
    "RedHat": ("chronyd", "/etc/chrony.conf", "/etc/chrony.d/halocline.conf"),
}


@pytest.mark.parametrize("family", FAMILIES)
def test_time_is_kept_by_the_familys_chrony(show_sls, family):
    service, conf, settings = FAMILIES[family]
    low = {chunk["__id__"]: chunk for chunk in show_sls("ceph.host.time.chrony", family)}
    assert low["ceph-host-time-chrony-running"]["name"] == service
    assert (low["ceph-host-time-chrony-include"]["name"], low["ceph-host-time-chrony-settings"]["name"]) == (
        conf,
        settings,
    )
    assert settings.rpartition("/")[0] in low["ceph-host-time-chrony-include"]["text"]


def test_package_sources_are_the_pillars_alone(show_sls, minion_opts):
    (chunk,) = show_sls("ceph.host.repo")
    assert (chunk["state"], chunk["fun"], chunk["file"]) == ("pkgrepo", "managed", "/etc/ceph.list")
    assert chunk["name"].startswith("deb https://")
    unasked = salt.loader.minion_mods(minion_opts())["state.show_low_sls"](
        ["ceph.host.repo", "ceph.host.time.disabled"]
    )
    assert [chunk["__id__"] for chunk in unasked] == ["ceph-host-time-disabled"]


TOLD = [  # time_server, what the master is to this minion, its address; the lines
    (None, "admin", "10.0.0.9", ["server admin iburst prefer"]),
    (None, "admin", "10.0.0.1", ["local stratum 10", "allow"]),
    (None, "localhost", "127.0.0.1", ["local stratum 10", "allow"]),
    ("node1", "admin", "10.0.0.9", ["local stratum 10", "allow"]),
    ("10.0.0.1", "admin", "10.0.0.9", ["local stratum 10", "allow"]),
    ("ntp.example", "admin", "10.0.0.1", ["server ntp.example iburst prefer"]),
    (["a.example", "b.example"], "admin", "10.0.0.9", [f"server {n}.example iburst prefer" for n in "ab"]),
]


@pytest.mark.parametrize(("server", "master", "address", "lines"), TOLD)
def test_where_chrony_takes_the_time_from(minion_opts, server, master, address, lines):
    opts = minion_opts(pillar=None)
    opts["pillar"], opts["master_ip"] = {"time_server": server}, address
    opts["grains"] |= {"master": master, "fqdn": "node1.example", "ipv4": ["127.0.0.1", "10.0.0.1"]}
    assert salt.loader.minion_mods(opts)["host_time.settings"]() == lines


def test_a_step_that_the_site_replaces_where_it_lay_before_is_named(checkout, tmp_path):
    site, opts = tmp_path / "salt", dict(salt.config.master_config(None))
    opts |= {"runner_dirs": [str(checkout / "runners")], "file_roots": {"base": [str(site), str(checkout / "salt")]}}
    opts |= {"cachedir": str(tmp_path), "extension_modules": str(tmp_path), "fileserver_list_cache_time": 0}
    check = salt.loader.runner(opts)["validate.prep"]
    for path in ("ceph/configuration/files/ceph.conf.d/osd.conf", "ceph/service/mds/init.sls"):
        (site / path).parent.mkdir(parents=True)
        (site / path).touch()
    assert check()["findings"] == []
    (site / "ceph/mds").mkdir()
    (site / "ceph/mds/init.sls").touch()
    said = check()
    (finding,) = said["findings"]
    assert finding["message"].startswith(f"{site}/ceph/mds/init.sls takes no effect any more")
    assert finding["fix"].endswith(f"move it to {site}/ceph/service/mds/init.sls")
    assert finding["message"] in said["text"] and said.get("retcode", 0) == 0


KERNELS = [  # that runs, of which there are images; whether a reboot is due
    ("6.1.0-18-amd64", ["6.1.0-9-amd64", "6.1.0-18-amd64"], False),
    ("6.1.0-9-amd64", ["6.1.0-9-amd64", "6.1.0-18-amd64"], True),
    ("6.1.0-9-amd64", ["6.1.0-9-amd64", "6.1.0-18-cloud-amd64"], False),
    ("5.14.21-150500.55.7-default", ["5.14.21-150500.55.19-default"], True),
    ("6.1.0-9-amd64", None, True),  # its package is gone
]


@pytest.mark.parametrize(("runs", "images", "due"), KERNELS)
def test_a_newer_kernel_of_its_kind_asks_for_a_reboot(minion_opts, monkeypatch, tmp_path, runs, images, due):
    look = salt.loader.minion_mods(minion_opts())["host_updates.reboot_due"]
    told = look.__globals__
    for name in ("CONTAINER", "MODULES", "BOOT"):
        monkeypatch.setitem(told, name, tmp_path / name)
    monkeypatch.setitem(told, "FLAGS", ())
    monkeypatch.setitem(told, "os", SimpleNamespace(uname=lambda: SimpleNamespace(release=runs)))
    monkeypatch.setitem(
        told, "__salt__", {"pkg.version_cmp": lambda a, b: (parts(a) > parts(b)) - (parts(a) < parts(b))}
    )
    for name in images or ():
        (tmp_path / "BOOT").mkdir(exist_ok=True)
        (tmp_path / "BOOT" / f"vmlinuz-{name}").touch()
        (tmp_path / "MODULES" / runs).mkdir(parents=True, exist_ok=True)
    assert bool(look()) == due


def parts(version):
    return [int(part) for part in re.findall("[0-9]+", version)]


def test_our_pillar_stands_beside_a_sites_top_file_which_wins(checkout, tmp_path):
    own = tmp_path / "pillar"
    own.mkdir()
    (own / "top.sls").write_text("base:\n  '*': [site]\n  'os_family:Debian':\n    - match: grain\n    - debian\n")
    (own / "site.sls").write_text("site: theirs\nready_timeout: 7\n")
    (own / "debian.sls").write_text("debian: theirs\n")
    (own / "ceph").mkdir()
    (own / "ceph/site.sls").write_text("time_init: disabled\n")
    (own / "ceph/minions.sls").write_text("ceph_minions: 'osd*'\n")
    opts = dict(salt.config.master_config(None))
    shipped = str(checkout / "pillar")
    opts |= {"file_client": "local", "cachedir": str(tmp_path / "cache"), "ext_pillar": []}
    opts["pillar_roots"] = {"base": [str(own), shipped], "halocline": [shipped]}
    told = salt.pillar.Pillar(opts, {"os_family": "Debian", "id": "osd1"}, "osd1", "base").compile_pillar()
    assert "_errors" not in told
    assert {key: told[key] for key in ("site", "debian", "ready_timeout")} == {
        "site": "theirs",
        "debian": "theirs",
        "ready_timeout": 7,
    }
    assert (told["time_init"], told["ceph_minions"], told["ceph_repos"]) == ("disabled", "osd*", {})
    assert told["ceph_os"]["chrony"]["service"] == "chrony"
