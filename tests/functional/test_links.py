"""Links on a host: the three systems' files for the guide's network, and the kernel's answers judged."""

import json
import os
import socket
import subprocess

import pytest
from salt.exceptions import CommandExecutionError
from saltlinks import BACKENDS, FIXTURES, apollo

UNDO = FIXTURES.parents[1] / "salt/ceph/host/networks/files/links-undo"
KERNEL = FIXTURES / "networking/kernel"
PLANNED = {
    "links": {
        "bond0": {
            "kind": "bond",
            "mtu": 9000,
            "addresses": ["10.30.0.1/24"],
            "ports": ["p1", "p2"],
            "mode": "802.3ad",
            "miimon": 100,
            "lacp_rate": "fast",
            "xmit_hash_policy": "layer3+4",
            "min_links": 1,
        },
        "bond0.3001": {"kind": "vlan", "mtu": 9000, "addresses": ["10.30.1.1/24"], "lower": "bond0", "id": 3001},
    },
    "ports": {"p1": None, "p2": None},
}


def recorded(name):
    return {link["ifname"]: link for link in json.loads((KERNEL / f"{name}.json").read_text())}


def changed(**links):
    """The plan with some keys of some links otherwise; ``bond0_3001`` is the VLAN."""
    told = {name: {**link, **links.get(name.replace(".", "_"), {})} for name, link in PLANNED["links"].items()}
    return {**PLANNED, "links": told}


def test_nothing_is_touched_where_the_master_does_not_answer_before(python_module, monkeypatch):
    """One of its two ports alone is not enough: whether a change has lost it could not be told."""
    links, armed = python_module("links"), []
    with socket.create_server(("127.0.0.1", 0)) as one, socket.create_server(("127.0.0.1", 0)) as other:
        ports = {"publish_port": one.getsockname()[1], "master_port": other.getsockname()[1]}
        other.close()
        found = {"changes": {"bond0": "is made"}, "check": [], "_network": PLANNED, "_backends": ["links_networkd"]}
        for name, answer in found.items():
            monkeypatch.setattr(links, name, lambda answer=answer: answer)
        monkeypatch.setattr(links, "REACHED", 0)
        told = {"links_undo.finish": list, "links_undo.arm": lambda *words: armed.append(words)}
        monkeypatch.setattr(links, "__salt__", told)
        monkeypatch.setattr(links, "__opts__", {"master": "127.0.0.1", **ports}, raising=False)
        says = f"127.0.0.1 port {ports['master_port']} does not answer: nothing was changed"
        with pytest.raises(CommandExecutionError, match=says):
            links.apply()
    assert armed == []


@pytest.mark.parametrize(
    ("family", "address", "told"), [(socket.AF_INET, "127.0.0.1", "127.0.0.1"), (socket.AF_INET6, "::1", "[::1]")]
)
def test_a_master_is_reached_by_the_address_and_the_ports_that_its_minion_knows(
    python_module, monkeypatch, family, address, told
):
    """A minion is told the publishing port as it signs in and keeps it nowhere: 4505 may be another's, or nobody's."""
    links = python_module("links")
    with socket.create_server((address, 0), family=family) as request:
        port = request.getsockname()[1]
        with socket.create_server((address, 0), family=family) as free:
            nobodys = free.getsockname()[1]
        monkeypatch.setattr(links, "REACHED", 0)
        monkeypatch.setattr(links, "PUBLISH", nobodys)
        master = {"master": "salt.example", "master_ip": told, "master_port": port}
        monkeypatch.setattr(links, "__opts__", master, raising=False)
        assert links._reached() == [port]
        monkeypatch.setattr(links, "__opts__", {**master, "publish_port": nobodys})
        with pytest.raises(CommandExecutionError, match=f"port {nobodys} does not answer"):
            links._reached()
        monkeypatch.setattr(links, "__opts__", {**master, "publish_port": port})
        assert links._reached() == [port, port]


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("host", ["osdnode1", "monnode1"])
def test_the_guides_network_is_rendered(modules, backend, host):
    golden = FIXTURES / "networking/apollo" / host / backend
    files = modules[f"links_{backend}.files"](apollo(host))
    assert {path.rpartition("/")[2]: text for path, text in files.items()} == {
        path.name: path.read_text() for path in golden.iterdir()
    }


