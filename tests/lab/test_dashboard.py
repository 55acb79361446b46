"""The Ceph Dashboard: who logs in, what is seen, whose password it is, which certificate each manager shows."""

import dashboard
import hunting
import pytest
from processes import ProcessWatch
from product import PILLAR, STORAGE, Product, until

STAGE = "ceph.stage.dashboard"
WRONG = "/srv/wrong.password"


def test_its_admin_logs_in_and_sees_hosts_and_osds(served: Product) -> None:
    status, (hosts, osds) = dashboard.ask(served, "api/host", "api/osd")
    assert status == 201
    assert {host["hostname"] for host in hosts[1]} >= set(STORAGE)
    assert {osd["osd"] for osd in osds[1]} == set(range(6))


def test_a_wrong_password_and_none_are_refused(served: Product) -> None:
    served.run("saltmaster", f"echo wrong >{WRONG}")
    assert dashboard.ask(served, "api/osd", password=WRONG) == (400, [[401, {}]])


def test_every_manager_shows_the_certificate_that_names_it(served: Product) -> None:
    """With the check of names that any client makes; an address that is not in it is refused."""
    check = f"curl -s -o /dev/null --cacert {dashboard.CERTIFICATE} https://{{}}:8443/"
    for host in STORAGE:
        served.run("saltmaster", check.format(host))
    elsewhere = check.format("elsewhere").replace("curl", "curl --connect-to elsewhere:8443:node1:8443")
    assert served.run("saltmaster", elsewhere, check=False).code == 60  # curl(1): not authenticated with known CAs


def test_it_finds_what_watches_the_cluster(served: Product) -> None:
    _, (targets, alerts) = dashboard.ask(served, "api/prometheus/rules", "api/prometheus")
    assert {group["name"] for group in targets[1]["groups"]} >= {"cluster health", "osd"}
    assert alerts[0] == 200


def test_only_its_admin_may_read_the_password(served: Product) -> None:
    assert served.run("saltmaster", f"stat -c '%a %U' {dashboard.PASSWORD}").out.strip() == "600 root"
    for host in (*STORAGE, "client1"):
        assert served.run(host, f"ls {dashboard.PASSWORD}", check=False).code != 0


@pytest.mark.big
def test_a_password_changed_by_its_admin_stays_until_it_is_rotated(served: Product) -> None:
    """Two runs of the stage, and the hunt for both passwords in what anybody could see of them."""
    old = served.run("saltmaster", f"cat {dashboard.PASSWORD}").out.strip()
    own = "printf Chosen-by-hand-17 | tee /srv/own.password | ceph dashboard ac-user-set-password admin -i - >/dev/null"
    served.run("saltmaster", own)
    assert served.stage(STAGE).code == 0
    assert dashboard.ask(served, password="/srv/own.password")[0] == 201
    assert dashboard.ask(served)[0] == 400

    since = int(served.run("saltmaster", "date +%s").out) - 1
    with ProcessWatch() as watch:
        served.run("saltmaster", "salt-run secret.rotate dashboard.admin")
        served.stage("ceph.stage.configure")
        assert served.stage(STAGE).code == 0
    new = served.run("saltmaster", f"cat {dashboard.PASSWORD}").out.strip()
    assert new != old
    assert dashboard.ask(served)[0] == 201
    assert dashboard.ask(served, password="/srv/own.password")[0] == 400
    assert watch.holding([b"ac-user-set-password"])
    assert watch.holding([old.encode(), new.encode()]) == []
    found = files(served, since, new, "root")
    assert dashboard.PASSWORD in found
    known = (dashboard.PASSWORD, PILLAR, "/var/cache/salt/master/pillar")  # the last one is Salt's own, for root alone
    assert [path for path in found if not path.startswith(known)] == []
    assert files(served, since, new, "nobody") == []


def files(product: Product, since: int, text: str, user: str) -> list[str]:
    """Files of the master's host, changed since then, that hold a text and that this user can read."""
    return product.run("saltmaster", ["python3", "-c", hunting.FILES, "/", str(since), user, text]).out.splitlines()


