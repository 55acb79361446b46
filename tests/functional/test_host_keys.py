"""What a host tells of its keys, and who may replace the cluster's: Salt's loader, and a ``ceph`` that is played."""

import hashlib
import json
from pathlib import Path

import pytest
import yaml
from salt.exceptions import CommandExecutionError

KEYS = {name: f"AQB{name[-1] * 35}==" for name in ("mon.", "client.admin", "client.bootstrap-osd", "mgr.a")}
KEYS["mon."] = f"AQB{'m' * 35}=="
OTHER = f"AQB{'z' * 35}=="


def digest(key):
    return hashlib.sha256(key.encode()).hexdigest()


def keyring(*names, **other):
    keys = {name: other.get(name.replace(".", "_").replace("-", "_"), KEYS[name]) for name in names}
    return "".join(f'[{name}]\n\tkey = {key}\n\tcaps mon = "allow *"\n' for name, key in keys.items())


@pytest.fixture
def ceph(tmp_path, monkeypatch):
    """A function: a ``ceph`` that answers so, by a word of what it is asked."""
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")

    def play(**answers):
        cases = "".join(f"*{word}*) cat <<'EOF'\n{text}\nEOF\n;;\n" for word, text in answers.items())
        (tmp_path / "ceph").write_text(f'#!/bin/sh\ncase "$*" in\n{cases}esac\n')
        (tmp_path / "ceph").chmod(0o755)

    return play


@pytest.fixture
def host(python_module, monkeypatch, tmp_path):
    """A host with a monitor's store, the admin's key, and a store that cephadm made."""
    module = python_module("host_keys")
    for name in ("ETC", "LIB", "RUN"):
        (tmp_path / name).mkdir()
        monkeypatch.setattr(module, name, tmp_path / name)
    own = tmp_path / "LIB/mon/ceph-node1"
    (own / "store.db").mkdir(parents=True)
    (own / "keyring").write_text(keyring("mon.", "client.admin"))
    (tmp_path / "LIB/mon/half-made").mkdir()
    adm = tmp_path / "LIB/5bd9f8f0-5f5e-4a0e-9a5e-000000000002/mon.x"
    adm.mkdir(parents=True)
    (tmp_path / "ETC/ceph.client.admin.keyring").write_text(keyring("client.admin").replace("\t", ""))
    (tmp_path / "RUN/ceph-mon.node1.asok").touch()
    return {
        "own": str(own / "keyring"),
        "adm": str(adm / "keyring"),
        "etc": str(tmp_path / "ETC/ceph.client.admin.keyring"),
    }


def test_hashes_of_what_lies_on_the_host(modules, host):
    hashes = modules["host_keys.inspect"]()
    assert hashes == {
        host["own"]: {name: digest(KEYS[name]) for name in ("mon.", "client.admin")},
        host["adm"]: {},
        host["etc"]: {"client.admin": digest(KEYS["client.admin"])},
    }
    assert "AQB" not in json.dumps(hashes)


@pytest.fixture
def monitor(python_module, monkeypatch):
    """A function: what this host's monitor says of itself by its admin socket."""
    socket = python_module("host_keys").halocline_socket
    return lambda status: monkeypatch.setattr(socket, "ask", lambda *_: status)


def test_a_monitor_in_quorum_is_asked_for_all(modules, host, ceph, monitor):
    known = {"auth_dump": [{"entity": "client.admin", "key": OTHER}, {"entity": "osd.0", "key": OTHER}]}
    monitor({"state": "peon"})
    ceph(auth=json.dumps(known))
    told = modules["host_keys.inspect"](ask=True)
    assert told["monitors"] == {"client.admin": digest(OTHER), "osd.0": digest(OTHER)}
    for state, auth in (({"state": "probing"}, known), ({"state": "peon"}, None), (None, known), ([], known)):
        monitor(state)
        ceph(auth=json.dumps(auth))
        assert "monitors" not in modules["host_keys.inspect"](ask=True)


def test_a_monitor_that_hangs_is_not_waited_for(modules, host, monitor, tmp_path, python_module, monkeypatch):
    monitor({"state": "leader"})
    monkeypatch.setattr(python_module("host_keys"), "LIMIT", 0.2)
    (tmp_path / "ceph").write_text("#!/bin/sh\nexec sleep 60\n")
    (tmp_path / "ceph").chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    assert set(modules["host_keys.inspect"](ask=True)) == set(host.values())


