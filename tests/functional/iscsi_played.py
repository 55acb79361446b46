"""iSCSI gateways and libiscsi that are played: ceph-iscsi's record by its API's rules, a library with its own words."""

import copy
import json

from played import Killed
from salt.exceptions import CommandExecutionError

NAME = "halocline-smoke"
OWN = f"iqn.2026-11.io.halocline:{NAME}"
CLIENT = f"{OWN}-initiator"
SITES = "iqn.2026-11.com.example:backup"
PORTALS = ["127.0.0.1", "127.0.0.2"]
SITE = {
    "disks": {"rbd/backup": {"owner": "127.0.0.1"}},
    "targets": {
        SITES: {
            "portals": {each: {"portal_ip_addresses": [each]} for each in PORTALS},
            "disks": {"rbd/backup": {"lun_id": 0}},
            "clients": {"iqn.x:ini": {"luns": {"rbd/backup": {"lun_id": 0}}, "auth": {"username": "u"}}},
        }
    },
}
# libiscsi as far as the program goes, put in its place before the program runs. What it is told lies in a file.
LIBRARY = """
import ctypes, ctypes.util, json, os
from pathlib import Path

TOP = Path(os.environ["TOP"])
TOLD = json.loads((TOP / "told").read_text())
ctypes.util.find_library = lambda name: name if TOLD["installed"] else None


class Function:
    def __init__(self, body):
        self.body = body

    def __call__(self, *words):
        return self.body(self, *words)


class Library:
    def __init__(self, name):
        assert name == "iscsi"
        self.names, self.why, self.given, self.busy = {}, b"", {}, TOLD["busy"]
        for name in ("iscsi_set_timeout", "iscsi_set_noautoreconnect"):
            setattr(self, name, lambda session, value: 0)

    def __getattr__(self, name):
        function = Function(globals()[name])
        function.library = self
        setattr(self, name, function)
        return function


def iscsi_create_context(function, name):
    function.library.given = {"initiator": name}
    return 77


def iscsi_get_error(function, session):
    return function.library.why


def iscsi_set_targetname(function, session, name):
    function.library.given["target"] = name


def iscsi_set_session_type(function, session, kind):
    function.library.given["kind"] = kind


def iscsi_set_initiator_username_pwd(function, session, user, password):
    function.library.given |= {"user": user, "password": password}


def logged_in(library, portal):
    address = portal.decode().rpartition(":")[0]
    library.why = TOLD["refuses"].get(address, "").encode()
    record = json.loads((TOP / "record").read_text())
    if library.given["kind"] == 2 and not library.why:
        target = record["targets"][library.given["target"].decode()]
        auth = target["clients"][library.given["initiator"].decode()]["auth"]
        right = [library.given["user"].decode(), library.given["password"].decode()] == list(auth.values())
        library.why = b"" if right else b"Authentication failure(513)"
    with (TOP / "asked").open("a") as file:
        print("in", address, library.given["kind"], file=file)
    return -1 if library.why else 0


def iscsi_connect_sync(function, session, portal):
    function.library.portal = portal
    return 0


def iscsi_login_sync(function, session):
    return logged_in(function.library, function.library.portal)


def iscsi_full_connect_sync(function, session, portal, lun):
    assert lun == 0
    return logged_in(function.library, portal)


def iscsi_is_logged_in(function, session):
    return 1


def iscsi_logout_sync(function, session):
    with (TOP / "asked").open("a") as file:
        print("out", file=file)
    return 0


def iscsi_discovery_sync(function, session):
    listed, found = function.restype._type_, None
    for name in reversed(TOLD["names"]):
        found = ctypes.pointer(listed(found, name.encode()))
    function.library.kept = found
    return found


def done(library, status=0):
    library.why = b"SENSE KEY:NOT_READY(2)" if status else b""
    return ctypes.pointer(ctypes.c_int(status))


def iscsi_write16_sync(function, session, lun, block, data, length, size, *flags):
    if function.library.busy:
        function.library.busy -= 1
        return done(function.library, 2)
    (TOP / "disk").write_bytes(data[:length])
    return done(function.library)


def iscsi_read16_iov_sync(function, session, lun, block, length, size, *words):
    data = (TOP / "disk").read_bytes()
    part = words[5]._obj
    ctypes.memmove(part.base, data[:-1] + bytes([data[-1] ^ TOLD["spoils"]]), part.length)
    return done(function.library)


ctypes.CDLL = Library
"""


