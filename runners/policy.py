"""``salt-run policy.*``: what policy.cfg chooses, and the pillar made of it."""

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from proposals.files import site
from proposals.pillar import carried, chosen, generation, generation_disk, key_store, named, problems, served, strays
from proposals.policy import merging, policy
from proposals.stages import replies, targets
from proposals.text import tables
from proposals.text.errors import PolicyError
from proposals.text.notes import by_host, cut, several
from proposals.validation import check as checks
from proposals.validation import judging
from runners.engine import answer
from runners.engine.asking import jobs, minions
from runners.engine.looks import early, facts, keys, parts
from runners.engine.master import compiled
from runners.engine.runs import one_at_a_time, stage_lock

CHECKED = "salt-run policy.check --out json"
DISKS = f"'{CHECKED}' names each of these disks"
REMOVAL = "see 'salt-run stage.plan removal', after ceph.stage.configure"
LEAVES = f"'salt-run policy.show --out json' names each; {REMOVAL}"
UNASKED = "{name}: nothing asks for this key any more: left alone; 'salt-run secret.revoke {name}' takes it away"


@answer.answers
def show(**_: Any) -> answer.Answer:
    """Show what each line of policy.cfg matches, what is empty of it, and what was served until now and would leave.

    CLI Example:

    .. code-block:: bash

        salt-run policy.show
    """
    paths = site.site(__opts__)
    resolved = policy.resolve(paths.proposals)
    shown = {**resolved.as_dict(), "warnings": list(resolved.warnings)}
    shown["leaves"] = _leaves(paths, resolved.contents)
    lines = [tables.printed(tables.policy, shown).rstrip(), *shown["warnings"], *cut(shown["leaves"], LEAVES)]
    return answer.Answer("\n".join(lines), shown)


@answer.answers
def check(minion: str | None = None, **_: Any) -> answer.Answer:
    """Show what is wrong with what policy.cfg chooses and, of one minion, what it would be told; change nothing.

    Exit status 1 where there are warnings only, 2 where there are errors.

    CLI Example:

    .. code-block:: bash

        salt-run policy.check
        salt-run policy.check osdnode1
    """
    choice = _chosen(site.site(__opts__))
    judged = judging.judge(choice)
    pillar = judging.told(choice, str(minion), judged) if minion is not None else {}
    lines = [generation.dump(pillar).rstrip()] if pillar else _roles(judged.roles)
    lines.append(checks.text(judged.findings, f"policy.cfg for {len(judged.roles)} hosts", CHECKED))
    data = {"findings": [finding.as_dict() for finding in judged.findings], "roles": judged.roles, **pillar}
    return answer.Answer("\n".join(lines), data, checks.status(judged.findings))


@answer.answers
def push(only: str | None = None, test: bool = False, **_: Any) -> dict[str, Any]:
    """Make a new generation of the pillar from policy.cfg, check it, then serve it: the configure stage.

    The same choice makes the same generation, and nothing changes. The old generation is served until the new one
    is whole. Refused before anything is written where a host holds keys of a cluster that the master has not.

    only
        Salt's glob, such as ``osdnode[1-4]*``: all of policy.cfg is made, as a check, and what is served of the other
        hosts is carried over unchanged. What is told to all hosts alike is new for all.
    test
        Only say whether another generation would be served.

    CLI Example:

    .. code-block:: bash

        salt-run policy.push
        salt-run policy.push only='osdnode[1-4]*'
        salt-run policy.push test=True
    """
    if not test:
        stage_lock.free(__opts__)
    only, paths = targets.pattern(only), site.site(__opts__)
    if against := generation_disk.obstacles(paths):
        raise PolicyError("\n".join(against))
    choice = _chosen(paths)
    before = {} if only is None else _served(paths)
    hosts = None if only is None else set(targets.named(only, {*choice.roles, *carried.minions(before)}))
    built = _built(choice, before, hosts)
    if test:
        return _would(paths, built)
    unseen = keys.refuse(__opts__, built, choice.hosts, str(choice.written.get("fsid")))
    with one_at_a_time.alone(__opts__, "policy.push", one_at_a_time.KEYS):
        written = generation_disk.tell(paths, built, hosts)
        changes: dict[str, Any] = {"secrets": written} if written else {}
        folder = generation_disk.prepare(paths, built)
        if mended := generation_disk.mend(folder, built):
            changes["written again"] = mended
        compiled.check(__opts__, folder, built.name, list(built.roles))
        named.note(paths, built.named)
        if generation_disk.serve(paths, folder):
            changes["generation"] = built.name
        if gone := generation_disk.forget(paths, built, hosts):
            changes["secrets taken away"] = gone
        generation_disk.prune(paths, generation_disk.kept(built))
    without = judging.without(choice)
    lines = [*_roles(built.roles), *unseen, *_refresh(paths, built, bool(changes))]
    again = [f"{folder}/{path}: was not as configure had written it: written again" for path in mended]
    lines += cut(again, "--out json has each")
    lines += _unread(choice)
    lines += [UNASKED.format(name=name) for name in key_store.unasked(paths, built.entities)]
    lines += named.keyrings(named.known(paths), built.named)
    lines += by_host(((each.hosts[0], f"{each.message}; {each.fix}") for each in without), DISKS)
    lines += [f"only={only}: {len(built.roles) - len(hosts)} other hosts are as they were"] if hosts else []
    state = "is served now" if "generation" in changes else "was served already"
    state += "" if changes else ", nothing changed"
    text = "\n".join([*lines, f"generation {built.name} {state}"])
    return {"text": text, "changes": changes, "findings": [each.as_dict() for each in without]}


