"""A site's pools: the commands that make those that are missing, and what existing ones have otherwise.

Nothing here asks the cluster. What changes an existing pool is ``pool_changes``.
"""

from collections.abc import Mapping

from proposals.cluster import pool_options, pool_rules
from proposals.cluster.crush import ROOT
from proposals.cluster.pool_rules import Code, Place
from proposals.settings import reader
from proposals.settings.pools import CODE, PLUGINS
from proposals.text import argument_readers
from proposals.text.errors import PolicyError
from proposals.text.names import shown

REPLICAS = 3
SAFE = 2  # copies: of one alone a disk that fails takes the data along
OVERWRITES = ("rbd", "cephfs")  # applications that overwrite: an erasure-coded pool must be told
MADE_WITH = ("pg_num", "pg_autoscale_mode")  # what the command that makes a pool is told already
DEFAULT_RULE = "replicated_rule"  # of a new cluster
PLACING = {"failure_domain", "device_class", "root"}  # options that say where copies lie


def plan(written: object, cluster: Mapping) -> tuple[list[list[str]], list[str]]:
    """Return the commands that make the pools that are missing, and in words what existing ones have otherwise, and
    where clients of new ones may write a single copy.

    written
        The site's ``pools`` (docs/reference/settings.md), or a service's. Replicas are 3, fewer where there are fewer
        failure domains; the autoscaler decides the number of placement groups, from ``pg_num`` on where it is given.
    cluster
        ``cluster_crush.inspect``'s answer.

    Raises PolicyError where it is not understood or cannot be: more parts than failure domains, one copy alone, a rule
    or profile of the name that it needs which places otherwise. What exists is never changed here, and holds no other
    pool back: ``pool.change`` changes it, by name. An empty pool without an application is one whose making was cut
    short, and is finished; one that holds anything is another's.
    """
    wanted = read(written)
    there = {pool["pool_name"]: pool for pool in cluster["pools"]}
    known = {*cluster["rules"], *cluster["profiles"]}
    todo: list[list[str]] = []
    differences: list[str] = []
    for name, options in sorted(wanted.items()):
        # its application is the last thing that a new pool gets: empty and without one, making it was cut short
        made = name in there and (there[name]["applications"] or there[name]["objects"] != 0)
        try:
            pool = Pool(name, options, cluster, there[name] if made else None)
        except PolicyError as err:  # hosts may have gone since it was made: that holds nothing else back
            if not made:
                raise
            differences.append(f"{err}: the pool exists, and is left as it is")
            continue
        if not made:
            differences += pool.risks()
        if name in there:
            if not made:
                todo += pool.finished()
            elif lines := pool.differs(there[name]):
                command = f"salt-run pool.change {argument_readers.typed(name)}"
                differences.append(f"pool {name}: {', '.join(lines)}: left as it is ('{command}')")
            continue
        pool.sure()
        rule = pool.rule()
        if rule[0] not in known:
            todo.append(rule[1])
            known.add(rule[0])
        todo += [pool.made(rule[0]), *pool.finished()]
    return todo, differences


def read(written: object) -> dict[str, dict]:
    """Return pools as a site writes them, read; PolicyError where they are not understood."""
    wanted, problems = reader.only("pools", written)
    if problems:
        raise PolicyError("\n".join(problems))
    return wanted


