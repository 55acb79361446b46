"""What is measured of the product itself: stages, what the site gives, proposals, hosts."""

import time
from collections.abc import Iterator, Mapping
from functools import partial

from cryptography import x509

from proposals.cluster import restarts
from proposals.files import site, tree
from proposals.inventory import compare, kept
from proposals.policy import profiles
from proposals.stages import metrics, replies
from proposals.stages.metrics import Sample
from proposals.stages.replies import Replies
from proposals.text.errors import ProposalError
from runners.engine.asking import jobs, minions
from runners.engine.cluster import maintained
from runners.engine.looks import stage_look
from runners.engine.runs import stage_lock, stage_log


def own(opts: Mapping) -> list[Sample]:
    """Return what the master knows by itself; no minion is asked.

    opts
        The master's options.
    """
    running = (stage_lock.holder(opts) or {}).get("log")
    ends = {str(path): stage_log.ends(path) for path in stage_log.paths(opts)}
    runs = [(*both, path == running) for path, both in ends.items() if both]
    now = Sample("written_timestamp_seconds", time.time())
    return [*metrics.stages(runs), *_certificates(site.site(opts)), *_proposals(opts), now]


def hosts(opts: Mapping) -> list[Sample]:
    """Return what hosts tell, asked in a few jobs whatever their number. ProposalError where the master takes none.

    What the cluster has to say first (who is in maintenance, which options hold) is left out where it does not.
    """
    asked = minions.ours(opts)
    questions = [jobs.Question("test.ping", kind=bool), *maintained.questions(opts)]
    try:
        startup = jobs.cluster(opts, stage_look.STARTUP)
        questions.append(jobs.Question(stage_look.SETTINGS))
    except ProposalError:  # nothing is configured or deployed yet, or no monitor answers: Ceph's own alerts tell that
        startup = None
    told = jobs.ask_apart(opts, asked, questions)
    away, _ = maintained.known(opts, told)
    settings = Replies({}, []) if startup is None else told[stage_look.SETTINGS]
    waiting = replies.read(settings, partial(restarts.waiting, startup=startup or ())).answers
    silent = told["test.ping"].silent
    found = metrics.hosts(asked, silent, {record.minion for record in away or ()}, waiting)
    return [*found, Sample("hosts_asked_timestamp_seconds", time.time())]


def _certificates(paths: site.Site) -> Iterator[Sample]:
    """The end of each certificate that the site gives: of the first that ends of those that a file holds."""
    for path in sorted(paths.given.glob("*.crt")):
        try:
            ends = [one.not_valid_after_utc.timestamp() for one in x509.load_pem_x509_certificates(path.read_bytes())]
        except (OSError, ValueError):  # no certificate: the stage that hands it out says so
            continue
        yield Sample("certificate_end_timestamp_seconds", min(ends), "file", path.name)


def _proposals(opts: Mapping) -> Iterator[Sample]:
    """Whether each stored proposal that was chosen plans the disks that discovery saw last."""
    paths = site.site(opts)
    layouts = paths.current / site.minion_file(opts["id"])
    if not layouts.exists():
        return
    chosen = tree.read_yaml(layouts)["ceph"].get("profiles", {})
    seen = kept.load_inventory(paths.inventory)
    for name, profile in profiles.read(paths.proposals, chosen).items():
        if profile.unread or profile.stored:
            stale = bool(profile.unread) or not compare.differences(profile.stored or {}, seen)["same"]
            yield Sample("proposal_stale", stale, "proposal", name)