def test_a_file_of_another_encoding_differs_from_what_is_planned(modules, python_module, tmp_path, monkeypatch):
    """YaST once wrote a card's name into ifcfg files as Latin-1."""
    monkeypatch.setattr(python_module("links_undo"), "HOME", tmp_path)
    monkeypatch.setattr(python_module("links_wicked"), "FOLDER", str(tmp_path))
    theirs = tmp_path / "ifcfg-bond0"
    theirs.write_bytes("NAME='Brücke'\n".encode("latin-1"))
    planned = modules["links_wicked.files"](PLANNED)
    assert modules["links_files.differences"]("links_wicked", PLANNED) == {"written": planned, "removed": []}
    theirs.write_text(planned[str(theirs)])
    assert str(theirs) not in modules["links_files.differences"]("links_wicked", PLANNED)["written"]


def test_what_is_as_planned_has_no_difference(modules):
    links = recorded("bonded")
    assert modules["links_kernel.differences"](PLANNED, links) == {}
    assert modules["links_kernel.ports"](PLANNED, links) == {}
    assert modules["links_kernel.unready"](PLANNED, links) == []


@pytest.mark.parametrize(
    ("otherwise", "told"),
    [
        ({"bond0": {"miimon": 200}}, {"bond0": ["has miimon 100, not 200"]}),
        ({"bond0": {"lacp_rate": "slow"}}, {"bond0": ["has lacp_rate fast, not slow"]}),
        ({"bond0": {"mode": "active-backup"}}, {"bond0": ["has mode 802.3ad, not active-backup"]}),
        ({"bond0": {"mtu": 1500}}, {"bond0": ["has MTU 9000, not 1500"]}),
        ({"bond0": {"gateway": "10.30.0.254"}}, {"bond0": ["lacks the default route by 10.30.0.254"]}),
        ({"bond0_3001": {"id": 7}}, {"bond0.3001": ["is VLAN 3001 on bond0, not 7 on bond0"]}),
        (
            {"bond0_3001": {"addresses": ["10.9.0.1/24"]}},
            {"bond0.3001": ["lacks 10.9.0.1/24", "still has 10.30.1.1/24"]},
        ),
    ],
)
def test_the_kernel_is_asked_not_the_files(modules, otherwise, told):
    assert modules["links_kernel.differences"](changed(**otherwise), recorded("bonded"), PLANNED["links"]) == told


def test_what_the_plan_has_no_more_must_be_gone(modules):
    rest = {**PLANNED, "links": {"bond0": PLANNED["links"]["bond0"]}}
    found = modules["links_kernel.differences"](rest, recorded("bonded"), PLANNED["links"])
    assert found == {"bond0.3001": ["is still there"]}
    assert modules["links_kernel.differences"](rest, recorded("bonded")) == {}  # never ours: not ours to take away


def test_a_port_of_another_bond_is_told(modules):
    links = recorded("bonded")
    links["p2"] = {**links["p2"], "master": "bond9"}
    assert modules["links_kernel.ports"](PLANNED, links) == {"p2": ["is not in bond0"]}


def test_a_port_without_cable_is_not_waited_for(modules):
    """Its port state stays at 63, the last that LACP came to: the carrier is asked first."""
    assert modules["links_kernel.unready"](PLANNED, recorded("one-port-out")) == []


def test_a_port_whose_partner_speaks_no_lacp_is_told(modules):
    (told,) = modules["links_kernel.unready"](PLANNED, recorded("no-partner"))
    assert told == "p2: LACP port state 71, its partner's 0, expected 63: is the switch's port-channel made?"


def test_a_partner_may_be_passive_and_slow(modules):
    """Junos' default; both bits are the partner's own choice."""
    links = recorded("bonded")
    links["p2"]["linkinfo"]["info_slave_data"]["ad_partner_oper_port_state"] = 60
    assert modules["links_kernel.unready"](PLANNED, links) == []


def test_a_bond_without_any_link_is_told(modules):
    links = {name: {**link, "flags": ["NO-CARRIER"]} for name, link in recorded("bonded").items()}
    assert modules["links_kernel.unready"](PLANNED, links) == ["bond0: no port has a link"]


