"""What hosts do for maintenance: programs that are scripts on the path, a socket that answers as HAProxy's does."""

import http.server
import socket
import threading

import pytest
from salt.exceptions import CommandExecutionError
from saltfactories.utils.loader import LoaderModuleMock

UNITS = (
    *("ceph-mon@node1", "ceph-mgr@node1", "ceph-osd@3", "ceph-volume@lvm-4-6b0c", "ceph-osd@4", "nfs-ganesha"),
    *("ceph-rgw-haproxy", "ceph-rgw-keepalived", "ceph-radosgw@rgw.node1"),
)
# `is-active` of a unit answers by whether a file of its name is there; all else is written down. What `fails` names
# does not start.
SYSTEMCTL = """
case "$*" in
*list-units*) ls "$0.active" | sed 's/$/ loaded active running What it is/'; exit 0 ;;
*is-active*) for unit; do :; done; test -e "$0.active/$unit"; exit ;;
esac
echo "$*" >>"$0.log"
verb=$1; shift
for unit; do
    case "$verb $unit" in
    "stop "*) rm -f "$0.active/$unit" ;;
    "start "*) if grep -qsx "$unit" "$0.fails"; then status=1; else : >"$0.active/$unit"; fi ;;
    esac
done
exit ${status:-0}
"""


@pytest.fixture
def systemd(tmp_path, monkeypatch, python_module):
    """A host whose daemons run: those of OSDs on volumes are enabled until the next boot alone."""
    (tmp_path / "systemctl").write_text(f"#!/bin/sh{SYSTEMCTL}")
    (tmp_path / "systemctl").chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    active = tmp_path / "systemctl.active"
    active.mkdir()
    folders = {"enabled": tmp_path / "etc", "enabled-runtime": tmp_path / "run"}
    for name in UNITS:
        wanted = folders["enabled-runtime" if name == "ceph-osd@4" else "enabled"] / "x.wants"
        wanted.mkdir(parents=True, exist_ok=True)
        (wanted / f"{name}.service").touch()
        if "volume" not in name:
            (active / f"{name}.service").touch()
    (active / "tcmu-runner.service").touch()
    for name in ("prometheus.service", "ssh.service", "ceph-crash.service"):
        (active / name).touch()
    module = python_module("daemons_maintenance")
    with LoaderModuleMock({module: {"WANTED": folders, "__salt__": {"daemons.forgive": lambda units: None}}}):
        yield module, active, tmp_path / "systemctl.log"


def names(units):
    return [unit.removesuffix(".service") for unit in units]


@pytest.mark.parametrize("name", ["maintenance", "purge", "retire", "upgrade"])
def test_a_daemon_is_waited_for_as_long_as_its_unit_lets_it_stop(python_module, name):
    """The longest is TimeoutStopSec of rbd-target-api, which ends what initiators have under way."""
    assert python_module(f"daemons_{name}").LIMIT > 600


@pytest.mark.slow
def test_daemons_stop_in_order_and_start_in_the_other(systemd):
    module, active, log = systemd
    units = module.units()
    assert names(units) == [
        *("ceph-rgw-keepalived", "ceph-rgw-haproxy", "ceph-radosgw@rgw.node1", "nfs-ganesha", "tcmu-runner"),
        *("ceph-osd@3", "ceph-osd@4", "ceph-volume@lvm-4-6b0c", "ceph-mgr@node1", "ceph-mon@node1"),
    ]
    words = {name: units[f"{name}.service"] for name in ("ceph-osd@3", "ceph-osd@4", "tcmu-runner")}
    assert words == {"ceph-osd@3": "enabled", "ceph-osd@4": "enabled-runtime", "tcmu-runner": ""}
    assert module.stop(list(units)) == module.stop(list(units)) == list(units)
    assert sorted(path.name for path in active.iterdir()) == ["ceph-crash.service", "prometheus.service", "ssh.service"]
    told = log.read_text()
    assert told.index("stop ceph-rgw-keepalived") < told.index("stop ceph-osd@3") < told.index("stop ceph-mon@node1")
    assert "disable --quiet ceph-osd@3.service ceph-osd@4.service\ndisable --quiet --runtime ceph-osd@3" in told
    log.unlink()
    module.start(units)
    told = log.read_text()
    assert told.index("start ceph-mon@node1") < told.index("start ceph-volume@") < told.index("start ceph-osd@3")
    assert "enable --quiet ceph-osd@3.service\n" in told and "enable --quiet --runtime ceph-osd@4.service\n" in told
    assert not [line for line in told.splitlines() if line.startswith("enable") and "tcmu" in line]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("fails", "said"),
    [
        ("ceph-volume@lvm-4-6b0c", None),  # its disk died meanwhile: which OSDs are back the cluster says
        ("ceph-osd@4", None),
        ("nfs-ganesha", "nfs-ganesha.service: 'systemctl start"),
        ("ceph-mon@node1", "ceph-mon@node1.service: 'systemctl start"),
    ],
)
def test_a_daemon_that_does_not_start_holds_back_no_other(systemd, tmp_path, fails, said):
    module, active, _ = systemd
    units = module.units()
    module.stop(list(units))
    (tmp_path / "systemctl.fails").write_text(f"{fails}.service\n")
    if said:
        with pytest.raises(CommandExecutionError, match=said):
            module.start(units)
    else:
        assert module.start(units) == list(units)
    runs = {path.name for path in active.iterdir()}
    assert set(units) - runs == {f"{fails}.service"}