def _built(choice: chosen.Chosen, before: Mapping[str, str], hosts: Collection[str] | None) -> generation.Generation:
    """The generation; PolicyError that names, of more problems than a screen holds, the first ones."""
    try:
        return generation.build(choice) if hosts is None else carried.build(choice, before, hosts)
    except PolicyError as err:
        raise PolicyError("\n".join(cut(str(err).splitlines(), f"'{CHECKED}' names each"))) from err


def _unread(choice: chosen.Chosen) -> list[str]:
    """What of the site's own, and of what policy.cfg chooses, nothing reads."""
    own = [f"{path}: {line}" for path, line in problems.unread(choice.own)]
    return [*own, *choice.warnings, *cut(strays.found(choice), f"'{CHECKED}' names each")]


def _would(paths: site.Site, built: generation.Generation) -> dict[str, Any]:
    """What configure would serve, as a step of a plan."""
    text = f"generation {built.name} would be served"
    if paths.current.is_dir() and paths.current.resolve().name == built.name:
        if not (odd := generation_disk.odd(paths.current, built)):
            return {"text": f"generation {built.name} is served already"}
        text = f"of generation {built.name} would be written again: {several(odd, 'more')}"
    step = {"step": "policy.push", "comment": text, "fails": False, "minions": {}, "serves": built.name}
    return {"text": text, "plan": [step]}


def _leaves(paths: site.Site, contents: Mapping[str, Mapping[str, dict]]) -> list[str]:
    """What generations that were served named and policy.cfg does not: a stage of its own takes it away."""
    files = {target: merging.merge(sources.values()) for target, sources in contents.items()}
    lines = named.leaves(named.known(paths), files)
    return [*lines, REMOVAL] if lines else []


def _served(paths: site.Site) -> dict[str, str]:
    """The texts that are served of single minions; none where nothing is."""
    return served.texts(paths) if paths.current.is_dir() else {}


def _roles(roles: Mapping[str, Sequence[str]]) -> list[str]:
    return by_host((minion, ", ".join(names) or "no role") for minion, names in sorted(roles.items()))


def _chosen(paths: site.Site) -> chosen.Chosen:
    """All that configure makes a generation of."""
    return chosen.read(paths, __opts__["id"], minions.told(__opts__))


def _refresh(paths: site.Site, built: generation.Generation, changed: bool) -> list[str]:
    """Let the minions fetch their pillar, those too that lost their place in it, in one job; say which did not. Where
    nothing changed and prep is a stage of the same run, they have done so in its first step; but where one had an older
    generation in that very job, it is waited for, and deploy asks anew what all have told before.
    """
    lost = set(named.known(paths)) & set(minions.ours(__opts__))
    asked = sorted({*built.members["all"], *lost})
    before = early.told(__opts__, built.members["all"], facts.ASKED)
    older = before is not None and any(each.get("generation") != built.name for each in before.answers.values())
    done = None if changed or older else early.told(__opts__, asked, parts.REFRESH.function)
    refreshed = done or jobs.ask(__opts__, asked, parts.REFRESH.function, jobs.REFRESH, object)
    if older:
        early.keep(__opts__, None)
    lines = by_host((minion, "does not answer; it fetches its pillar when it starts") for minion in refreshed.silent)
    return [*lines, *replies.lines(refreshed.failed)]
