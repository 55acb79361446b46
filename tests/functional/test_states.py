"""States of our own, run by Salt on files of this machine, and the SLS that use them."""

import inspect
import re
from pathlib import Path

import pytest
import salt.loader
import salt.state
from cryptography import x509
from salt.exceptions import CommandExecutionError

from proposals.pillar.secrets import new_key

SALT = Path(__file__).parent.parent.parent / "salt"
STATES = {path.stem for path in (SALT / "_states").glob("*.py")}
NAMES = [
    ".".join(path.relative_to(SALT).with_suffix("").parts).removesuffix(".init")
    for path in sorted((SALT / "ceph").rglob("*.sls"))
]


@pytest.fixture
def run(loaders, with_pillar):
    """A function: the answer of one state, run as ``state.single`` does where the pillar has these keys besides."""

    def call(what, name, pillar=None, **arguments):
        with_pillar(**(pillar or {}))
        return loaders.states[what](name=str(name), **arguments)

    return call


SECRETS = {"host_secret.managed": {"use": "mds"}, "host_secret.rendered": {"source": "salt://keyring.j2"}}
NAIVE = {"contents_pillar": "ceph_secrets:mds"}


@pytest.fixture
def template(minion):
    """The template of ``SECRETS``, which the site brings."""
    with minion.state_tree.base.temp_file("keyring.j2", "{{ pillar['ceph_secrets']['mds'] }}\n"):
        yield


@pytest.mark.slow
@pytest.mark.parametrize("what", SECRETS)
def test_a_changed_secret_is_written_and_never_returned(run, template, tmp_path, what):
    file, keys = tmp_path / "ceph-mds/keyring", [new_key(), new_key()]
    pillars = [{"ceph_secrets": {"mds": f"[mds.node1]\n\tkey = {key}\n"}} for key in keys]

    def shown(what, pillar, **arguments):
        """The keys that a state's answer shows, in test mode and when it changes the file."""
        answers = [run(what, file, pillar, test=test, **arguments) for test in (True, False)]
        assert [answer["result"] for answer in answers] == [None, True] and all(answer["changes"] for answer in answers)
        return [key for key in keys if key in repr(answers)]

    for key, pillar in zip(keys, pillars, strict=True):
        assert shown(what, pillar, **SECRETS[what]) == []
        assert key in file.read_text() and file.stat().st_mode & 0o777 == 0o600
    assert run(what, file, pillars[1], **SECRETS[what])["changes"] == {}
    assert shown("file.managed", pillars[0], **NAIVE) == keys  # as Salt's own state does


@pytest.mark.slow
def test_a_keyring_is_written_for_its_keys_alone(run, tmp_path):
    """Daemons are restarted where theirs is newer than they, and a list of exports changes capabilities."""
    file, key, other = tmp_path / "keyring", new_key(), new_key()

    def changes(text, test=False):
        pillar = {"ceph_secrets": {"ganesha": text}}
        return run("host_secret.managed", file, pillar, use="ganesha", test=test)["changes"]

    ring = f"[client.a]\n\tkey = {key}\n"
    assert changes(f'{ring}\tcaps osd = "allow r"\n')
    before = file.stat()
    for test in (True, False):
        assert changes(f'{ring}\tcaps osd = "allow rw"\n', test) == changes(ring, test) == {}
    assert (file.stat().st_mtime_ns, file.stat().st_ino) == (before.st_mtime_ns, before.st_ino)
    file.chmod(0o644)
    assert changes(ring) and file.stat().st_mode & 0o777 == 0o600
    for text in (ring.replace(key, other), f"{ring}[client.b]\n\tkey = {other}\n", ring):  # the last has one less
        assert changes(text, test=True) and changes(text) and file.read_text() == text


@pytest.mark.slow
def test_a_secret_that_this_host_was_not_told(run, tmp_path):
    answer = run("host_secret.managed", tmp_path / "keyring", {"ceph_secrets": {"mgr": "x"}}, use="mds")
    assert answer["result"] is False and "no secret 'mds': run ceph.stage.configure" in answer["comment"]
    assert not (tmp_path / "keyring").exists()


@pytest.mark.slow
def test_no_sls_writes_a_secret_but_by_the_state_that_hides_it(show_sls):
    def shows(chunk):
        sources = re.findall(r"salt://(\S+?)['\"]", repr(chunk))
        texts = [repr(chunk), *((SALT / path).read_text() for path in sources if (SALT / path).exists())]
        return chunk["state"] != "host_secret" and any("ceph_secrets" in text for text in texts)

    assert shows({"state": "file", **NAIVE})  # it can find one
    assert shows({"state": "file", "source": "salt://ceph/service/rgw-users/files/credentials.j2"})
    assert [chunk for sls in NAMES for chunk in show_sls(sls) if shows(chunk)] == []
    assert [path for path in SALT.rglob("*.sls") if "ceph_secrets" in path.read_text()] == []  # nor its value


