"""ceph.conf to the line: from roles, settings and a site's fragments, rendered by Salt."""

from contextlib import ExitStack
from pathlib import Path

import pytest
import yaml

from conftest import PILLAR
from proposals.pillar import conf
from proposals.services import planning
from proposals.services.service import PlannedCluster
from proposals.settings import reader

FILES = sorted((Path(__file__).parent.parent / "fixtures" / "conf").glob("*.yaml"))
SOURCE = "ceph/configuration/files"


@pytest.fixture
def rendered(minion, with_pillar, tmp_path):
    """A function: the lines of a case's ceph.conf, without comments and empty ones."""

    def render(case):
        hosts = {
            name: {"hostname": name, "addresses": [f"{address}/24"]} for name, address in case["inventory"].items()
        }
        mons = sorted(name for name, roles in case["roles"].items() if "mon" in roles)
        settings = reader.read(case["settings"])
        told, problems = conf.derived(mons, hosts, settings)
        planned = planning.plan(PlannedCluster(case["roles"], hosts, settings))
        assert [*problems, *settings.lines(), *planned.whole.problems] == []
        told["sections"] = planned.conf()
        modules = with_pillar(**{**PILLAR, **case["settings"], "ceph": told})
        target = tmp_path / "ceph.conf"
        with ExitStack() as site:
            for name, text in case["fragments"].items():
                site.enter_context(minion.state_tree.base.temp_file(f"{SOURCE}/ceph.conf.d/{name}.conf", text))
            assert modules.cp.get_template(f"salt://{SOURCE}/ceph.conf.j2", str(target)) == str(target)
        return [line for line in target.read_text().splitlines() if line and not line.startswith("#")]

    return render


@pytest.mark.slow
@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_conf(rendered, path):
    case = yaml.load(path.read_text(), yaml.CSafeLoader)
    assert rendered(case) == case["expected"].splitlines()
