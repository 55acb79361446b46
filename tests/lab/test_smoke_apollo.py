"""A smoke test of the reference cluster's smaller sister with every service: all pass, and who is broken is named."""

import secrets

import pytest
from clusters import SERVICES
from product import PILLAR, Product, until
from test_smoke import ALL, BESIDE, failed, left, smoke, units

pytestmark = pytest.mark.big
MONITORS = ("monnode1", "monnode2", "monnode3")
OSDS = 36
FRONT = "192.168.124.100"
# Beside the guide's own roles: monitors' hosts, which have the metadata servers, have room for all but NFS.
POLICY = """\
role-rgw/cluster/monnode[12].sls
role-ganesha/cluster/osdnode[12].sls
role-prometheus/cluster/monnode3.sls
role-alertmanager/cluster/monnode3.sls
"""
# Who is broken on which host, and in which words it is named.
BROKEN = {
    "s3": ("ceph-radosgw@rgw.{}", "monnode2", "rgw.monnode2: "),
    "nfs": ("nfs-ganesha", "osdnode2", "osdnode2 ("),
}


@pytest.fixture(scope="module")
def complete(apollo: Product) -> Product:
    """The guide's cluster with the services of the first one: the same settings, its own address and names."""
    settings = (SERVICES / "cluster.yml").read_text().replace("192.168.176.100", FRONT)
    names = ",".join(f"DNS:{host}" for host in apollo.session.hosts)
    given = (SERVICES / "given").read_text().replace("DNS:node1", names).replace("192.168.176.100", FRONT)
    folder = f"{PILLAR}/keys/given"
    apollo.write(f"{PILLAR}/stack/ceph/cluster.yml", settings)
    apollo.run("saltmaster", f"mkdir -p {folder}; cd {folder}\n{given}")
    apollo.write(f"{folder}/hook", f"{secrets.token_hex(8)}\n")
    apollo.run("saltmaster", f"chmod -R go= {folder}")
    apollo.run("saltmaster", f"cat >>{PILLAR}/proposals/policy.cfg <<'EOF'\n{POLICY}EOF")
    apollo.stage("ceph.stage.configure")
    done = apollo.stage("ceph.stage.services", check=False)
    assert done.code == 0, done.out + done.err
    until(lambda: apollo.whole(OSDS, MONITORS), 240, "HEALTH_OK with every service")
    return apollo


def test_every_service_passes_and_nothing_stays(complete: Product) -> None:
    until(lambda: smoke(complete, "metrics")[0] == 0, 180, "Prometheus reaches everybody")
    code, told = smoke(complete)
    assert failed(told) == {} and code == 0
    assert {name for name in ALL if told[name]["passed"]} == ALL
    assert len(told["s3"]["passed"]) == 3 and len(told["cephfs"]["passed"]) == 2
    written = [line for line in told["nfs"]["passed"] if line.endswith("/cephfs written")]
    assert [line.partition(":")[0] for line in written] == ["osdnode1", "osdnode2"]
    assert left(complete) == []


@pytest.mark.parametrize("service", BROKEN)
def test_the_service_that_is_broken_is_the_one_named(complete: Product, service: str) -> None:
    unit, host, words = BROKEN[service]
    with units(complete, unit, host):
        code, told = smoke(complete)
        found = failed(told)
        assert code == 1 and {service} <= set(found) <= {service} | BESIDE.get(service, set()), found
        assert words in found[service], found
    again = sorted({service} | ALL & set(found))
    until(lambda: smoke(complete, *again)[0] == 0, 300, f"{', '.join(again)} pass when it is mended")
    assert left(complete) == []
    until(lambda: complete.whole(OSDS, MONITORS), 240, "HEALTH_OK after it was mended")
