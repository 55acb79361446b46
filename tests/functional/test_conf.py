"""ceph.conf to the line: from roles, settings and a site's fragments, rendered by Salt."""

from pathlib import Path

import pytest
import salt.loader
import yaml

from conftest import PILLAR
from proposals.pillar import conf
from proposals.services import planning
from proposals.services.service import Cluster

FILES = sorted((Path(__file__).parent.parent / "fixtures" / "conf").glob("*.yaml"))
SOURCE = "ceph/configuration/files"


@pytest.fixture
def rendered(minion_opts, checkout, tmp_path):
    """The lines of a case's ceph.conf, without comments and empty ones; and the pillar that it was told."""

    def render(case):
        for name, text in case["fragments"].items():
            path = tmp_path / "site" / SOURCE / "ceph.conf.d" / f"{name}.conf"
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        hosts = {
            name: {"hostname": name, "addresses": [f"{address}/24"]} for name, address in case["inventory"].items()
        }
        mons = sorted(name for name, roles in case["roles"].items() if "mon" in roles)
        told, problems = conf.derived(mons, hosts, case["settings"])
        planned = planning.plan(Cluster(case["roles"], hosts, case["settings"]))
        assert problems == planned.problems == []
        told["sections"] = planned.conf()
        health = yaml.safe_load((checkout / "pillar/ceph/health.sls").read_text())["ceph_health"]["mon"]
        debian = yaml.safe_load((checkout / "pillar/ceph/os/debian.sls").read_text())["ceph_health"]["mon"]
        opts = minion_opts(site=tmp_path / "site")
        opts["pillar"] = {**PILLAR, **case["settings"], "ceph": told, "ceph_health": {"mon": {**health, **debian}}}
        target = tmp_path / "ceph.conf"
        mods = salt.loader.minion_mods(opts)
        assert mods["cp.get_template"](f"salt://{SOURCE}/ceph.conf.j2", str(target)) == str(target)
        return [line for line in target.read_text().splitlines() if line and not line.startswith("#")]

    return render


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_conf(rendered, path):
    case = yaml.safe_load(path.read_text())
    assert rendered(case) == case["expected"].splitlines()