class Pool:
    """One pool with its options, and what they leave out; ``there`` is the pool of that name that exists."""

    def __init__(self, name: str, options: Mapping, cluster: Mapping, there: Mapping | None = None) -> None:
        self.name, self.options = name, options
        self.domain, self.cls = options.get("failure_domain", "host"), options.get("device_class")
        self.root = options.get("root", ROOT)
        self.place = Place(self.domain, self.root, self.cls or "")
        self.rules, self.profiles = pool_rules.read(cluster)
        self.domains = _domains(cluster["tree"], self.root, self.domain, self.cls)
        self.code = self._code()
        self.size = sum(self.code) if self.code else options.get("size", min(REPLICAS, self.domains))
        if not self.domains or self.domains < self.size:
            what = f"{self.domain}s with OSDs{f' of class {self.cls}' if self.cls else ''}"
            what += f" below root {self.root}" if self.root != ROOT else ""
            raise PolicyError(f"pools: {shown(name)}: needs {self.size or 1} {what}, there are {self.domains}")
        kept = there and not self.code and "size" not in options  # nothing changes how many copies it has
        least, most = (self.code[0] if self.code else 1), there["size"] if there and kept else self.size
        if not least <= options.get("min_size", most) <= most:
            raise PolicyError(
                f"pools: {shown(name)}: min_size is {options['min_size']}: expected a number from {least} to {most}"
            )

        first, fewest = options.get("pg_num"), options.get("pg_num_min", 0)
        if first is not None and first < fewest:  # Ceph refuses that when the pool is made already
            raise PolicyError(f"pools: {shown(name)}: pg_num is {first}: expected {fewest} or more, its pg_num_min")

    def risks(self) -> list[str]:
        """What a new pool of so few copies risks, in words; PolicyError for one copy alone."""
        if self.size < SAFE:
            raise PolicyError(
                f"pools: {shown(self.name)}: size {self.size} leaves one copy alone, which goes with its disk: "
                f"expected 2 or more, and as many {self.domain}s with OSDs, or another failure_domain"
            )
        if self.code or self.size > SAFE or "min_size" in self.options:
            return []
        return [
            f"pool {self.name}: of 2 copies Ceph lets clients write while there is but one (min_size 1): say "
            "min_size: 2 to let them wait for the other"
        ]

    def _code(self) -> tuple[int, int] | None:
        found = CODE.fullmatch(self.options.get("erasure", ""))
        if found and "size" in self.options:
            raise PolicyError(f"pools: {shown(self.name)}: has erasure and size: expected one of them")
        return (int(found[1]), int(found[2])) if found else None

    def differs(self, there: Mapping) -> list[str]:
        """What an existing pool of this name has otherwise, a few words each."""
        if not (lines := self.fixed(there)):
            lines += self.placed(there)
            if "size" in self.options and there["size"] != self.size:
                lines.append(f"size is {there['size']}, not {self.size}")
            lines += [
                f"{option.name} is {option.has(there)}, not {option.value}"
                for option in pool_options.wanted(self.name, self.options)
                if option.has(there) != option.value
            ]
        if self.options["application"] not in there["applications"]:
            lines.append(
                f"application is {', '.join(there['applications']) or 'none'}, not {self.options['application']}"
            )
        return lines

    def fixed(self, there: Mapping) -> list[str]:
        """What no pool changes: whether it is erasure-coded, and its code."""
        if bool(there["erasure_code_profile"]) != bool(self.code):
            return [f"it is {'not ' if self.code else ''}erasure-coded"]
        if self.code and there["size"] != self.size:
            return [f"it has {there['size']} parts, not {self.size}"]
        has = self.profiles.get(there["erasure_code_profile"])
        if self.code and has and (has.k, has.m) != self.code:
            return [f"its code is {has.k}+{has.m}, not {self.options['erasure']}"]
        return []

    def placed(self, there: Mapping) -> list[str]:
        """What an existing pool's rule does otherwise than the site says, where it says anything of that."""
        name, has = there["crush_rule"], self.rules.get(there["crush_rule"])
        if has == self.place or not PLACING & set(self.options):
            return []
        if self.code or name == self.rule()[0]:
            return [f"rule {name} has {has}, not {self.place}"] if has else []
        return [f"rule is {name}{f' ({has})' if has else ''}, not {self.rule()[0]}"]

    def sure(self) -> None:
        """Raise PolicyError where what has the name of the rule or profile that it is about to get places otherwise."""
        name, wrong = self.rule()[0], ""
        if name == DEFAULT_RULE and not self.code:
            return
        rule = self.name if self.code else name  # one that is called as a coded pool is what Ceph takes for it
        if self.rules.get(rule, self.place) != self.place:
            wrong = f"rule {rule} has {self.rules[rule]}, not {self.place}: give it another name"
            wrong += f" ('ceph osd crush rule rename {rule} OTHER')"
        if self.code and (has := self.profiles.get(name)) and has != (wanted := Code(*self.code, self.place)):
            wrong = f"erasure-code profile {name} is {has}, not {wanted}: remove it where no pool has it"
            wrong += f" ('ceph osd erasure-code-profile rm {name}')"
        if wrong:
            raise PolicyError(f"pools: {shown(self.name)}: {wrong}, then run this again")

    def rule(self) -> tuple[str, list[str]]:
        """The rule or erasure-code profile that it needs, by name, with its command.

        A new cluster's own rule is taken only where it does what is asked for: that of a cluster which began on one
        host may place all copies there.
        """
        ending = "_".join(filter(None, (self.root if self.root != ROOT else None, self.domain, self.cls)))
        if self.code:
            k, m = self.code
            plugin = self.options.get("plugin", PLUGINS[0])
            name = f"{plugin}_{k}_{m}_{ending}"
            command = ["osd", "erasure-code-profile", "set", name, f"plugin={plugin}", f"k={k}", f"m={m}"]
            command += [f"crush-failure-domain={self.domain}", f"crush-root={self.root}"]
            return name, command + ([f"crush-device-class={self.cls}"] if self.cls else [])
        has = self.rules.get(DEFAULT_RULE)
        if has and not PLACING & set(self.options):  # a site that limits all its pools to a class says it in that rule
            has = has._replace(cls="")
        own = ending == "host" and has == self.place
        name = DEFAULT_RULE if own else f"replicated_{ending}"
        command = ["osd", "crush", "rule", "create-replicated", name, self.root, self.domain]
        return name, command + ([str(self.cls)] if self.cls else [])

    def made(self, rule: str) -> list[str]:
        """The command that makes it."""
        first = str(self.options.get("pg_num", self.options.get("pg_num_min", 8 if self.code else 1)))
        create = ["osd", "pool", "create", self.name, first, first, "erasure" if self.code else "replicated"]
        return [*create, rule, f"--autoscale-mode={self.options.get('autoscale', 'on')}"]

    def finished(self) -> list[list[str]]:
        """What a new pool gets, its application last."""
        todo = []
        if not self.code:
            todo.append(["osd", "pool", "set", self.name, "size", str(self.size)])
        elif self.options["application"] in OVERWRITES:
            todo.append(["osd", "pool", "set", self.name, "allow_ec_overwrites", "true"])
        todo += [
            ["osd", "pool", *option.words]
            for option in pool_options.wanted(self.name, self.options)
            if option.name not in MADE_WITH
        ]
        return [*todo, self.enabled()]

    def enabled(self) -> list[str]:
        """The command that gives it its application; of images rbd's own, which also proves the pool (rbd(8)).

        A coded pool holds images' data alone: what ``rbd pool init`` prepares lies in a replicated one.
        """
        if self.options["application"] == "rbd" and not self.code:
            return ["rbd", "pool", "init", self.name]
        return ["osd", "pool", "application", "enable", self.name, str(self.options["application"])]


def _domains(tree: list[Mapping], root: str, kind: str, cls: object) -> int:
    """How many buckets of a type below a root hold OSDs, of a class where one is named."""
    below = {node["id"]: node.get("children", ()) for node in tree}
    osds = {node["id"] for node in tree if node["type"] == "osd" and cls in (None, node.get("device_class"))}

    def holds(id_: int) -> bool:
        return id_ in osds or any(holds(child) for child in below.get(id_, ()))

    def within(id_: int) -> set[int]:
        return {id_}.union(*(within(child) for child in below.get(id_, ())))

    among = {each for node in tree if (node["type"], node["name"]) == ("root", root) for each in within(node["id"])}
    return sum(1 for node in tree if node["type"] == kind and node["id"] in among and holds(node["id"]))
