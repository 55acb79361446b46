"""A master that reads what srv/ ships: pytest-salt-factories configures it; here stands what its factory lacks."""

import json
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import attr
import salt.config
import salt.loader
from pytestshellutils.utils.processes import ProcessResult
from salt.loader.lazy import LazyLoader
from saltfactories.cli.run import SaltRun
from saltfactories.daemons.master import SaltMaster

from proposals.disks import arguments, plan
from proposals.files import atomic
from proposals.files.site import site
from proposals.inventory import kept
from proposals.pillar import chosen, generation, generation_disk
from proposals.policy import store

CHECKOUT = Path(__file__).parent.parent.parent
LIMIT = 120  # seconds for a command


def one_node(master: str) -> dict[str, str]:
    """The files below proposals/ of a site where node1 has every role but the master's, which that minion has."""
    lines = (
        *("cluster-ceph/cluster/*.sls", f"role-master/cluster/{master}.sls", "role-mon/cluster/node1.sls"),
        *("role-mgr/cluster/node1.sls", "profile-own/cluster/node1.sls", "config/stack/default/ceph/cluster.yml"),
    )
    return {
        "policy.cfg": "".join(f"{line}\n" for line in lines),
        "profile-own/cluster/node1.sls": "roles: [storage]\n",
    }


@attr.s(kw_only=True, slots=True)
class Typed(SaltRun):
    """``salt-run`` with the words that are typed and no others: the factory's adds ``--out``, ``--log-level`` and
    ``--timeout``, where the shipped settings are to decide.
    """

    __cli_timeout_supported__ = attr.ib(repr=False, init=False, default=False)
    __cli_log_level_supported__ = attr.ib(repr=False, init=False, default=False)
    __cli_output_supported__ = attr.ib(repr=False, init=False, default=False)


@attr.s(kw_only=True, slots=True)
class Master(SaltMaster):
    """The factory's master with the shipped drop-in, whose absolute paths are moved under the master's root."""

    @classmethod
    def default_config(cls, root_dir: Path, master_id: str, **more: Any) -> dict:
        """Include the drop-in as a real master does: passed as settings, its lists would come behind the factory's."""
        moved = {"/srv/halocline": CHECKOUT, "/srv/pillar": root_dir / "pillar", "/srv/salt": root_dir / "salt"}
        shipped = (CHECKOUT / "srv/master.d/halocline.conf").read_text()
        for path, here in {**moved, "/var/log/halocline": root_dir / "run-logs"}.items():
            shipped = shipped.replace(path, str(here))
        for folder in ("conf/master.d", "pillar", "salt"):
            (root_dir / folder).mkdir(parents=True)
        (root_dir / "conf/master.d/halocline.conf").write_text(shipped)
        return super().default_config(root_dir, master_id, **more)

    @property
    def root(self) -> Path:
        """The folder of all its files."""
        return Path(self.config["root_dir"])

    @property
    def pillar(self) -> Path:
        """The site's folder, ``/srv/pillar/ceph`` on a real master."""
        return self.root / "pillar/ceph"

    def opts(self) -> dict:
        """Its options, as a process of its own reads them; ``config`` is frozen, which not all of Salt bears."""
        return salt.config.master_config(self.config_file)

    def runners(self, **settings: Any) -> LazyLoader:
        """Its runners, loaded into this process, with other settings; the package's own ``Loaders`` are a minion's."""
        return salt.loader.runner({**self.opts(), **settings})

    def accept(self, minion: str) -> Path:
        """Let a minion's key count as accepted, none runs; the factory accepts the keys of those alone that ask."""
        key = Path(self.config["pki_dir"]) / "minions" / minion
        key.write_text("")
        return key

    def typed(self, *words: str) -> ProcessResult:
        """Run ``salt-run WORDS`` as an admin's shell would: what a person reads."""
        return self.salt_run_cli(factory_class=Typed, timeout=LIMIT).run(*words)

    def asked(self, *words: str) -> ProcessResult:
        """Run ``salt-run WORDS --out json`` as a program would: ``data`` is the answer."""
        return self.salt_run_cli(timeout=LIMIT).run(*words)


def side_by_side(run: Callable[..., ProcessResult], cases: Iterable[list[str]]) -> list[ProcessResult]:
    """Run several commands at once, as many as pay on a small machine; answers in the same order."""
    with ThreadPoolExecutor(3) as pool:
        return list(pool.map(lambda words: run(*words), cases))


def policy_cfg(**roles: str) -> str:
    """The text of a policy.cfg by which ``salt`` is the master, every host is the cluster's and has its proposed disks.

    roles
        Beside those, the minions of each role, as a glob.
    """
    ends = (
        *("config/stack/default/global.yml", "config/stack/default/ceph/cluster.yml"),
        *("profile-default/cluster/*.sls", "profile-default/stack/default/ceph/minions/*.yml"),
    )
    named = [f"role-{role}/cluster/{minions}.sls" for role, minions in {"master": "salt", **roles}.items()]
    return "".join(f"{line}\n" for line in ("cluster-ceph/cluster/*.sls", *named, *ends))


def lay_out(master: Master, told: Mapping[str, Mapping], fsid: str, policy: str, settings: str = "") -> None:
    """Give a master a site, up to a proposal and policy.cfg.

    told
        What discovery stored of each minion; their keys are accepted.
    policy, settings
        The text of policy.cfg, and of the site's own ``cluster.yml``.
    """
    paths = site(master.opts())
    for name, looked_at in told.items():
        atomic.write(paths.inventory / f"{name}.json", json.dumps(looked_at))
        master.accept(name)
    networks = {"public_network": "10.0.0.0/24", "cluster_network": "10.0.0.0/24"}
    store.fragments(paths.proposals, tuple(told), fsid=fsid, networks=networks)
    if settings:
        atomic.write(paths.root / "stack/ceph/cluster.yml", settings)
    atomic.write(paths.proposals / "policy.cfg", policy)
    store.populate(paths.proposals, plan.peek(kept.load_inventory(paths.inventory), arguments.parse({"target": "n*"})))


def serve(opts: Mapping, pillar: Mapping | None = None) -> None:
    """Serve what policy.cfg chooses now, as configure does under a master's options; no minion is told.

    pillar
        The master's own, in which a file of the site's with templates says what it does.
    """
    paths = site(opts)
    built = generation.build(chosen.read(paths, opts["id"], pillar or {}))
    generation_disk.tell(paths, built)
    generation_disk.serve(paths, generation_disk.prepare(paths, built))
    generation_disk.forget(paths, built)
