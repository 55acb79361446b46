"""``salt-run policy.*``: what policy.cfg chooses, and the pillar made of it."""

import salt.pillar
import salt.utils.minions

from proposals import answer
from proposals.files.site import site
from proposals.pillar import chosen, generation, generation_disk, problems
from proposals.policy import policy
from proposals.text import tables
from proposals.text.errors import PolicyError
from proposals.validation import judging
from proposals.validation.check import status, text


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
def check(minion=None, **_):
    """Show what is wrong with what policy.cfg chooses and, of one minion, what it would be told; change nothing.

    Exit status 1 where there are warnings only, 2 where there are errors.

    CLI Example:

    .. code-block:: bash

        salt-run policy.check
        salt-run policy.check osdnode1
    """
    paths = site(__opts__)
    choice = _chosen(paths)
    judged = judging.judge(choice)
    told = judging.told(choice, str(minion), judged) if minion is not None else {}
    lines = [f"{each}: {', '.join(roles) or 'no role'}" for each, roles in sorted(judged.roles.items())]
    lines = [generation.dump(told).rstrip()] if told else lines
    lines.append(text(judged.findings, f"policy.cfg for {len(judged.roles)} hosts"))
    data = {"findings": [one.as_dict() for one in judged.findings], "roles": judged.roles, **told}
    return answer.told("\n".join(lines), data, __opts__.get("output"), status(judged.findings))


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
    choice = _chosen(paths)
    made = generation.build(choice)
    changes = {"secrets": told} if (told := generation_disk.tell(paths, made)) else {}
    folder = generation_disk.prepare(paths, made)
    _check(folder, made)
    if generation_disk.serve(paths, folder):
        changes["generation"] = made.name
    if gone := generation_disk.forget(paths, made):
        changes["secrets taken away"] = gone
    silent = _refresh(made)
    lines = [f"{minion}: {', '.join(roles) or 'no role'}" for minion, roles in sorted(made.roles.items())]
    state = "is served now" if "generation" in changes else "was served already, nothing changed"
    lines += [f"{minion}: does not answer; it will be told when it does" for minion in silent]
    lines += [f"{path}: {line}" for path, line in problems.unread(choice.own)]
    return {"text": "\n".join([*lines, f"generation {made.name} {state}"]), "changes": changes}


def _chosen(paths):
    """All that configure makes a generation of."""
    pillar = salt.pillar.get_pillar(__opts__, {}, __opts__["id"], "base").compile_pillar()
    return chosen.read(paths, __opts__["id"], pillar)


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
