"""``ceph.stage.iscsi``: images of the cluster as disks of initiators, by ceph-iscsi on the hosts with the role igw.

``iscsi_targets`` of the site's settings; what is in it is made, what else the gateways have stays::

    iscsi_targets:
      iqn.2026-11.com.example:backup:
        images: {rbd/backup: 100G}           # POOL/IMAGE and its size; a larger one than before grows it
        initiators:
          iqn.1993-08.org.debian:01:5c3e: {user: backuphost, password: chap-backuphost, images: [rbd/backup]}

A password is the name of a file in ``<pillar_root>/ceph/keys/given``.
"""

import re
from collections.abc import Mapping

from proposals.services.service import Cluster, Plan, Service
from proposals.text import names

POOL = "iscsi"  # of the gateways' own record, which holds the passwords of initiators: no client of images reads it
API_PORT, EXPORTER_PORT = 5000, 9287
API_USER, API_PASSWORD = "admin", "iscsi-api"  # of all gateways' API; the name of the password that they have in common
IQN = re.compile(r"iqn\.\d{4}-\d{2}\.[a-z0-9.-]+(:[a-z0-9.:-]+)?")  # RFC 3720, 3.2.6.3.1
IMAGE = re.compile(r"[A-Za-z0-9._-]+/[A-Za-z0-9._-]+")
SIZE = re.compile(r"[1-9][0-9]*[MGT]")
USER = re.compile(r"[A-Za-z0-9.:@_-]{8,64}")  # gwcli(8)
TARGET_KEYS, INITIATOR_KEYS = ("images", "initiators"), ("user", "password", "images")
EXAMPLE = "{user: backuphost, password: chap-backuphost}"
GIVEN = "the name of a file in <pillar_root>/ceph/keys/given (mode 0600, 12 to 16 letters, digits and @ - _ /)"


def plan(cluster: Cluster, made: Plan) -> None:
    """Plan gateways, the pool of their record, the pools of images, and what one gateway tells all of them."""
    gateways = cluster.members("igw")
    targets = _targets(cluster, made)
    if not gateways:
        if "iscsi_targets" in cluster.settings:
            made.problems.append("iscsi_targets: no minion has the role igw: add a role-igw line to policy.cfg")
        return
    pools = sorted({POOL, *(image.partition("/")[0] for target in targets.values() for image in target["images"])})
    made.pools = {pool: {"application": "rbd"} for pool in pools}
    made.passwords.add(API_PASSWORD)
    trusted = sorted(filter(None, map(cluster.address, cluster.members("mgr"))))  # for the dashboard
    for minion in gateways:
        if not cluster.address(minion):
            made.problems.append(f"{minion}: a gateway has no address in public_network: its initiators find none")
        entity = f"client.igw.{cluster.hostname(minion)}"
        made.run("igw", minion, client=entity, pool=POOL, trusted=trusted, port=API_PORT)
        made.entities[entity] = _caps(pools)
        made.tell(minion, igw=[entity], **{API_PASSWORD: API_PASSWORD})
        made.ports[minion] = {API_PORT: "rbd-target-api", EXPORTER_PORT: "rbd-target-gw"}
    portals = [cluster.address(minion) for minion in gateways]
    if targets:
        made.run("iscsi-targets", gateways[0], targets=targets, portals=portals)
        passwords = {one["password"] for target in targets.values() for one in target["initiators"].values()}
        made.tell(gateways[0], **{name: name for name in sorted(passwords)})


def _caps(pools: list[str]) -> dict[str, str]:
    """What a gateway may. Not ``allow *``: images of these pools, taking over the lock of a gateway that died, which
    puts it on the blocklist (docs.ceph.com, rbd/iscsi-target-cli; cephadm gives every pool). Single quotes: a
    keyring's line of capabilities is in double ones.
    """
    return {
        "mon": "profile rbd, allow command 'osd blocklist'",
        "mgr": "allow command 'service status'",
        "osd": ", ".join(f"profile rbd pool={pool}" for pool in pools),
    }


def _targets(cluster: Cluster, made: Plan) -> dict[str, dict]:
    """The targets that a site asks for, each with every key; what is wrong with one is a problem."""
    said = cluster.settings.get("iscsi_targets", {})
    if not isinstance(said, Mapping):
        made.wrong("iscsi_targets", said, "a mapping such as {iqn.2026-11.com.example:backup: {images: ...}}")
        return {}
    targets: dict[str, dict] = {}
    of: dict[str, str] = {}
    for iqn, wanted in said.items():
        what = f"iscsi_targets: {names.shown(iqn)}"
        if not IQN.fullmatch(str(iqn)) or not isinstance(wanted, Mapping):
            made.wrong(what, wanted, "a name such as iqn.2026-11.com.example:backup and a mapping")
            continue
        wanted = made.settings(what, wanted, TARGET_KEYS)
        images = _images(what, wanted.get("images"), made)
        for image in images:
            if of.setdefault(image, str(iqn)) != iqn:
                made.problems.append(f"{what}: {image} is in {of[image]} too: an image belongs to one target")
        targets[str(iqn)] = {
            "images": images,
            "initiators": _initiators(what, wanted.get("initiators", {}), images, cluster, made),
        }
    return targets


def _images(what: str, said: object, made: Plan) -> dict[str, str]:
    if not isinstance(said, Mapping) or not said:
        made.wrong(f"{what}: images", said, "images with their sizes, such as {rbd/backup: 100G}")
        return {}
    for image, size in said.items():
        if not IMAGE.fullmatch(str(image)):
            made.wrong(f"{what}: images", image, "POOL/IMAGE")
        if not SIZE.fullmatch(str(size)):
            made.wrong(f"{what}: {names.shown(image)}", size, "a size such as 100G")
    return {str(image): str(size) for image, size in said.items()}


def _initiators(what: str, said: object, images: Mapping, cluster: Cluster, made: Plan) -> dict[str, dict]:
    """Who may use a target. Without a password nobody may: whoever reaches the network would write."""
    if not isinstance(said, Mapping):
        made.wrong(f"{what}: initiators", said, f"a mapping such as {{iqn.1993-08.org.debian:01:5c3e: {EXAMPLE}}}")
        return {}
    found = {}
    for iqn, wanted in said.items():
        who = f"{what}: {names.shown(iqn)}"
        if not IQN.fullmatch(str(iqn)) or not isinstance(wanted, Mapping):
            made.wrong(who, wanted, f"an initiator's name and {EXAMPLE}")
            continue
        wanted = made.settings(who, wanted, INITIATOR_KEYS)
        if not USER.fullmatch(str(wanted.get("user"))):
            made.wrong(f"{who}: user", wanted.get("user"), "8 to 64 letters, digits and . : @ _ -")
        if wanted.get("password") not in cluster.given:
            made.wrong(f"{who}: password", wanted.get("password"), GIVEN)
        mine = wanted.get("images", list(images))
        for image in mine if isinstance(mine, list) else [mine]:
            if image not in images:
                made.wrong(f"{who}: images", image, f"a list of the target's images: {', '.join(images)}")
        found[str(iqn)] = {"user": wanted.get("user"), "password": wanted.get("password"), "images": mine}
    return found


SERVICE = Service(
    name="iscsi",
    settings=("iscsi_targets",),
    plan=plan,
    parts=("igw", "iscsi-targets"),
    units={"igw": ("rbd-target-api.service",)},
)