@pytest.fixture
def host(with_pillar, python_module, tmp_path, monkeypatch):
    """A host whose kernel is a recorded one; a function of the plan, the backends that run, changes to the record."""

    def load(network, backends=("networkd",), container=False, **links):
        kernel = recorded("bonded")
        for name, change in links.items():
            kernel[name] = {**kernel[name], **change}
        monkeypatch.setattr(python_module("links"), "CONTAINER", tmp_path if container else tmp_path / "none")
        monkeypatch.setattr(python_module("links_undo"), "HOME", tmp_path)
        routes = [
            {"dst": "default", "dev": name, "gateway": link.pop("via")}
            for name, link in kernel.items()
            if "via" in link
        ]
        monkeypatch.setattr(
            python_module("links_kernel"),
            "_ip",
            lambda *words: (
                [dict(one) for one in kernel.values()] if "address" in words else routes * ("-6" not in words)
            ),
        )
        for backend in BACKENDS:
            module = python_module(f"links_{backend}")
            monkeypatch.setattr(module, "_active", lambda _, backend=backend: backend in backends)
        return with_pillar(ceph={"network": network})

    return load


WIDER = {**PLANNED["links"]["bond0"], "mtu": 9001}


def wider(**more):
    """The plan with another MTU, so that there is something to apply."""
    return {"links": {**PLANNED["links"], "bond0": WIDER}, "ports": PLANNED["ports"], **more}


def test_what_can_be_applied_has_no_problem(host):
    assert host(PLANNED)["links.check"]() == []
    assert host(wider())["links.check"]() == []
    assert "bond0" in host(wider())["links.changes"]()
    routed = {**wider(), "links": {**wider()["links"], "bond0": {**WIDER, "gateway": "10.30.0.254"}}}
    assert host(routed, bond0={"via": "fe80::1"})["links.check"]() == []  # of a router that tells it to everybody


def test_nothing_stands_against_nothing(host):
    assert host({})["links.check"]() == []
    assert host({"seconds": 90})["links.changes"]() == {}  # the site's word for all hosts, no plan for this one
    assert host(PLANNED, container=True)["links.changes"]() == {}  # in a container files are nobody's to write


@pytest.mark.parametrize(
    ("network", "given", "told"),
    [
        (wider(), {"container": True}, "this is a container, its network is its host's to keep"),
        (wider(), {"backends": ()}, "none of networkd, networkmanager, wicked runs"),
        (wider(), {"backends": ("networkd", "wicked")}, "networkd, wicked run: start the one that keeps the network"),
        (wider(), {"p1": {"max_mtu": 4096}}, "p1 can do an MTU of 4096, 9001 is planned: nothing is applied"),
        (wider(), {"p1": {"master": "br0"}}, "p1 is a member of br0: take it out of there or out of the plan"),
        (wider(ports={"p1": None, "p2": None, "p9": None}), {}, "there is no port p9: run ceph.stage.discovery"),
        (
            wider(),
            {"bond0": {"via": "10.30.0.254"}},
            "the default route by 10.30.0.254 lies on bond0 and the plan names no",
        ),
        (
            {**wider(), "links": {**wider()["links"], "bond0": {**WIDER, "gateway": "10.30.0.254"}}},
            {"bond0": {"via": "fd00::1"}},
            "the default route by fd00::1 lies on bond0 and the plan names one gateway, of the other family",
        ),
    ],
)
def test_what_stands_against_a_change_is_one_line(host, network, given, told):
    (line,) = host(network, **given)["links.check"]()
    assert told in line


def test_a_vlan_that_its_own_file_would_bring_again_at_boot_is_named(host, modules, tmp_path):
    """networkd's file of the bond, ours, says which VLANs lie on it; the others ask each VLAN's own file."""
    links = {"bond0": PLANNED["links"]["bond0"], "back": PLANNED["links"]["bond0.3001"]}
    assert host({**PLANNED, "links": links})["links.check"]() == []
    (line,) = host({**PLANNED, "links": links}, ("networkmanager",))["links.check"]()
    assert line.startswith("bond0.3001, which the plan has otherwise, would come again at boot by a file of its own")
    (tmp_path / "applied.json").write_text(json.dumps({"files": [], "links": PLANNED["links"]}))  # the file goes too
    assert modules["links.check"]() == []