class Gateways:
    """ceph-iscsi's record, changed by its API's own rules; ``kill``: which call is the last one, done or not."""

    def __init__(self, top):
        self.top, self.calls, self.kill, self.logged_in, self.wrong = top, [], (None, False), 0, ""
        self.keep(copy.deepcopy(SITE))

    def keep(self, record):
        (self.top / "record").write_text(json.dumps(record))

    def record(self):
        return json.loads((self.top / "record").read_text())

    def call(self, host, path, form=None, what="read", method="PUT"):
        if form is None:
            return {"data": host} if path == "sysinfo/hostname" else self.record()
        self.calls.append((method, path))
        at, before = self.kill
        if at == len(self.calls) and before:
            raise Killed
        if self.wrong and self.wrong in path:
            raise CommandExecutionError(f"{what}: the iSCSI gateway says 400: no")
        record, (kind, _, rest) = self.record(), path.partition("/")
        getattr(self, f"{kind}_{method}".lower())(record, form, *rest.split("/"))
        self.keep(record)
        if at == len(self.calls):
            raise Killed
        return {}

    def refuse(self, why):
        if why:
            raise CommandExecutionError(f"the iSCSI gateway says 400: {why}")

    def target_put(self, record, form, iqn):
        record["targets"][iqn] = {"portals": {}, "disks": {}, "clients": {}}

    def gateway_put(self, record, form, iqn, name):
        record["targets"][iqn]["portals"][name] = {"portal_ip_addresses": [form["ip_address"]]}

    def disk_put(self, record, form, pool, image):
        self.refuse("defined" if f"{pool}/{image}" in record["disks"] else "")
        asked = form.get("create_image") == "true"  # of newer ones; those of 3.5 make it anyway
        self.refuse("" if asked else f"Image {pool}/{image} does not exist")
        record["disks"][f"{pool}/{image}"] = {}

    def targetlun_put(self, record, form, iqn):
        record["targets"][iqn]["disks"][form["disk"]] = {"lun_id": 0}
        record["disks"][form["disk"]]["owner"] = PORTALS[1]

    def client_put(self, record, form, iqn, client):
        assert iqn == OWN, "ceph-iscsi would close a target that is open"
        record["targets"][iqn]["clients"][client] = {"luns": {}, "auth": {"username": "", "password": ""}}

    def clientauth_put(self, record, form, iqn, client):
        auth = {key: form[key] for key in ("username", "password")}
        assert len(auth["username"]) >= 8 and 12 <= len(auth["password"]) <= 16
        record["targets"][iqn]["clients"][client]["auth"] = auth

    def clientlun_put(self, record, form, iqn, client):
        record["targets"][iqn]["clients"][client]["luns"][form["disk"]] = {"lun_id": 0}

    def client_delete(self, record, form, iqn, client):
        self.logged_in -= 1
        self.refuse("is logged in" if self.logged_in >= 0 else "")
        del record["targets"][iqn]["clients"][client]

    def targetlun_delete(self, record, form, iqn):
        used = any(form["disk"] in client["luns"] for client in record["targets"][iqn]["clients"].values())
        self.refuse("allocated" if used else "")
        del record["targets"][iqn]["disks"][form["disk"]]

    def target_delete(self, record, form, iqn):
        target = record["targets"][iqn]
        self.refuse("Clients and disks must be removed" if target["clients"] or target["disks"] else "")
        del record["targets"][iqn]

    def disk_delete(self, record, form, pool, image):
        used = any(f"{pool}/{image}" in target["disks"] for target in record["targets"].values())
        self.refuse("mapped" if used else "")
        self.refuse("" if form.get("preserve_image") == "false" else "KeyError: 'preserve_image'")
        del record["disks"][f"{pool}/{image}"]