def registering(with_pillar, **earlier):
    names = ("client.bootstrap-osd", "mgr.a")
    secrets = {"register": keyring(*names), "mon": keyring("mon.", "client.admin")}
    return with_pillar(
        ceph_secrets=secrets, ceph_earlier_keys={name.replace("_", "."): told for name, told in earlier.items()}
    )


def known(**keys):
    entries = {name.replace("__", "-").replace("_", "."): key for name, key in keys.items()}
    caps = {"mon": "allow *"}
    return json.dumps({"auth_dump": [{"entity": name, "key": key, "caps": caps} for name, key in entries.items()]})


def test_a_key_that_the_master_never_made_is_not_replaced(with_pillar, ceph):
    modules = registering(with_pillar)
    ceph(auth=known(mgr_a=OTHER))
    with pytest.raises(
        CommandExecutionError, match="^mgr.a: the cluster has another key than the master.*nothing was"
    ) as no:
        modules["cluster_auth.missing"]()
    assert "AQB" not in str(no.value)


def test_one_that_was_rotated_is(with_pillar, ceph):
    ceph(auth=known(mgr_a=OTHER, client_bootstrap__osd=KEYS["client.bootstrap-osd"]))
    assert registering(with_pillar, mgr_a=[digest(OTHER)])["cluster_auth.missing"]() == {"mgr.a": "fresh key"}


def test_a_key_is_made_and_one_of_the_masters_changes_what_it_allows(with_pillar, ceph):
    told = json.loads(known(client_bootstrap__osd=KEYS["client.bootstrap-osd"]))
    told["auth_dump"][0]["caps"] = {"mon": "allow r"}
    ceph(auth=json.dumps(told))
    assert registering(with_pillar)["cluster_auth.missing"]() == {
        "client.bootstrap-osd": "capabilities", "mgr.a": "new"
    }  # fmt: skip


def test_how_the_cluster_is_given_what_it_lacks(with_pillar, ceph, tmp_path):
    """Keys by standard input alone; what a site wrote itself by commands that refuse what is no capability."""
    names = ("client.a", "client.b", "client.c", "mgr.a", "mgr.b")
    ring = "".join(f'[{name}]\n\tkey = {OTHER}\n\tcaps mon = "allow r"\n' for name in names)
    earlier = {name: [digest(KEYS["mgr.a"])] for name in names}
    own = {"client.a": {}, "client.b": {}, "client.c": {}}
    modules = with_pillar(ceph_secrets={"register": ring}, ceph_earlier_keys=earlier, ceph_keys=own)
    held = {"client.b": OTHER, "client.c": KEYS["mgr.a"], "mgr.b": KEYS["mgr.a"]}
    entries = [{"entity": name, "key": key, "caps": {"mon": "allow *"}} for name, key in held.items()]
    (tmp_path / "auth").write_text(json.dumps({"auth_dump": entries}))
    ceph()
    script = 'case "$*" in *ls*) cat {0}/auth;; *) echo "$*" >>{0}/asked; [ -t 0 ] || cat >>{0}/asked;; esac\n'
    (tmp_path / "ceph").write_text("#!/bin/sh\n" + script.format(tmp_path))
    assert modules["cluster_auth.register"]()
    asked = (tmp_path / "asked").read_text().replace("--connect-timeout 30 ", "").split("auth ")[1:]
    assert [part.partition("\n")[0] for part in asked] == [
        "add client.a mon allow r -i -", "caps client.b mon allow r", "caps client.c mon allow r", "import -i -"
    ]  # fmt: skip
    assert asked[0].partition("\n")[2] == f"[client.a]\n\tkey = {OTHER}\n"
    assert asked[3].partition("\n")[2] == "".join(
        f'[{name}]\n\tkey = {OTHER}\n\tcaps mon = "allow r"\n' for name in ("client.c", "mgr.a", "mgr.b")
    )