@pytest.mark.parametrize(
    ("interfaces", "more", "enabled", "told"),
    [
        ("auto lo\niface lo inet loopback\nauto p1\niface p1 inet static\n  address 10.30.0.1/24\n", "", True, "p1"),
        ("", "allow-hotplug p1 p2\niface p1 inet \\\n dhcp\niface p2 inet6 auto\n", True, "p1, p2"),
        ("", "auto bond0:1\niface bond0:1 inet static\n", True, "bond0"),
        ("auto p1\niface p1 inet static\n", "", False, None),  # systemctl disable networking
        ("auto p1\niface p1 inet manual\n", "# auto p2\niface p2 inet dhcp\n", True, None),
        ("auto p9\niface p9 inet static\n", "auto\niface\n", True, None),
        (None, None, True, None),
    ],
)
def test_what_ifupdown_brings_up_too_stands_against_a_change(
    host, python_module, tmp_path, monkeypatch, interfaces, more, enabled, told
):
    """Of Debian's two ways only networkd is asked whether it runs: the other one runs at boot alone, and would give the
    address to a port of the bond then, long after the change was confirmed.
    """
    monkeypatch.setattr(python_module("links"), "INTERFACES", tmp_path / "interfaces", raising=False)
    if interfaces is not None:
        (tmp_path / "interfaces").write_text(interfaces)
        (tmp_path / "interfaces.d").mkdir()
        (tmp_path / "interfaces.d/cards").write_text(more)
    (tmp_path / "systemctl").write_text(f"#!/bin/sh\nexit {int(not enabled)}\n")
    (tmp_path / "systemctl").chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    against = host(wider())["links.check"]()
    assert against == [] if told is None else against[0].startswith(f"ifupdown brings {told} up at each boot too")


@pytest.fixture
def applied(host, python_module, tmp_path, monkeypatch):
    """Apply the wider plan with programs that only write down how they were called; ``networkctl`` does this too."""

    def apply(networkctl, kernel):
        for name in ("systemd-run", "systemctl", "sync", "links-undo", "networkctl"):
            (tmp_path / name).write_text(f'#!/bin/sh\necho {name} "$@" >>{tmp_path}/called\n')
            (tmp_path / name).chmod(0o755)
        (tmp_path / "networkctl").write_text(f"#!/bin/sh\n{networkctl}\n")
        (tmp_path / "files").mkdir()
        monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
        monkeypatch.setattr(python_module("links"), "LEAST", 0)
        monkeypatch.setattr(
            python_module("links"), "_silent", lambda ports: []
        )  # a real master: tests/kernel/test_networks.py
        monkeypatch.setattr(python_module("links_networkd"), "FOLDER", str(tmp_path / "files"))
        for name in ("RECORD", "UNDOING", "UNDONE", "BEFORE"):
            monkeypatch.setattr(python_module("links_undo"), name, tmp_path / name.lower())
        monkeypatch.setattr(python_module("links_undo"), "SCRIPT", str(tmp_path / "links-undo"))
        modules = host(wider())
        before, reloaded = python_module("links_kernel")._ip, tmp_path / "reloaded"

        def ip(*words):
            return kernel(before(*words)) if reloaded.exists() else before(*words)

        monkeypatch.setattr(python_module("links_kernel"), "_ip", ip)
        monkeypatch.setattr(python_module("links_plan"), "NET", tmp_path)
        (tmp_path / "bond0/bonding").mkdir(parents=True)
        return modules["links.apply"](1)

    return apply


def test_a_change_that_the_kernel_takes_is_confirmed(applied, modules, tmp_path):
    def kernel(found):
        return [{**link, "mtu": 9001} if link.get("ifname") == "bond0" else link for link in found]

    changes = applied(f"touch {tmp_path}/reloaded", kernel)
    assert "MTU" in changes["bond0"] and changes[f"{tmp_path}/files/05-halocline-bond0.network"] == "is written"
    assert "MTUBytes=9001" in (tmp_path / "files/05-halocline-bond0.network").read_text()
    called = (tmp_path / "called").read_text().splitlines()
    assert any(line.startswith("systemd-run --unit=links-undo-timer --collect --on-active=1") for line in called)
    assert [line for line in called if line.startswith("links-undo")] == [] and not (tmp_path / "record").exists()
    assert "bond0" in modules["links_undo.applied"]()["links"]
    assert modules["links.changes"]() == {}