def test_nothing_else_is_stopped_or_started(systemd):
    module, active, log = systemd
    for call in (lambda: module.stop(["ssh.service"]), lambda: module.start({"ceph-osd@3.service --now x": "enabled"})):
        with pytest.raises(CommandExecutionError, match="no daemon of Ceph's or of its gateways"):
            call()
    assert not log.exists() and (active / "ssh.service").exists()


def test_a_daemon_that_runs_on_is_named(systemd, tmp_path):
    module, *_ = systemd
    (tmp_path / "systemctl").write_text("#!/bin/sh\nexit 0\n")
    with pytest.raises(CommandExecutionError, match=r"ceph-osd@3\.service still run"):
        module.stop(["ceph-osd@3.service"])


HEAD = "# pxname,svname,qcur,qmax,scur,smax,status,\n"


@pytest.fixture
def haproxy(tmp_path, python_module):
    """A socket that knows two gateways, one with a request under way, and what it was told."""
    told, sessions = [], {"rgw.node1": 1, "rgw.node2": 0}
    path = tmp_path / "haproxy.sock"
    server = socket.socket(socket.AF_UNIX)
    server.bind(str(path))
    server.listen()

    def status(name):
        drained = [command.endswith("drain") for command in told if f"/{name} " in command]
        return "DRAIN" if drained[-1:] == [True] else "UP 1/2" if name == "rgw.node1" else "DOWN"

    def answer():
        while True:
            try:
                line, _ = server.accept()
            except OSError:
                return
            with line:
                command = line.recv(4096).decode().strip()
                told.append(command)
                rows = [f"rgw,{name},0,0,{count},9,{status(name)},\n" for name, count in sessions.items()]
                line.sendall(
                    (HEAD + "".join(rows) + "rgw,BACKEND,0,0,1,9,UP,\n\n").encode() if "show" in command else b"\n"
                )
                if len(told) > 4:
                    sessions["rgw.node1"] = 0

    threading.Thread(target=answer, daemon=True).start()
    module = python_module("host_haproxy")
    with LoaderModuleMock({module: {"SOCKET": path}}):
        yield module, told, sessions
    server.shutdown(socket.SHUT_RDWR)
    server.close()


@pytest.mark.slow
def test_a_gateway_is_drained_until_it_has_no_request(haproxy):
    module, told, _ = haproxy
    assert module.drain(["rgw.node1", "rgw.gone"], 30) == {"rgw.node1": 0}
    assert [command for command in told if "set" in command] == ["set server rgw/rgw.node1 state drain"]
    assert module.ready(["rgw.node1"]) == ["rgw.node1"]
    assert told[-1] == "set server rgw/rgw.node1 state ready"


def test_which_gateways_get_requests_is_told(haproxy):
    module, *_ = haproxy
    assert module.servers() == {"rgw.node1": True, "rgw.node2": False}
    module.drain(["rgw.node1"], 0)
    assert module.servers() == {"rgw.node1": False, "rgw.node2": False}


