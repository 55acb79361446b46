"""A site's pools: the commands that make those that are missing. Nothing here asks the cluster."""

import re
from collections.abc import Iterable, Mapping
from typing import Any, NoReturn

from proposals.cluster.crush import ROOT, TYPES
from proposals.text import names
from proposals.text.errors import PolicyError

SET = ("target_size_ratio", "pg_num_min", "pg_autoscale_bias")  # what `ceph osd pool set` takes as it is
KEYS = ("application", "size", "erasure", "plugin", "failure_domain", "device_class", "pg_num", *SET)
REPLICAS = 3
PLUGINS = ("isa", "jerasure")
CODE = re.compile(r"([1-9][0-9]?)\+([1-9])")
NAME = re.compile(rf"\.?{names.PROFILE.pattern}")  # Ceph's own gateways begin theirs with a dot
OVERWRITES = ("rbd", "cephfs")  # applications that overwrite: an erasure-coded pool must be told


def plan(said: object, found: Mapping) -> tuple[list[list[str]], list[str]]:
    """Return the ``ceph`` commands that make the pools that are missing, and what existing ones have otherwise.

    said
        The site's ``pools``: ``{name: {application, size | erasure: 2+2, plugin, failure_domain, device_class, pg_num,
        target_size_ratio, pg_num_min, pg_autoscale_bias}}``. Replicas are 3, fewer where there are fewer failure
        domains; the autoscaler decides the number of placement groups, from ``pg_num`` on where it is given.
    found
        ``cluster_crush.inspect``'s answer.

    Raises PolicyError where it is not understood or cannot be: more parts than failure domains. What exists is never
    changed: another size or code moves data, and is the admin's own command. A pool without an application is one whose
    making was cut short, and is finished.
    """
    if not isinstance(said, Mapping):
        raise PolicyError(f"pools is {names.shown(said)}: expected 'NAME: {{application: rbd}}' lines")
    there = {pool["pool_name"]: pool for pool in found["pools"]}
    rules, profiles = set(found["rules"]), set(found["profiles"])
    todo: list[list[str]] = []
    told: list[str] = []
    for name, wanted in sorted(said.items()):
        pool = _Pool(str(name), wanted, found["tree"])
        if name in there:
            told += pool.differs(there[name])
            if not there[name].get(
                "applications", True
            ):  # the last thing that a new pool gets: making it was cut short
                todo += pool.finished()
            continue
        rule = pool.rule()
        if rule and rule[0] not in rules | profiles:
            todo.append(rule[1])
            (profiles if pool.code else rules).add(rule[0])
        todo += [pool.made(rule[0] if rule else None), *pool.finished()]
    return todo, told


class _Pool:
    """One pool as a site says it, with what it leaves out."""

    def __init__(self, name: str, said: Any, tree: Iterable[Mapping]) -> None:
        self.name, self.said = name, said if isinstance(said, Mapping) else {}
        if not isinstance(said, Mapping) or not said.get("application"):
            self.wrong("has no application: expected such as {application: rbd}")
        if unknown := [key for key in said if key not in KEYS]:
            self.wrong(f"unknown key '{names.shown(unknown[0])}'{names.nearest(str(unknown[0]), KEYS)}")
        if not NAME.fullmatch(name):
            self.wrong("is not a pool's name: letters, digits, '.', '_' and '-'")
        self.domain, self.cls = str(said.get("failure_domain", "host")), said.get("device_class")
        if self.domain not in ("osd", "host", *TYPES):
            self.wrong(f"unknown failure_domain '{names.shown(self.domain)}'{names.nearest(self.domain, TYPES)}")
        self.domains = _domains(list(tree), self.domain, self.cls)
        self.code = self._code()
        self.size = self._size()
        if not self.domains or self.domains < self.size:
            what = f"{self.domain}s with OSDs{f' of class {self.cls}' if self.cls else ''}"
            self.wrong(f"needs {self.size or 1} {what}, there are {self.domains}")

    def wrong(self, why: str) -> NoReturn:
        raise PolicyError(f"pools: {names.shown(self.name)}: {why}")

    def _code(self) -> tuple[int, int] | None:
        said = self.said.get("erasure")
        if said is None:
            return None
        found = CODE.fullmatch(str(said))
        if not found or "size" in self.said:
            self.wrong(f"erasure: {names.shown(said)}: expected such as 2+2, and no size beside it")
        if self.said.get("plugin", PLUGINS[0]) not in PLUGINS:
            self.wrong(f"plugin: expected one of {', '.join(PLUGINS)}")
        return int(found[1]), int(found[2])

    def _size(self) -> int:
        if self.code:
            return sum(self.code)
        size = self.said.get("size", min(REPLICAS, self.domains))
        if type(size) is not int or not 0 <= size <= 10:
            self.wrong(f"size: {names.shown(size)}: expected a number of replicas such as 3")
        return size

    def differs(self, there: Mapping) -> list[str]:
        """What an existing pool of this name has otherwise."""
        wanted = bool(self.code)
        if bool(there["erasure_code_profile"]) != wanted:
            return [f"pool {self.name} is {'not ' if wanted else ''}erasure-coded: left as it is"]
        if there["size"] != self.size and ("size" in self.said or wanted):
            return [f"pool {self.name} has {there['size']} copies or parts, not {self.size}: left as it is"]
        return []

    def rule(self) -> tuple[str, list[str]] | None:
        """The rule or erasure-code profile that it needs, by name, with its command; None: Ceph's default rule."""
        ending = "_".join(filter(None, (self.domain, self.cls)))
        if self.code:
            k, m = self.code
            plugin = self.said.get("plugin", PLUGINS[0])
            name = f"{plugin}_{k}_{m}_{ending}"
            command = ["osd", "erasure-code-profile", "set", name, f"plugin={plugin}", f"k={k}", f"m={m}"]
            command += [f"crush-failure-domain={self.domain}", f"crush-root={ROOT}"]
            return name, command + ([f"crush-device-class={self.cls}"] if self.cls else [])
        if self.domain == "host" and not self.cls:
            return None
        command = ["osd", "crush", "rule", "create-replicated", f"replicated_{ending}", ROOT, self.domain]
        return f"replicated_{ending}", command + ([str(self.cls)] if self.cls else [])

    def made(self, rule: str | None) -> list[str]:
        """The command that makes it."""
        first = str(self.said.get("pg_num", self.said.get("pg_num_min", 8 if self.code else 1)))
        create = ["osd", "pool", "create", self.name, first, first, "erasure" if self.code else "replicated"]
        return create + ([rule] if rule else []) + ["--autoscale-mode=on"]

    def finished(self) -> list[list[str]]:
        """What a new pool gets, its application last."""
        todo = []
        if not self.code:
            todo.append(["osd", "pool", "set", self.name, "size", str(self.size)])
        elif self.said["application"] in OVERWRITES:
            todo.append(["osd", "pool", "set", self.name, "allow_ec_overwrites", "true"])
        todo += [["osd", "pool", "set", self.name, key, str(self.said[key])] for key in SET if key in self.said]
        return [*todo, ["osd", "pool", "application", "enable", self.name, str(self.said["application"])]]


def _domains(tree: list[Mapping], kind: str, cls: object) -> int:
    """How many buckets of a type hold OSDs, of a class where one is named."""
    below = {node["id"]: node.get("children", ()) for node in tree}
    osds = {node["id"] for node in tree if node["type"] == "osd" and cls in (None, node.get("device_class"))}

    def holds(id_: int) -> bool:
        return id_ in osds or any(holds(child) for child in below.get(id_, ()))

    return sum(1 for node in tree if node["type"] == kind and holds(node["id"]))
