"""A site's pools: the commands that make those that are missing. Nothing here asks the cluster."""

from collections.abc import Iterable, Mapping

from proposals.cluster.crush import ROOT
from proposals.settings import reader
from proposals.settings.pools import CODE, PLUGINS, SET
from proposals.text.errors import PolicyError
from proposals.text.names import shown

REPLICAS = 3
KEYS = tuple(row.key for row in SET)  # what `ceph osd pool set` takes as it is
OVERWRITES = ("rbd", "cephfs")  # applications that overwrite: an erasure-coded pool must be told


def plan(written: object, cluster: Mapping) -> tuple[list[list[str]], list[str]]:
    """Return the ``ceph`` commands that make the pools that are missing, and what existing ones have otherwise.

    written
        The site's ``pools`` (docs/reference/settings.md), or a service's. Replicas are 3, fewer where there are fewer
        failure domains; the autoscaler decides the number of placement groups, from ``pg_num`` on where it is given.
    cluster
        ``cluster_crush.found``'s answer.

    Raises PolicyError where it is not understood or cannot be: more parts than failure domains. What exists is never
    changed: another size or code moves data, and is the admin's own command. A pool without an application is one whose
    making was cut short, and is finished.
    """
    wanted, problems = reader.only("pools", written)
    if problems:
        raise PolicyError("\n".join(problems))
    there = {pool["pool_name"]: pool for pool in cluster["pools"]}
    rules, profiles = set(cluster["rules"]), set(cluster["profiles"])
    todo: list[list[str]] = []
    differences: list[str] = []
    for name, options in sorted(wanted.items()):
        pool = _Pool(name, options, cluster["tree"])
        if name in there:
            differences += pool.differs(there[name])
            # its application is the last thing that a new pool gets: making it was cut short
            if not there[name].get("applications", True):
                todo += pool.finished()
            continue
        rule = pool.rule()
        if rule and rule[0] not in rules | profiles:
            todo.append(rule[1])
            (profiles if pool.code else rules).add(rule[0])
        todo += [pool.made(rule[0] if rule else None), *pool.finished()]
    return todo, differences


class _Pool:
    """One pool with its options, and what they leave out."""

    def __init__(self, name: str, options: Mapping, tree: Iterable[Mapping]) -> None:
        self.name, self.options = name, options
        self.domain, self.cls = options.get("failure_domain", "host"), options.get("device_class")
        self.domains = _domains(list(tree), self.domain, self.cls)
        self.code = self._code()
        self.size = sum(self.code) if self.code else options.get("size", min(REPLICAS, self.domains))
        if not self.domains or self.domains < self.size:
            what = f"{self.domain}s with OSDs{f' of class {self.cls}' if self.cls else ''}"
            raise PolicyError(f"pools: {shown(name)}: needs {self.size or 1} {what}, there are {self.domains}")

    def _code(self) -> tuple[int, int] | None:
        found = CODE.fullmatch(self.options.get("erasure", ""))
        if found and "size" in self.options:
            raise PolicyError(f"pools: {shown(self.name)}: has erasure and size: expected one of them")
        return (int(found[1]), int(found[2])) if found else None

    def differs(self, there: Mapping) -> list[str]:
        """What an existing pool of this name has otherwise."""
        wanted = bool(self.code)
        if bool(there["erasure_code_profile"]) != wanted:
            return [f"pool {self.name} is {'not ' if wanted else ''}erasure-coded: left as it is"]
        if there["size"] != self.size and ("size" in self.options or wanted):
            return [f"pool {self.name} has {there['size']} copies or parts, not {self.size}: left as it is"]
        return []

    def rule(self) -> tuple[str, list[str]] | None:
        """The rule or erasure-code profile that it needs, by name, with its command; None: Ceph's default rule."""
        ending = "_".join(filter(None, (self.domain, self.cls)))
        if self.code:
            k, m = self.code
            plugin = self.options.get("plugin", PLUGINS[0])
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
        first = str(self.options.get("pg_num", self.options.get("pg_num_min", 8 if self.code else 1)))
        create = ["osd", "pool", "create", self.name, first, first, "erasure" if self.code else "replicated"]
        return create + ([rule] if rule else []) + ["--autoscale-mode=on"]

    def finished(self) -> list[list[str]]:
        """What a new pool gets, its application last."""
        todo = []
        if not self.code:
            todo.append(["osd", "pool", "set", self.name, "size", str(self.size)])
        elif self.options["application"] in OVERWRITES:
            todo.append(["osd", "pool", "set", self.name, "allow_ec_overwrites", "true"])
        todo += [["osd", "pool", "set", self.name, key, str(self.options[key])] for key in KEYS if key in self.options]
        return [*todo, ["osd", "pool", "application", "enable", self.name, str(self.options["application"])]]


def _domains(tree: list[Mapping], kind: str, cls: object) -> int:
    """How many buckets of a type hold OSDs, of a class where one is named."""
    below = {node["id"]: node.get("children", ()) for node in tree}
    osds = {node["id"] for node in tree if node["type"] == "osd" and cls in (None, node.get("device_class"))}

    def holds(id_: int) -> bool:
        return id_ in osds or any(holds(child) for child in below.get(id_, ()))

    return sum(1 for node in tree if node["type"] == kind and holds(node["id"]))