@pytest.mark.big
def test_a_user_that_was_there_before_any_stage_keeps_its_password(served: Product) -> None:
    """A cluster that had a dashboard already; then one from which the user was taken away with all that stages know."""
    record = "ceph config-key rm halocline/dashboard-admin"
    own = "printf Chosen-by-hand-18 | tee /srv/own.password | ceph dashboard ac-user-set-password admin -i - >/dev/null"
    served.run("saltmaster", f"{record}; {own}")
    assert "its password was left alone" in served.stage(STAGE).out
    assert dashboard.ask(served, password="/srv/own.password")[0] == 201
    served.run("saltmaster", f"{record}; ceph dashboard ac-user-delete admin")
    assert served.stage(STAGE).code == 0
    assert dashboard.ask(served)[0] == 201


@pytest.mark.big
def test_what_cannot_run_beside_it_goes_and_that_is_said(served: Product) -> None:
    """A cluster on which restful was on, as a new one of Debian's without our setting has it."""
    served.run("saltmaster", "ceph mgr module disable dashboard; ceph mgr module enable restful --force")
    done = served.stage(STAGE)
    assert "module restful was disabled" in done.out
    assert "ceph mgr module enable restful" in done.out
    assert "restful" not in served.ceph("mgr module ls")["enabled_modules"]
    assert dashboard.ask(served)[0] == 201
    until(served.whole, 60, "HEALTH_OK with the dashboard")


@pytest.mark.big
def test_another_port_and_a_certificate_of_the_sites_own(served: Product) -> None:
    own, folder = f"{PILLAR}/stack/ceph/cluster.yml", f"{PILLAR}/keys/given"
    make = (
        f"cp {own} /srv/kept-own; echo 'dashboard: {{port: 8444}}' >>{own}; umask 077; "
        "openssl req -x509 -newkey rsa:2048 -nodes -days 30 -subj /CN=of-the-site -addext subjectAltName=DNS:node1,"
        f"DNS:node2,DNS:node3 -keyout {folder}/dashboard.key -out {folder}/dashboard.crt"
    )
    served.run("saltmaster", make)
    check = f"curl -s -o /dev/null --cacert {folder}/dashboard.crt https://{{}}:8444/"
    try:
        served.stage("ceph.stage.configure")
        assert served.stage(STAGE).code == 0
        assert served_port(served) == "8444"
        for host in STORAGE:
            until(lambda host=host: served.run("saltmaster", check.format(host), check=False).code == 0, 60, host)
    finally:
        served.run("saltmaster", f"cp /srv/kept-own {own}; rm {folder}/dashboard.*")
        served.stage("ceph.stage.configure")
        served.stage(STAGE)
    assert dashboard.ask(served)[0] == 201


@pytest.mark.big
def test_a_certificate_that_its_admin_gave_the_cluster_stays(served: Product) -> None:
    own = "/srv/own"
    served.run(
        "saltmaster",
        f"openssl req -x509 -newkey rsa:2048 -nodes -days 30 -subj /CN=by-hand -keyout {own}.key -out {own}.crt; "
        f"ceph dashboard set-ssl-certificate -i {own}.crt; ceph dashboard set-ssl-certificate-key -i {own}.key",
    )
    try:
        assert served.stage(STAGE).code == 0
        shown = f"echo | openssl s_client -connect {dashboard.served_at(served).split('/')[2]} 2>/dev/null"
        assert "CN = by-hand" in served.run("saltmaster", f"{shown} | openssl x509 -noout -subject").out
    finally:
        served.run("saltmaster", "ceph config-key rm mgr/dashboard/crt; ceph config-key rm mgr/dashboard/key")
        served.stage(STAGE)
    assert dashboard.ask(served)[0] == 201


def served_port(product: Product) -> str:
    """The port in the address that the managers' map names."""
    return dashboard.served_at(product).rstrip("/").rpartition(":")[2]