class Gateway(http.server.BaseHTTPRequestHandler):
    """An object gateway, as far as HAProxy's health check goes."""

    def do_GET(self):
        self.send_response(200 if self.path == "/swift/healthcheck" else 404)
        self.end_headers()

    def log_message(self, *_):
        pass


@pytest.fixture
def gateway():
    """Where a gateway listens that speaks no TLS."""
    with http.server.HTTPServer(("127.0.0.1", 0), Gateway) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"127.0.0.1:{server.server_port}"
        server.shutdown()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("former", "tls", "there", "served", "held"),
    [
        (None, False, False, True, False),  # no HAProxy yet
        ("127.0.0.1:1", False, True, True, False),  # a gateway has moved
        ("127.0.0.1:1", False, False, True, True),
        ("127.0.0.1:1", False, False, False, False),  # no client is served now: nothing is lost
        ("same", True, True, True, True),  # the same port, and a gateway without TLS yet
        ("same", False, False, True, False),  # nothing is to be changed
    ],
)
def test_haproxy_stays_while_no_gateway_is_at_its_new_place(
    haproxy, gateway, tmp_path, former, tls, there, served, held
):
    module, _, sessions = haproxy
    place = gateway if there else "127.0.0.1:2"
    planned = {"name": "rgw.node1", "address": place, "options": f"check inter 1s{' check-ssl verify none' * tls}"}
    if former:
        address = place if former == "same" else former
        (tmp_path / "haproxy.cfg").write_text(f"backend rgw\n    server rgw.node1 {address} check inter 1s\n")
    if not served:
        del sessions["rgw.node1"]
    pillar = {"ceph": {"services": {"rgw-frontend": {"servers": [planned]}}}}
    with LoaderModuleMock({module: {"CONF": tmp_path / "haproxy.cfg", "__pillar__": pillar}}):
        assert module.held() is held
        assert module.outdated() is (former is not None and (former != "same" or tls))


def test_a_request_that_takes_long_is_told(haproxy):
    module, told, sessions = haproxy
    assert module.drain(["rgw.node1"], 0) == {"rgw.node1": 1}
    assert sessions["rgw.node1"] == 1


def test_an_haproxy_without_its_socket_names_the_stage(python_module, tmp_path):
    module = python_module("host_haproxy")
    words = r"No such file or directory\): ceph.stage.radosgw configures"
    with LoaderModuleMock({module: {"SOCKET": tmp_path / "none"}}), pytest.raises(CommandExecutionError, match=words):
        module.drain(["rgw.node1"])


# An Alertmanager's client that keeps its silences in a file: id, who made it, what it matches.
AMTOOL = r"""
kept="$0.silences"
test "$1 $2 $3" = "--alertmanager.url http://127.0.0.1:9093 silence" || exit 9
shift 3; verb=$1; shift
touch "$kept"
case $verb in
query) awk -v by="$3" '$2 == by {print $1}' "$kept" ;;
add) echo "$(wc -l <"$kept")-$$ $2 $4 $7" >>"$kept" ;;
expire) for id; do sed -i "/^$id /d" "$kept"; done ;;
esac
"""


@pytest.mark.slow
def test_alerts_are_silenced_once_and_heard_again(modules, tmp_path, monkeypatch):
    (tmp_path / "amtool").write_text(f"#!/bin/sh{AMTOOL}")
    (tmp_path / "amtool").chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    kept = tmp_path / "amtool.silences"
    kept.write_text("0 halocline/node11 1h x\n")
    assert len(modules["host_alerts.silence"]("node1", 4)) == 2
    assert len(modules["host_alerts.silence"]("node1", 8)) == 2
    lines = kept.read_text().splitlines()[1:]
    assert [line.split()[1:3] for line in lines] == [["halocline/node1", "8h"]] * 2
    assert lines[0].endswith('instance="node1"') and "CephOSDDown|" in lines[1]
    assert not {"CephHealthError", "CephPGsInactive"} & set(lines[1].replace('"', "|").split("|"))
    assert len(modules["host_alerts.unsilence"]("node1")) == 2 and modules["host_alerts.unsilence"]("node1") == []
    assert kept.read_text() == "0 halocline/node11 1h x\n"
