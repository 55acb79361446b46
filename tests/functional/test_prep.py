"""The prep stage's states for each OS family, where chrony takes the time from, and pillars beside a site's own."""

import re
from types import SimpleNamespace

import pytest
import salt.pillar
from saltfactories.utils.loader import LoaderModuleMock
from saltmaster import Master

FAMILIES = {
    "Debian": ("chrony", "/etc/chrony/chrony.conf", "/etc/chrony/conf.d/halocline.conf"),
    "Suse": ("chronyd", "/etc/chrony.conf", "/etc/chrony.d/halocline.conf"),
    "RedHat": ("chronyd", "/etc/chrony.conf", "/etc/chrony.d/halocline.conf"),
}


@pytest.mark.slow
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


@pytest.mark.slow
def test_package_sources_are_the_pillars_alone(show_sls, modules):
    (chunk,) = show_sls("ceph.host.repo")
    assert (chunk["state"], chunk["fun"], chunk["file"]) == ("pkgrepo", "managed", "/etc/ceph.list")
    assert chunk["name"].startswith("deb https://")
    unasked = modules.state.show_low_sls(["ceph.host.repo", "ceph.host.time.disabled"])
    assert [chunk["__id__"] for chunk in unasked] == ["ceph-host-time-disabled"]


@pytest.mark.slow
def test_an_update_brings_what_was_seen_and_nothing_newer(show_sls, state_module):
    """Which packages come is looked at right before, by sources asked anew: Ceph's are left to the upgrade."""
    (chunk,) = show_sls("ceph.host.updates")
    assert (chunk["state"], chunk["fun"]) == ("host_updates", "applied")
    module, asked = state_module("host_updates"), []
    with LoaderModuleMock({module: {"__states__": {"pkg.uptodate": lambda *_, **words: asked.append(words)}}}):
        module.applied("x")
    assert asked == [{"refresh": False, "dist_upgrade": False}]


TOLD = [  # time_server, what the master is to this minion, its address; the lines
    (None, "admin", "10.0.0.9", ["server admin iburst prefer"]),
    (None, "admin", "10.0.0.1", ["local stratum 10", "allow"]),
    (None, "localhost", "127.0.0.1", ["local stratum 10", "allow"]),
    ("node1", "admin", "10.0.0.9", ["local stratum 10", "allow"]),
    ("10.0.0.1", "admin", "10.0.0.9", ["local stratum 10", "allow"]),
    ("ntp.example", "admin", "10.0.0.1", ["server ntp.example iburst prefer"]),
    (None, "salt.lab", "[fd00::1]", ["local stratum 10", "allow"]),  # as Salt writes it
    ("FD00:0::1", "admin", "10.0.0.9", ["local stratum 10", "allow"]),
    ("Node1", "admin", "10.0.0.9", ["local stratum 10", "allow"]),
    (["a.example", "b.example"], "admin", "10.0.0.9", [f"server {n}.example iburst prefer" for n in "ab"]),
    (["node1", "ntp.example"], "admin", "10.0.0.9", ["server ntp.example iburst", "local stratum 10 orphan", "allow"]),
]


@pytest.mark.parametrize(("server", "master", "address", "lines"), TOLD)
def test_where_chrony_takes_the_time_from(loaders, python_module, server, master, address, lines):
    mocks = {"__pillar__": {"time_server": server}, "__opts__": {"master_ip": address}}
    grains = {"master": master, "fqdn": "node1.example", "ipv4": ["127.0.0.1", "10.0.0.1"], "ipv6": ["fd00::1"]}
    module = python_module("host_time")
    with LoaderModuleMock({module: {**mocks, "__grains__": {**loaders.grains, **grains}}}):
        assert module.settings() == lines


@pytest.mark.slow
def test_a_step_that_the_site_replaces_where_it_lay_before_is_named(salt_factories):
    master = salt_factories.salt_master_daemon("moved", factory_class=Master)
    site, check = master.root / "salt", master.runners()["validate.prep"]
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


@pytest.mark.slow
def test_prep_stops_at_its_own_settings_alone(salt_factories):
    master = salt_factories.salt_master_daemon("settings", factory_class=Master)
    check = master.runners()["validate.prep"]
    (master.pillar / "stack/ceph").mkdir(parents=True)
    (master.pillar / "site.sls").write_text("ready_timeout: soon\nstage_prep_minons: default-update-no-reboot\n")
    (master.pillar / "stack/ceph/cluster.yml").write_text("rgw_frontent: {}\nsmall_site: maybe\n")
    said = check()
    assert said["retcode"] == 2
    assert [(finding["check"], finding["message"]) for finding in said["findings"]] == [
        ("settings", "ready_timeout is soon: expected a number of seconds from 1 to 86400"),
        ("misspelt", "stage_prep_minons: no such setting: did you mean 'stage_prep_minion'?"),
    ]