@pytest.mark.slow
def test_a_certificate_and_its_key_are_made_once(run, tmp_path):
    key, names = tmp_path / "a.key", "DNS:node1, IP:10.0.0.1"
    arguments = {"key": str(key), "common_name": "ceph", "names_of": names}
    would = run("host_certificate.self_signed", tmp_path / "a.crt", test=True, **arguments)
    assert would["result"] is None and would["changes"] and not key.exists()
    made = run("host_certificate.self_signed", tmp_path / "a.crt", **arguments)
    assert made["result"] is True and set(made["changes"]) == {str(key), f"{tmp_path}/a.crt"}
    assert "PRIVATE" in key.read_text() and "PRIVATE" not in repr(made)
    certificate = x509.load_pem_x509_certificate((tmp_path / "a.crt").read_bytes())
    asked = certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    assert asked.get_values_for_type(x509.DNSName) == ["node1"]
    for test in (False, True):  # the one that a look asks for finds nothing either
        again = run("host_certificate.self_signed", tmp_path / "a.crt", test=test, **arguments)
        assert (again["result"], again["changes"], again.full_return.get("warnings", [])) == (True, {}, []), again


@pytest.mark.slow
def test_a_daemon_is_started_with_both_lists(run, tmp_path):
    (tmp_path / "prometheus").write_text('# ours\nARGS="--old"\n')
    arguments = {"variable": "ARGS", "always": ["--web=1"], "more": ["--keep=2"]}
    assert run("host_daemon.arguments", tmp_path / "prometheus", **arguments)["changes"]
    assert (tmp_path / "prometheus").read_text() == '# ours\nARGS="--web=1 --keep=2"\n'
    for test in (False, True):
        again = run("host_daemon.arguments", tmp_path / "prometheus", test=test, **arguments)
        assert (again["result"], again["changes"]) == (True, {})


SALTS = {  # of Salt's own states, those that parts of services alone use: what Grafana and Prometheus are told
    "ini.options_present": {"separator": "=", "sections": {"server": {"protocol": "https", "http_port": 3000}}},
    "file.serialize": {"dataset_pillar": "told", "serializer": "yaml", "check_cmd": "true"},
}


@pytest.mark.slow
@pytest.mark.parametrize("what", SALTS)
def test_salts_own_states_say_in_test_mode_that_nothing_is_to_be_done_and_what_drifted(run, tmp_path, what):
    file, pillar = tmp_path / "conf", {"told": {"global": {"scrape_interval": "5s"}}}
    file.write_text("; as its package brings it\n[server]\n;protocol = http\n")
    said = [run(what, file, pillar, test=test, **SALTS[what]) for test in (True, False, True)]
    assert [answer["result"] for answer in said] == [None, True, True]
    assert said[2]["changes"] == {} and "warnings" not in said[2].full_return
    file.write_text(file.read_text().replace("3000", "80").replace("5s", "50s"))
    assert run(what, file, pillar, test=True, **SALTS[what])["result"] is None


@pytest.mark.slow
def test_every_state_of_ours_exists_and_takes_what_an_sls_gives_it(show_sls, loaders):
    # What ``loaders.states`` holds are wrappers, which take anything.
    functions = salt.loader.states(loaders.opts, loaders.modules, loaders.utils, loaders.serializers, STATES)

    def wrong(chunk):
        name = f"{chunk['state']}.{chunk['fun']}"
        if chunk["state"] not in STATES:
            return False
        if name not in functions:
            return True
        takes = inspect.signature(functions[name]).parameters
        known = {*takes, *salt.state.STATE_INTERNAL_KEYWORDS}
        lacks = [key for key, each in takes.items() if each.default is each.empty and key not in (*chunk, "kwargs")]
        return bool(lacks) or ("kwargs" not in takes and not set(chunk) <= known)

    assert wrong({"state": "mon", "fun": "destroyed"})  # it can find one
    assert wrong({"state": "mon", "fun": "created", "name": "x", "soon": True})
    assert wrong({"state": "host_secret", "fun": "managed", "name": "x"})
    assert [chunk for sls in NAMES for chunk in show_sls(sls) if wrong(chunk)] == []


@pytest.mark.slow
def test_a_server_joins_the_grace_database_though_its_tool_crashes(run, modules, tmp_path, monkeypatch):
    database = tmp_path / "database"
    database.touch()
    programs = {
        "rados": f'[ "$1 $2 $7" = "--id ganesha.node1 listomapkeys" ] && cat {database}',
        "ganesha-rados-grace": f'[ "$7" = add ] && echo "$8" >>{database}; kill -SEGV $$',
    }
    for name, script in programs.items():
        (tmp_path / name).write_text(f"#!/bin/sh\n{script}\n")
        (tmp_path / name).chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    arguments = {"user": "ganesha.node1", "pool": ".nfs", "namespace": "ganesha"}
    would = run("ganesha_grace.member", "node1", test=True, **arguments)
    assert (would["result"], database.read_text()) == (None, "")
    assert run("ganesha_grace.member", "node1", **arguments)["changes"] == {"member": "node1"}
    assert run("ganesha_grace.member", "node1", **arguments)["changes"] == {}
    (tmp_path / "ganesha-rados-grace").write_text("#!/bin/sh\nexit 0\n")  # says that all is well, and it is not
    with pytest.raises(CommandExecutionError, match="the grace database has no key node2"):
        modules["ganesha_grace.join"]("node2", **arguments, limit=0)


@pytest.mark.slow
def test_chrony_is_told_the_sites_sources(run, tmp_path):
    source = "salt://ceph/host/time/files/chrony.conf.j2"
    answer = run("host_time.rendered", tmp_path / "chrony.conf", {"time_server": "ntp.example"}, source=source)
    assert answer["result"] is True
    assert (tmp_path / "chrony.conf").read_text().splitlines()[1:] == ["server ntp.example iburst prefer"]