@pytest.mark.parametrize(
    ("networkctl", "why"),
    [
        ("exit 0", "bond0 has MTU 9000, not 9001"),
        ("echo no such bus >&2; exit 4", "'networkctl reload' on .*: exit status 4: no such bus"),
    ],
)
def test_a_change_that_fails_is_rolled_back(applied, modules, tmp_path, networkctl, why):
    with pytest.raises(CommandExecutionError, match=f"^rolled back, the network is as it was: .*{why}"):
        applied(networkctl, None)
    called = (tmp_path / "called").read_text().splitlines()
    (line,) = [line for line in called if line.startswith("links-undo")]  # the script that puts everything back
    assert line.startswith(("links-undo bond0 has MTU", "links-undo 'networkctl reload'"))
    assert modules["links_undo.applied"]()["links"] == {}


@pytest.fixture
def undo(modules, python_module, tmp_path, monkeypatch):
    """The rollback with its real script, whose home is of this test, and systemd as a program that lists its timers."""
    home, programs = tmp_path / "links", tmp_path / "programs"
    programs.mkdir()
    monkeypatch.setattr(python_module("links_undo"), "HOME", home)
    for name in ("undo", "undoing", "undone"):
        monkeypatch.setattr(python_module("links_undo"), {"undo": "RECORD"}.get(name, name.upper()), home / name)
    monkeypatch.setattr(python_module("links_undo"), "SCRIPT", str(programs / "links-undo"))
    timer = f"{tmp_path}/timer"
    texts = {
        "links-undo": UNDO.read_text().replace("home=/var/lib/halocline/links", f"home={home}"),
        "sync": "#!/bin/sh\n",
        "systemd-run": f"#!/bin/sh\n[ ! -e {tmp_path}/refuses ] && touch {timer}\n",
        "systemctl": f'#!/bin/sh\n[ "$1" = stop ] || exec test -e {timer}\n[ -e {tmp_path}/killed ] || rm -f {timer}\n'
        f"[ ! -e {tmp_path}/killed ] || kill -9 $PPID\n",
    }
    for name, text in texts.items():
        (programs / name).write_text(text)
        (programs / name).chmod(0o755)
    monkeypatch.setenv("PATH", str(programs), prepend=":")
    return home


def test_what_a_power_failure_left_goes_with_the_rollback(modules, undo, tmp_path):
    """A file is written under another name first; the host went down before it had its own."""
    folder = tmp_path / "system-connections"
    folder.mkdir()
    (folder / "bond0").write_text("old")
    modules["links_undo.arm"]([str(folder / "bond0"), str(folder / "bond1")], [], 60)
    (folder / ".bond0.new").write_text("half")
    (folder / "bond1").write_text("new")
    assert subprocess.run(["links-undo", "boot"], check=False).returncode == 0
    assert {path.name: path.read_text() for path in folder.iterdir()} == {"bond0": "old"}
    assert "before the host went down" in (undo / "undone/reason").read_text()


def test_a_change_that_takes_the_name_servers_is_rolled_back(applied, modules, tmp_path, monkeypatch):
    """The master still answers by the address that the minion knows; one that starts anew would ask for its name."""

    def kernel(found):
        return [{**link, "mtu": 9001} if link.get("ifname") == "bond0" else link for link in found]

    def asked(name, *_, **__):
        if (tmp_path / "reloaded").exists():
            raise socket.gaierror(socket.EAI_AGAIN, "Temporary failure in name resolution")
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", ("192.0.2.1", 0))]

    monkeypatch.setattr(socket, "getaddrinfo", asked)
    with pytest.raises(CommandExecutionError, match="rolled back.* leads to no address any more, .* /etc/hosts"):
        applied(f"touch {tmp_path}/reloaded", kernel)
    assert modules["links_undo.applied"]()["links"] == {}


def test_a_rollback_leaves_folders_as_they_are(modules, undo, tmp_path):
    """Kept files lie in folders of ours: those of the host, and ``/`` above them, have their own modes and labels.
    Names of NetworkManager's files hold spaces.
    """
    folder = tmp_path / "system-connections"
    folder.mkdir(mode=0o700)
    file = folder / "Wired connection 1.nmconnection"
    file.write_text("old")
    modules["links_undo.arm"]([str(file)], [], 60)
    file.write_text("new")
    os.utime(folder, (1, 1))
    modules["links_undo.roll_back"]("asked for")
    assert file.read_text() == "old" and "asked for" in modules["links_undo.undone"]()
    assert (folder.stat().st_mode & 0o777, int(folder.stat().st_mtime)) == (0o700, 1)


