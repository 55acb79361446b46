"""Whom a Salt compound match names, as far as the master knows its minions: where it does not, that is said."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from itertools import product

import salt.utils.minions
from salt.utils.minions import CkMinions

from proposals.text.errors import ProposalError
from proposals.text.notes import FEW, several

# What the master looks up in its cache for a word of a match, by the word's engine. Of a minion that is not there Salt
# counts some words as met and some as not: G@ and S@, and either of them after "not".
CACHED = {"G": "grains", "P": "grains", "S": "grains", "I": "pillar", "J": "pillar"}
ALL, NONE = "*", "E@(?!)"  # words that every minion meets, and none
TRIED = 6  # such words of one match whose 2 ** 6 combinations are tried


def match(opts: Mapping, target: str, among: Collection[str] | None = None) -> list[str]:
    """Return the accepted minions that a Salt compound match names, sorted.

    opts
        The master's options.
    target
        The match: ``osd* and G@os:Debian``.
    among
        The minions that are asked about; None for all.

    Raises ProposalError where the master's cache lacks what decides it of a minion.
    """
    if not opts.get("minion_data_cache"):
        raise ProposalError(
            "minion_data_cache: False in the master's configuration: no compound match, such as ceph_minions, finds "
            "anybody then; set it to True, which is Salt's default, and restart the master"
        )
    known = CkMinions(opts)
    if undecided := _undecided(known, list(_words(opts, target)), among):
        asked = f"-L {','.join(undecided)}" if len(undecided) <= FEW else "'*'"
        raise ProposalError(
            f"'{target}' asks for grains or pillar that the master has not cached of "
            f'{several(undecided, "more", FEW)}: run "salt {asked} saltutil.refresh_grains", then this again; of one '
            "that does not answer, delete the key (salt-key --delete=ID) or say it by its id ('... and not L@ID')"
        )
    named = _named(known, target)
    return sorted(named if among is None else named.intersection(among))


def _undecided(known: CkMinions, words: Sequence[str], among: Collection[str] | None) -> list[str]:
    """The accepted minions of whom the cache lacks what would decide whether they are meant."""
    looked_up = {word: CACHED[engine] for word in words if (engine := _engine(word)) in CACHED}
    if not looked_up:
        return []
    minions = _named(known, ALL) if among is None else _named(known, ALL).intersection(among)
    grains, pillar = (set(known.cache.list(bank)) for bank in ("grains", "pillar"))
    of_pillar = [word for word, bank in looked_up.items() if bank == "pillar"]
    # Without grains Salt does not look for a pillar either.
    both, one = _either(known, words, list(looked_up), minions - grains), set()
    if of_pillar:
        one = _either(known, words, of_pillar, minions & grains - pillar)
    return sorted(both | one)


def _either(known: CkMinions, words: Sequence[str], open_: Sequence[str], minions: set[str]) -> set[str]:
    """Those of some minions whom a match names or not, by how some of its words turn out."""
    if not minions or len(open_) > TRIED:
        return minions
    cases = [dict(zip(open_, turned, strict=True)) for turned in product((ALL, NONE), repeat=len(open_))]
    named = [_named(known, " ".join(case.get(word, word) for word in words)) for case in cases]
    return {minion for minion in minions if len({minion in each for each in named}) > 1}


def _words(opts: Mapping, target: str) -> Iterator[str]:
    """The words of a match, those of its node groups in their place."""
    for word in target.split():
        if _engine(word) == "N":
            yield from salt.utils.minions.nodegroup_comp(word[2:], opts.get("nodegroups") or {})
        else:
            yield word


def _engine(word: str) -> str | None:
    return salt.utils.minions.parse_target(word)["engine"]


def _named(known: CkMinions, target: str) -> set[str]:
    return set(known.check_minions(target, "compound")["minions"])