KERNELS = [  # that runs, of which there are images; whether a reboot is due
    ("6.1.0-18-amd64", ["6.1.0-9-amd64", "6.1.0-18-amd64"], False),
    ("6.1.0-9-amd64", ["6.1.0-9-amd64", "6.1.0-18-amd64"], True),
    ("6.1.0-9-amd64", ["6.1.0-9-amd64", "6.1.0-18-cloud-amd64"], False),
    ("5.14.21-150500.55.7-default", ["5.14.21-150500.55.19-default"], True),
    ("5.14.0-362.8.1.el9_3.x86_64", ["5.14.0-427.13.1.el9_4.x86_64"], True),  # the next minor release of RHEL
    ("5.14.0-362.8.1.el9_3.x86_64", ["5.14.0-427.13.1.el9_4.x86_64+rt"], False),
    ("6.1.0-18-amd64", ["6.5.0-0.deb12.4-amd64"], True),  # Debian's backports
    ("6.1.0-18-amd64", ["6.12.9+bpo-amd64", "6.1.0-18-amd64"], True),
    ("6.1.0-18-amd64", ["6.12.9+bpo-rt-amd64"], False),
    ("6.1.0-9-amd64", None, True),  # its package is gone
]


@pytest.mark.parametrize(("runs", "images", "due"), KERNELS)
def test_a_newer_kernel_of_its_kind_asks_for_a_reboot(python_module, tmp_path, runs, images, due):
    mocks = {name: tmp_path / name for name in ("CONTAINER", "MODULES", "BOOT")}
    mocks |= {"FLAGS": (), "os": SimpleNamespace(uname=lambda: SimpleNamespace(release=runs))}
    mocks["__salt__"] = {"pkg.version_cmp": lambda a, b: (parts(a) > parts(b)) - (parts(a) < parts(b))}
    for name in images or ():
        (tmp_path / "BOOT").mkdir(exist_ok=True)
        (tmp_path / "BOOT" / f"vmlinuz-{name}").touch()
        (tmp_path / "MODULES" / runs).mkdir(parents=True, exist_ok=True)
    module = python_module("host_updates")
    with LoaderModuleMock({module: mocks}):
        assert bool(module.reboot_due()) == due


def test_what_a_host_is_due_and_has_of_ceph_is_told(python_module, tmp_path):
    for name in ("mon/ceph-a", "mgr/ceph-a", "osd/ceph-11", "radosgw/ceph-rgw.a", "0a-1-2-3-4/mon.a"):
        (tmp_path / name).mkdir(parents=True)
    salted = {
        "daemons_upgrade.sources": lambda: True,
        "pkg.list_upgrades": lambda refresh, dist_upgrade: {"vim": "2", "ceph-osd": "16"},
        "daemons_upgrade.packages": lambda: ["ceph-common", "ceph-osd"],
        "daemons_maintenance.units": lambda: {"ceph-osd@11.service": "enabled"},
    }
    mocks = {"CEPH": tmp_path, "KEYRING": tmp_path / "none", "FLAGS": (tmp_path,), "__salt__": salted}
    module = python_module("host_updates")
    with LoaderModuleMock({module: {**mocks, "__grains__": {"host": "a"}}}):
        assert module.inspect() == {
            "pending": ["ceph-osd", "vim"],
            "ceph": ["ceph-osd"],
            "reboot": f"{tmp_path} is there",
            "host": "a",
            "daemons": ["mgr.a", "mon.a", "osd.11", "radosgw.rgw.a"],
            "units": ["ceph-osd@11.service"],
            "foreign": ["0a-1-2-3-4"],
            "asks": False,
        }


def parts(version):
    return [int(part) for part in re.findall("[0-9]+", version)]


@pytest.mark.slow
def test_our_pillar_stands_beside_a_sites_top_file_which_wins(salt_factories):
    master = salt_factories.salt_master_daemon("beside", factory_class=Master)
    own = master.pillar.parent
    (own / "top.sls").write_text("base:\n  '*': [site]\n  'os_family:Debian':\n    - match: grain\n    - debian\n")
    (own / "site.sls").write_text("site: theirs\nready_timeout: 7\n")
    (own / "debian.sls").write_text("debian: theirs\n")
    (own / "ceph").mkdir()
    (own / "ceph/site.sls").write_text("time_init: disabled\n")
    (own / "ceph/minions.sls").write_text("ceph_minions: 'osd*'\n")
    opts = {**master.opts(), "file_client": "local"}
    pillar = salt.pillar.Pillar(opts, {"os_family": "Debian", "id": "osd1"}, "osd1", "base").compile_pillar()
    assert "_errors" not in pillar
    assert {key: pillar[key] for key in ("site", "debian", "ready_timeout")} == {
        "site": "theirs",
        "debian": "theirs",
        "ready_timeout": 7,
    }
    assert (pillar["time_init"], pillar["ceph_minions"], pillar["ceph_repos"]) == ("disabled", "osd*", {})
    assert pillar["ceph_os"]["chrony"]["service"] == "chrony"