@pytest.mark.slow
def test_a_rollback_that_could_not_put_a_file_back_says_so_and_is_done_again(modules, undo, tmp_path):
    folder = tmp_path / "system-connections"
    folder.mkdir()
    (folder / "bond0").write_text("old")
    modules["links_undo.arm"]([str(folder / "bond0")], [], 60)
    folder.rename(tmp_path / "away")
    with pytest.raises(CommandExecutionError, match="links-undo asked for.* exit status 1: cp: "):
        modules["links_undo.roll_back"]("asked for")
    assert modules["links_undo.undone"]() is None
    folder.mkdir()
    assert subprocess.run(["links-undo", "boot"], check=False).returncode == 0
    assert (folder / "bond0").read_text() == "old" and "before the host went" in modules["links_undo.undone"]()


def test_a_timer_that_cannot_be_started_holds_no_later_change_back(modules, undo, tmp_path):
    (tmp_path / "refuses").touch()
    with pytest.raises(CommandExecutionError, match="'systemd-run .* exit status 1"):
        modules["links_undo.arm"]([], [], 60)
    (tmp_path / "refuses").unlink()
    modules["links_undo.arm"]([], [], 60)
    assert (undo / "undo").is_dir()


def test_nothing_is_changed_where_the_timer_has_ended_before_the_record_was_there(modules, undo, tmp_path):
    """On a host so busy that the timer's start took as long as the timer."""
    (tmp_path / "programs/systemd-run").write_text("#!/bin/sh\n")
    with pytest.raises(CommandExecutionError, match="the timer of 10 s ended before anything was changed"):
        modules["links_undo.arm"]([], [], 10)


def killed_in(tmp_path, function):
    """Run a function in a process that is killed where it asks systemd to stop the timer; how it ended."""
    (tmp_path / "killed").touch()
    if not (child := os.fork()):
        function()
        os._exit(0)
    ended = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    (tmp_path / "killed").unlink()
    return ended


@pytest.mark.slow
def test_a_minion_killed_as_it_confirms_leaves_nothing_that_a_boot_undoes(modules, undo, tmp_path):
    (tmp_path / "file").write_text("old")
    modules["links_undo.arm"]([str(tmp_path / "file")], [], 60)
    (tmp_path / "file").write_text("new")
    assert killed_in(tmp_path, modules["links_undo.confirm"]) == -9
    assert subprocess.run(["links-undo", "boot"], check=False).returncode == 0
    assert (tmp_path / "file").read_text() == "new"


@pytest.mark.slow
def test_a_minion_killed_as_it_confirms_knows_what_is_its_own(modules, undo, tmp_path):
    """By it a later plan takes away a VLAN and its file that this one had."""
    first, second = ({"files": [f"/etc/{number}"], "links": {}} for number in (1, 2))
    modules["links_undo.arm"]([], [], 60, first)
    assert modules["links_undo.applied"]() == {"files": [], "links": {}}
    assert killed_in(tmp_path, modules["links_undo.confirm"]) == -9
    (tmp_path / "timer").unlink()
    assert modules["links_undo.applied"]() == first
    modules["links_undo.arm"]([], [], 60, second)
    assert modules["links_undo.applied"]() == first
    assert modules["links_undo.confirm"]() and modules["links_undo.applied"]() == second
    modules["links_undo.arm"]([], [], 60, first)
    modules["links_undo.roll_back"]("asked for")
    assert modules["links_undo.applied"]() == second and not (undo / "confirmed").exists()


@pytest.mark.slow
def test_a_minion_killed_as_it_rolls_back_has_put_the_network_back(modules, undo, tmp_path):
    (tmp_path / "file").write_text("old")
    modules["links_undo.arm"]([str(tmp_path / "file")], [], 60)
    (tmp_path / "file").write_text("new")
    assert killed_in(tmp_path, lambda: modules["links_undo.roll_back"]("asked for")) == -9
    assert (tmp_path / "file").read_text() == "old"


