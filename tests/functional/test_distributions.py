"""Packages and units of the families that no test runs, against what public spec files have of them."""

import pytest
import yaml
from test_sls import CHECKOUT, SLS

KNOWN = yaml.load((CHECKOUT / "tests/fixtures/distributions.yaml").read_text(), yaml.CSafeLoader)
FILES = {"Suse": "suse", "RedHat": "redhat"}
STARTS = {"running", "enabled"}
OURS = ("halocline-", "ceph-rgw-", "links-undo")  # units that our own states write


def names(family, kind, only=lambda row: True):
    rows = [row for row in KNOWN[family] if only(row)]
    return [name for row in rows for name in row.get(kind, ())]


def told(family):
    return yaml.load((CHECKOUT / f"pillar/ceph/os/{FILES[family]}.sls").read_text(), yaml.CSafeLoader)["ceph_os"]


@pytest.mark.parametrize("family", KNOWN)
def test_every_package_is_in_a_spec_file_or_said_to_be_unread(family):
    ours = {name for listed in told(family)["packages"].values() for name in listed}
    assert ours == set(names(family, "packages"))


@pytest.mark.slow
@pytest.mark.parametrize("family", KNOWN)
def test_every_unit_is_in_a_spec_file_or_said_to_be_unread(show_sls, family):
    chunks = [chunk for sls in SLS for chunk in show_sls(sls, family)]
    started = {
        chunk["name"].removesuffix(".service")
        for chunk in chunks
        if chunk["state"] in ("service", "host_daemon") and chunk["fun"] in STARTS
    }
    units = {f"{name.partition('@')[0]}@" if "@" in name else name for name in started if not name.startswith(OURS)}
    assert units == set(names(family, "units")), sorted(units ^ set(names(family, "units")))


@pytest.mark.parametrize("family", KNOWN)
def test_arguments_of_daemons_are_where_their_units_read_them(family):
    rows = {path: variable for row in KNOWN[family] for path, variable in row.get("arguments", {}).items()}
    daemons = [each for each in told(family).values() if isinstance(each, dict) and "arguments" in each]
    assert {each["arguments"]: each["variable"] for each in daemons} == rows


@pytest.mark.slow
@pytest.mark.parametrize("family", KNOWN)
def test_alertmanagers_configuration_is_read_by_its_daemon_alone_and_never_shown(show_sls, family):
    """Receivers' addresses may be secrets, which Alertmanager knows no file for."""
    groups = {unit: group for row in KNOWN[family] for unit, group in row.get("groups", {}).items()}
    chunks = show_sls("ceph.service.alertmanager", family)
    (config,) = (chunk for chunk in chunks if chunk["name"] == "/etc/prometheus/alertmanager.yml")
    assert (config["user"], config["mode"], config["show_changes"]) == ("root", "0640", False)
    assert config["group"] == groups[told(family)["alertmanager"]["service"]]


@pytest.mark.parametrize("family", KNOWN)
def test_each_name_stands_once_with_its_source_or_the_reason(family):
    for kind in ("packages", "units"):
        listed = names(family, kind)
        assert len(listed) == len(set(listed))
    assert [row for row in KNOWN[family] if ("source" in row) == ("unread" in row)] == []
