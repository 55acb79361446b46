"""``ceph.stage.iscsi``: images of the cluster as disks of initiators, by ceph-iscsi on the hosts with the role igw.

``iscsi_targets`` of the site's settings; what is in it is made, what else the gateways have stays::

    iscsi_targets:
      iqn.2026-11.com.example:backup:
        images: {rbd/backup: 100G}           # POOL/IMAGE and its size; a larger one than before grows it
        initiators:
          iqn.1993-08.org.debian:01:5c3e: {user: backuphost, password: chap-backuphost, images: [rbd/backup]}

A password is the name of a file in ``<pillar_root>/ceph/keys/given``.
"""

from collections.abc import Mapping

from proposals.services.given import FOLDER
from proposals.services.service import PlannedCluster, Service
from proposals.services.service_plan import ServicePlan, join
from proposals.settings.kinds import wrong
from proposals.text.names import shown

POOL = "iscsi"  # of the gateways' own record, which holds the passwords of initiators: no client of images reads it
API_PORT, EXPORTER_PORT = 5000, 9287
API_USER, API_PASSWORD = "admin", "iscsi-api"  # of all gateways' API; the name of the password that they have in common
GIVEN = f"the name of a file in {FOLDER} (mode 0600, 12 to 16 letters, digits and @ - _ /)"


def plan(cluster: PlannedCluster) -> ServicePlan:
    """Plan gateways, the pool of their record, the pools of images, and what one gateway tells all of them."""
    gateways, written = cluster.members("igw"), cluster.settings["iscsi_targets"]
    problems = _against(cluster, written)
    if not gateways:
        if "iscsi_targets" in cluster.settings.written:
            problems.append("iscsi_targets: no minion has the role igw: add a role-igw line to policy.cfg")
        return ServicePlan(problems=tuple(problems))
    pools = sorted(
        {POOL, *(image.partition("/")[0] for target in written.values() for image in target["images"] or ())}
    )
    shared = ServicePlan(
        pools={pool: {"application": "rbd"} for pool in pools},
        passwords=frozenset({API_PASSWORD}),
        problems=tuple(problems),
    )
    return join(
        [
            shared,
            *(_gateway(cluster, minion, pools) for minion in gateways),
            *([_made(cluster, gateways, written)] if written else []),
        ]
    )


def _gateway(cluster: PlannedCluster, minion: str, pools: list[str]) -> ServicePlan:
    entity = f"client.igw.{cluster.hostname(minion)}"
    trusted = sorted(filter(None, map(cluster.address, cluster.members("mgr"))))  # for the dashboard
    lacking = f"{minion}: a gateway has no address in public_network: its initiators find none"
    return ServicePlan(
        parts={"igw": {minion: {"client": entity, "pool": POOL, "trusted": trusted, "port": API_PORT}}},
        entities={entity: _caps(pools)},
        secrets={minion: {"igw": [entity], API_PASSWORD: API_PASSWORD}},
        ports={minion: {API_PORT: "rbd-target-api", EXPORTER_PORT: "rbd-target-gw"}},
        problems=() if cluster.address(minion) else (lacking,),
    )


def _made(cluster: PlannedCluster, gateways: list[str], written: Mapping[str, Mapping]) -> ServicePlan:
    """What the first gateway tells all of them: targets with their images, and who may use these."""

    def use(access: Mapping) -> str:
        return f"iscsi/{access['password']}"  # a site's file may have the name of a keyring

    targets = {
        iqn: {
            "images": target["images"],
            "initiators": {
                name: {**access, "images": access["images"] or list(target["images"] or ()), "password": use(access)}
                for name, access in target["initiators"].items()
            },
        }
        for iqn, target in written.items()
    }
    part = {"targets": targets, "portals": [cluster.address(minion) for minion in gateways]}
    passwords = {use(access): access["password"] for each in written.values() for access in each["initiators"].values()}
    return ServicePlan(
        parts={"iscsi-targets": {gateways[0]: part}},
        secrets={gateways[0]: {name: file for name, file in sorted(passwords.items()) if file}},
    )


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


def _against(cluster: PlannedCluster, written: Mapping[str, Mapping]) -> list[str]:
    """What stands against targets: images that two of them or none has, passwords that nobody gave."""
    problems = []
    owners: dict[str, str] = {}
    for iqn, target in written.items():
        key, images = f"iscsi_targets: {shown(iqn)}", target["images"] or {}
        for image in images:
            if owners.setdefault(image, iqn) != iqn:
                problems.append(f"{key}: {image} is in {owners[image]} too: an image belongs to one target")
        for name, access in target["initiators"].items():
            who = f"{key}: initiators: {shown(name)}"
            if access["password"] and access["password"] not in cluster.given:
                problems.append(wrong(f"{who}: password", access["password"], GIVEN))
            problems += [
                wrong(f"{who}: images", image, f"a list of the target's images: {', '.join(images)}")
                for image in access["images"] or ()
                if image not in images
            ]
    return problems


SERVICE = Service(
    name="iscsi",
    plan=plan,
    parts=("igw", "iscsi-targets"),
    in_turns=("igw",),
    units={"igw": ("rbd-target-api.service",)},
)