def test_what_is_not_confirmed_is_not_as_planned(host, python_module, tmp_path, monkeypatch):
    """The kernel has all of it, and the timer would take it back."""
    for name in ("RECORD", "UNDOING"):
        monkeypatch.setattr(python_module("links_undo"), name, tmp_path / name.lower(), raising=False)
    modules = host(PLANNED, container=True)
    assert modules["links.changes"]() == {}
    for name in ("record", "undoing"):
        (tmp_path / name).mkdir()
        assert modules["links.changes"]() == {"the last change": "is not confirmed"}
        (tmp_path / name).rmdir()


@pytest.mark.slow
def test_what_nobody_ends_any_more_is_ended_before_the_next_change(modules, undo, tmp_path):
    (tmp_path / "file").write_text("old")
    modules["links_undo.arm"]([str(tmp_path / "file")], [], 60)
    (tmp_path / "file").write_text("new")
    with pytest.raises(CommandExecutionError, match="a change is under way, or its rollback"):
        modules["links_undo.finish"]()
    (undo / "undo").rename(undo / "undoing")
    (tmp_path / "timer").unlink()  # it has run, and its script was killed on the way
    modules["links_undo.finish"]()
    assert (tmp_path / "file").read_text() == "old" and not (undo / "undoing").exists()
    modules["links_undo.arm"]([], [], 60)


@pytest.fixture
def nmcli(python_module, tmp_path, monkeypatch):
    """NetworkManager on a host whose links are gone: what nmcli is asked, and what is active."""
    asked = []

    def run(words, limit):
        asked.append(" ".join(words))
        return "p1:0a-1\nlo:0a-2\n" if "--active" in words else ""

    monkeypatch.setattr(python_module("links").halocline, "run", run)
    monkeypatch.setattr(python_module("links_networkmanager"), "FOLDER", str(tmp_path))
    monkeypatch.setattr(python_module("links"), "NET", tmp_path)
    monkeypatch.setattr(python_module("links_undo"), "HOME", tmp_path)
    return asked


def test_networkmanager_goes_back_to_what_was_active_and_connects_nothing_else(modules, nmcli):
    commands = modules["links_networkmanager.undo"](["p1", "p2"], ["bond0", "p1", "p2", "bond0.3001"])
    assert commands == ["nmcli --wait 30 connection up uuid 0a-1"]


def test_with_a_bond_that_is_made_again_its_ports_and_vlans_come_up(
    modules, python_module, nmcli, tmp_path, monkeypatch
):
    """Their files did not change, and with the bond they lost what they were connected to."""
    monkeypatch.setattr(python_module("links"), "__salt__", modules)
    slow = changed(bond0={"lacp_rate": "slow"})
    path = f"{tmp_path}/halocline-bond0.nmconnection"
    files = {"written": {path: modules["links_networkmanager.files"](slow)[path]}, "removed": []}
    steps = {"deleted": ["bond0.3001", "bond0"], "options": {}}
    python_module("links")._carry_out(slow, "links_networkmanager", files, steps)
    ups = [f"nmcli --wait 30 connection up halocline-{name}" for name in ("bond0", "p1", "p2", "bond0.3001")]
    assert nmcli == ["nmcli connection reload", *ups]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("printed", "says"),
    [
        ("iperf3: out of memory", "it printed no measurement: iperf3: out of memory"),
        ('{"start": {"connected": [', 'it printed no measurement: {"start": {"connected": ['),
        ('{"start": {}, "end": {}}', 'it printed no measurement: {"start": {}, "end": {}}'),
        ("[]", "it printed no measurement: []"),
        ('{"error": "unable to connect"}', "unable to connect"),
        ("", "it printed no measurement: nothing"),
    ],
)
def test_a_measurement_that_iperf3_does_not_tell_is_one_line(
    modules, python_module, tmp_path, monkeypatch, printed, says
):
    """It was killed, is of another version, or says in plain words what it lacks."""
    monkeypatch.setattr(python_module("links_proof"), "LIMIT", 1)
    (tmp_path / "iperf3").write_text(f"#!/bin/sh\necho '{printed}'\n")
    (tmp_path / "iperf3").chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    assert modules["links_proof.rate"]("10.0.0.1", 5201, 0, 1) == f"after 0.5 s: iperf3: {says}"
