"""``salt-run policy.*``: what policy.cfg chooses, and the pillar made of it."""

import json

import salt.pillar
import salt.utils.minions

from proposals import answer, generation, pillar, policy, secrets, store
from proposals.errors import PolicyError
from proposals.site import site


@answer.answers
def show(**_):
    """Show what each line of policy.cfg matches.

    CLI Example:

    .. code-block:: bash

        salt-run policy.show
    """
    resolved = policy.resolve(site(__opts__).proposals)
    text = "\n".join(f"{line.line:4} {line.matches:5}  {line.pattern}" for line in resolved.lines)
    return answer.told(text, resolved.as_dict(), __opts__.get("output"))


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
        links = {
            "assignment.cfg": paths.shipped / "assignment.cfg",
            "stack.cfg": paths.shipped / "stack.cfg",
            "secrets": paths.secrets,
            "stack/ceph": paths.root / "stack" / "ceph",
        }
        store.write_tree(folder, made.files, links=links)
    _check(folder, made)
    if store.linked(paths.current) != folder:
        store.swap_link(paths.current, folder)
        changes["generation"] = made.name
    store.swap_link(paths.root / "cluster", paths.current / "cluster")
    store.swap_link(paths.root / "stack" / "default", paths.current / "stack" / "default")
    lines = [f"{minion}: {', '.join(roles) or 'no role'}" for minion, roles in sorted(made.roles.items())]
    state = "is served now" if "generation" in changes else "was served already, nothing changed"
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
    if keys != known:
        store.write(paths.keys, json.dumps(keys, indent=1), mode=0o600)
    told = {}
    for minion, roles in made.roles.items():
        mine = secrets.minion(keys, roles, made.hostnames.get(minion, minion))
        if mine:
            told[f"{minion}.yml"] = generation.dump({"ceph_secrets": mine})
    written = store.mirror(paths.secrets, told, mode=0o600)
    return {"secrets": written} if written else {}


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
