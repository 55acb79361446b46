"""``salt-run policy.*``: what policy.cfg chooses, and the pillar made of it."""

import json

import salt.pillar
import salt.utils.minions

from proposals import answer, generation, pillar, policy, secrets, store, tables
from proposals.errors import PolicyError
from proposals.site import site


@answer.answers
def show(**_):
    """Show what each line of policy.cfg matches.

    CLI Example:

    .. code-block:: bash

        salt-run policy.show
    """
    shown = policy.resolve(site(__opts__).proposals).as_dict()
    return answer.told(answer.printed(tables.policy, shown), shown, __opts__.get("output"))


@answer.answers
def push(**_):
    """Make a new generation of the pillar from policy.cfg, check it, then serve it: the configure stage.

    The same choice makes the same generation, and nothing changes. The old generation is served until the new one
    is whole.

    CLI Example:

    .. code-block:: bash

        salt-run policy.push
    """
    paths = site(__opts__)
    made = generation.build(_chosen(paths.proposals), store.load_inventory(paths.inventory)["hosts"], __opts__["id"])
    changes = _secrets(paths, made)
    folder = paths.generations / made.name
    if not folder.is_dir():
        store.write_tree(folder, made.files)
    for name in ("assignment.cfg", "stack.cfg"):
        store.swap_link(folder / name, paths.shipped / name)
    store.swap_link(folder / "secrets", paths.secrets)
    store.swap_link(folder / "stack" / "ceph", paths.root / "stack" / "ceph")
    _check(folder, made)
    if not paths.current.is_symlink() or paths.current.readlink() != folder:
        store.swap_link(paths.current, folder)
        changes["generation"] = made.name
    store.swap_link(paths.root / "cluster", paths.current / "cluster")
    store.swap_link(paths.root / "stack" / "default", paths.current / "stack" / "default")
    silent = _refresh(made)
    lines = [f"{minion}: {', '.join(roles) or 'no role'}" for minion, roles in sorted(made.roles.items())]
    state = "is served now" if "generation" in changes else "was served already, nothing changed"
    lines += [f"{minion}: does not answer; it will be told when it does" for minion in silent]
    return {"text": "\n".join([*lines, f"generation {made.name} {state}"]), "changes": changes}


def _chosen(root):
    """What policy.cfg selects, merged, by target."""
    resolved = policy.resolve(root)
    return {
        target: pillar.merge([store.read_yaml(root / source) for source in sources])
        for target, sources in resolved.targets.items()
    }


def _secrets(paths, made):
    """Make the keys that are missing and tell each minion its own; what is known stays."""
    known = json.loads(store.read_text(paths.keys)) if paths.keys.exists() else {}
    keys = secrets.keys(known, [made.hostnames[minion] for minion in made.members["mgr"]])
    for folder in (paths.keys.parent, paths.secrets):
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    if keys != known:
        store.write(paths.keys, json.dumps(keys, indent=1), mode=0o600)
    told = {}
    for minion, roles in made.roles.items():
        mine = secrets.minion(keys, roles, made.hostnames.get(minion, minion))
        if mine:
            told[f"{minion}.yml"] = generation.dump({"ceph_secrets": mine})
    written = [name for name, text in told.items() if _differs(paths.secrets / name, text)]
    for name in written:
        store.write(paths.secrets / name, told[name], mode=0o600)
    dropped = [path for path in paths.secrets.glob("*.yml") if path.name not in told]
    for path in dropped:
        path.unlink()
    changed = written + [path.name for path in dropped]
    return {"secrets": changed} if changed else {}


def _differs(path, text):
    return not path.exists() or store.read_text(path) != text


def _refresh(made):
    """Let the minions fetch what they are told, in one job; return those that do not answer."""
    answered = __salt__["minions.ask"](made.members["all"], ["saltutil.refresh_pillar"], [[True, 30]])
    return sorted(set(made.members["all"]) - set(answered))


def _check(folder, made):
    """Compile every minion's pillar from a generation that is not served yet, as Salt will."""
    opts = dict(__opts__)
    opts["ext_pillar"] = [{"stack": [str(folder / "assignment.cfg"), str(folder / "stack.cfg")]}]
    for minion in sorted(made.roles):
        _, grains, _ = salt.utils.minions.get_minion_data(minion, opts)
        told = salt.pillar.Pillar(opts, grains or {}, minion, "base").compile_pillar()
        if told.get("_errors"):
            raise PolicyError(
                f"{minion}: its pillar cannot be compiled: {told['_errors']}; the old one is still served"
            )
        if told.get("ceph", {}).get("generation") != made.name:
            raise PolicyError(
                f"{minion}: its pillar does not carry generation {made.name}: does a file under stack/ceph "
                "overwrite 'ceph'? The old one is still served"
            )