def test_older_keys_are_named_and_those_of_which_a_rotation_did_not_end(with_pillar, ceph, tmp_path):
    """A key that the cluster has already, and its OSD has not, is no older one any more."""
    modules = with_pillar(ceph_secrets={"osd.3": f"AgB{'n' * 56}="})
    ceph()
    (tmp_path / "begun").write_text("{}")
    script = """#!/bin/sh
case "$*" in
  *config-key*dump*) cat {0}/begun;;
  *config-key*set*halocline/key/osd.3*) echo '{{"halocline/key/osd.3": "begun"}}' >{0}/begun;;
  *config-key*rm*halocline/key/osd.3*) echo '{{}}' >{0}/begun;;
  *auth*ls*) cat {0}/auth;;
  *auth*import*) grep -q 'key = Ag' && sed -i 's/AQB3*==/AgB=/' {0}/auth;;
esac
"""
    (tmp_path / "ceph").write_text(script.format(tmp_path))
    held = {"client.new": "AgB=", "osd.3": f"AQB{'3' * 35}==", "osd.4": OTHER}
    entries = [{"entity": name, "key": key, "caps": {"mon": "allow *"}} for name, key in held.items()]
    (tmp_path / "auth").write_text(json.dumps({"auth_dump": entries}))
    assert modules["cluster_auth.older"]() == {"older": ["osd.3", "osd.4"]}
    assert modules["cluster_auth.replace"]("osd.3")
    assert "AgB=" in (tmp_path / "auth").read_text() and f"AQB{'3' * 35}" not in (tmp_path / "auth").read_text()
    assert modules["cluster_auth.older"]() == {"older": ["osd.3", "osd.4"]}
    assert modules["cluster_auth.replaced"]("osd.3")
    assert modules["cluster_auth.older"]() == {"older": ["osd.4"]}


SERVED = yaml.load((Path(__file__).parents[1] / "fixtures/keys/served.yaml").read_text(), yaml.CSafeLoader)


@pytest.mark.parametrize("case", SERVED, ids=lambda case: case["name"])
def test_no_key_loses_what_is_served_by_it(case, with_pillar, ceph, tmp_path):
    """Whatever the settings name: what is there stays open, and what is gone is no longer."""
    lines = "".join(f'\tcaps {service} = "{cap}"\n' for service, cap in case["planned"].items())
    register = {"register": f"[{case['entity']}]\n\tkey = {OTHER}\n{lines}"}
    modules = with_pillar(ceph_secrets=register, ceph_keys=case.get("ceph_keys", {}))
    auth = {"auth_dump": [{"entity": case["entity"], "key": OTHER, "caps": case["had"]}]}
    systems = [{"mdsmap": {"fs_name": name}} for name in case.get("file_systems", ())]
    ceph(auth=json.dumps(auth), dump=json.dumps({"filesystems": systems}))
    with (tmp_path / "ceph").open("a") as script:
        script.write(f'case "$*" in *auth*caps*) shift 2; echo "$*" >{tmp_path}/told; esac\n')
    record = "echo 'error: (2) No such file or directory' >&2; exit 1"
    if "record" in case:
        record = f"test \"$*\" = '--pool iscsi get gateway.conf -' && cat <<'EOF'\n{case['record']}\nEOF"
    (tmp_path / "rados").write_text(f"#!/bin/sh\n{record}\n")
    (tmp_path / "rados").chmod(0o755)
    if "refused" in case:
        with pytest.raises(CommandExecutionError, match=case["refused"]):
            modules["cluster_auth.register"]()
    else:
        assert modules["cluster_auth.register"]()
    assert (tmp_path / "told").exists() is ("given" in case)
    if "given" in case:
        words = " ".join(f"{service} {cap}" for service, cap in sorted(case["given"].items()))
        assert (tmp_path / "told").read_text() == f"auth caps {case['entity']} {words}\n"


def test_the_bootstrap_key_that_monitors_made_is_replaced_until_an_osd_used_it(with_pillar, ceph):
    modules = registering(with_pillar)
    fresh = {"client_bootstrap__osd": OTHER, "mgr_a": KEYS["mgr.a"]}
    ceph(auth=known(**fresh))
    assert modules["cluster_auth.missing"]() == {"client.bootstrap-osd": "fresh key"}
    ceph(auth=known(**fresh, osd_0=OTHER))
    with pytest.raises(CommandExecutionError, match="^client.bootstrap-osd: the cluster has another key"):
        modules["cluster_auth.missing"]()


def test_the_admins_key_is_replaced_only_by_a_rotated_one(with_pillar, ceph):
    for key, differs in ((KEYS["client.admin"], False), (OTHER, True)):
        ceph(auth=json.dumps({"key": key}))
        assert registering(with_pillar, client_admin=[digest(OTHER)])["cluster_auth.admin_differs"]() is differs
    with pytest.raises(CommandExecutionError, match="^client.admin: the cluster has another key"):
        registering(with_pillar)["cluster_auth.admin_differs"]()
