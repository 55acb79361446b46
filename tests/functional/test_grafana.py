"""Grafana's settings as Salt writes them, read back: Debian has no package of it, so no lab runs it."""

import configparser

import pytest
import yaml

PACKAGED = """\
[server]
;protocol = http
[security]
;admin_password = admin
[smtp]
host = mail.example.com
"""


@pytest.fixture(scope="module")
def written(show_sls, loaders, tmp_path_factory):
    """grafana.ini after the state was applied twice: what it changed each time, and the file as Grafana reads it."""
    path = tmp_path_factory.mktemp("grafana") / "grafana.ini"
    path.write_text(PACKAGED)
    (chunk,) = (each for each in show_sls("ceph.service.grafana") if each["__id__"] == "ceph-service-grafana-settings")
    settings = {key: chunk[key] for key in ("sections", "separator")}
    runs = [loaders.states.ini.options_present(name=str(path), **settings) for _ in range(2)]
    read = configparser.ConfigParser(interpolation=None, strict=False)
    read.read(path)
    return runs, read


@pytest.mark.slow
def test_it_serves_tls_and_its_password_is_a_file(written):
    (first, second), read = written
    assert first.result is True and first.changes
    assert second.result is True and not second.changes
    assert dict(read["server"]) == {
        "protocol": "https",
        "http_port": "3000",
        "cert_file": "/etc/grafana/grafana.crt",
        "cert_key": "/etc/grafana/grafana.key",
    }
    assert read["security"]["admin_password"] == "$__file{/etc/grafana/admin.password}"
    assert read["smtp"]["host"] == "mail.example.com"  # the site's own stays


def test_it_shows_ceph_s_dashboards_of_the_prometheus_beside_it(checkout):
    files = checkout / "salt/ceph/service/grafana/files"
    (source,) = yaml.load((files / "datasource.yml").read_text(), yaml.CSafeLoader)["datasources"]
    (provider,) = yaml.load((files / "dashboards.yml").read_text(), yaml.CSafeLoader)["providers"]
    assert (source["type"], source["url"]) == ("prometheus", "http://127.0.0.1:9090")
    # where the package ceph-grafana-dashboards puts them (ceph.spec, debian/ceph-grafana-dashboards.install)
    assert provider["options"]["path"] == "/etc/grafana/dashboards/ceph-dashboard"
