"""A smoke test: each service tried by its client, one after the other; what clients made is taken away in any case."""

from collections.abc import Callable, Collection, Mapping

from proposals.files import tree
from proposals.files.site import MINIONS, site
from proposals.inventory import kept
from proposals.services import smoke
from proposals.services.smoke import Attempt, Served
from proposals.services.smoke_told import Result, read
from proposals.text.errors import ProposalError
from runners.engine.asking import jobs, minions
from runners.engine.cluster import maintained

LIMIT = 60  # seconds; a minion that is silent then is given up, one that works is waited for


def served(opts: Mapping) -> Served:
    """Return what the generation that is served has to try. PolicyError where nothing is configured yet."""
    paths, master, pillar = site(opts), minions.members(opts)["master"][0], minions.pillar(opts)
    files = {path.stem: path for path in (paths.current / MINIONS).glob("*.yml") if path.stem != opts["id"]}
    told = {minion: tree.read_yaml(path).get("ceph", {}).get("services", {}) for minion, path in files.items()}
    hosts = kept.load_inventory(paths.inventory)["hosts"]
    given = [paths.given / name for name in smoke.certificates(pillar)]
    return Served(told, pillar, hosts, master, "\n".join(path.read_text() for path in given if path.is_file()))


def carry_out(opts: Mapping, found: Served, wanted: Collection[Attempt], tell: Callable[[str], None]) -> list[Result]:
    """Try services; return what came of each attempt, and of the cleaning where something stays.

    opts
        The master's options.
    found, wanted
        What there is, and what of it to try.
    tell
        Called with each result's text as it comes, and with what an ended test had left.

    Raises ProposalError where no monitor answers: nothing was tried then.
    """
    why = jobs.cluster(opts, "smoke.standing", kind=list)
    results = [Result("cluster", failed=tuple(map(str, why)))] if why else []
    for host in maintained.records(opts):
        tell(f"{host} is in maintenance: what it alone serves fails")
    for result in results:
        tell(result.text())
    for line in clean(opts, found)[0]:
        tell(f"removed, which a test that was killed had left: {line}")
    if made := smoke.cleaned(wanted):
        jobs.cluster(opts, "smoke.begin", [made], bool)
    try:
        for attempt in wanted:
            results.append(_tried(opts, attempt))
            tell(results[-1].text())
    finally:
        left = clean(opts, found)[1]
    return [*results, *(Result(name, failed=(f"what it made is not gone yet: {why}",)) for name, why in left.items())]


def clean(opts: Mapping, found: Served, services: Collection[str] = ()) -> tuple[list[str], dict[str, str]]:
    """Take away what smoke tests made: return what was there, and by service why something could not be taken away.

    opts, found
        As for ``carry_out``.
    services
        Where to look, beside those that the cluster's record names.
    """
    names = {*services, *jobs.cluster(opts, "smoke.left", kind=list)}
    done: list[str] = []
    problems: dict[str, str] = {}
    for name in (name for name in smoke.CLEANED if name in names):
        if not (asked := smoke.cleaning(found, name)):
            problems[name] = smoke.UNSERVED
            continue
        try:
            for minion, words in asked:
                done += map(str, jobs.one(opts, minion, f"smoke_{name}.clean", list(words), list, LIMIT))
        except ProposalError as err:
            problems[name] = str(err)
    if names and not problems:
        jobs.cluster(opts, "smoke.end", kind=bool)
    return done, problems


def _tried(opts: Mapping, attempt: Attempt) -> Result:
    """What came of one attempt."""
    if attempt.without:
        return Result(attempt.service, skipped=(attempt.without,))
    try:
        said = jobs.one(opts, attempt.minion, attempt.function, list(attempt.arguments), dict, LIMIT)
    except ProposalError as err:
        return Result(attempt.service, failed=(str(err),))
    return read(attempt.service, said)
