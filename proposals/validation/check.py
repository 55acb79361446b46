"""One check: a row of data and the function that looks. One finding: what it says of some hosts."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from proposals.text.names import shown
from proposals.text.notes import FEW, SCREEN, counted, several
from proposals.validation.subject import Subject

ERROR, WARNING, ALLOWED = "error", "warning", "allowed"
POLICY, SITE, HOSTS, MACHINES, FILES, KEYS = "policy", "site", "hosts", "machines", "files", "keys"
LOOKS = {  # what a check looks at
    POLICY: "what was chosen",
    SITE: "the site's settings",
    HOSTS: "what the hosts answered",
    MACHINES: "the hosts' machines",
    FILES: "the master's file roots",
    KEYS: "the keys that hosts hold",
}

SHOWS = "salt-run validate.show {} --out json"
LONGEST = 200  # characters of one value in a message: it may come from a minion


class Words(str):
    """Words of ours that are ready to be printed; all other values of a message are escaped and cut."""


@dataclass(frozen=True)
class Found:
    """What a look found: the hosts that it is about (none: the cluster) and the words for the row's message."""

    hosts: tuple[str, ...] = ()
    values: Mapping[str, object] = field(default_factory=dict)


def at(*hosts: str, **values: object) -> Found:
    """Return a Found about these hosts."""
    return Found(tuple(hosts), values)


@dataclass(frozen=True)
class Check:
    """A row of the table. ``message`` and ``fix`` are filled with what ``look`` found.

    about
        What is right, in one line.
    size
        Whether ``small_site: true`` allows it.
    source
        Where the rule or number comes from.
    """

    id: str
    severity: str
    looks_at: str
    about: str
    message: str
    fix: str
    look: Callable[[Subject], Iterable[Found]]
    source: str = ""
    size: bool = False


@dataclass(frozen=True)
class Finding:
    """One line of the answer."""

    check: str
    severity: str
    hosts: tuple[str, ...]
    message: str
    fix: str

    def as_dict(self) -> dict:
        """The finding as a program reads it."""
        return {
            "check": self.check,
            "severity": self.severity,
            "hosts": list(self.hosts),
            "message": self.message,
            "fix": self.fix,
        }


def run(checks: Iterable[Check], subject: Subject) -> list[Finding]:
    """Return every finding, errors first; what a row says in the same words of several hosts is one finding."""
    hosts: dict[tuple[Check, str, str], list[str]] = {}
    for check in checks:
        for hit in check.look(subject):
            words = {key: _word(value) for key, value in hit.values.items()}
            key = (check, check.message.format(**words), check.fix.format(**words))
            hosts.setdefault(key, []).extend(hit.hosts)
    findings = [
        Finding(check.id, _severity(check, subject), tuple(sorted(set(names))), message, fix)
        for (check, message, fix), names in hosts.items()
    ]
    return sorted(findings, key=lambda one: (ERROR, WARNING, ALLOWED).index(one.severity))


def _word(value: object) -> str:
    """A value, perhaps a minion's text, for a message; ``: ``, odd in YAML only, stays as it is."""
    return value if isinstance(value, Words) else shown(value, LONGEST).replace(":\\x20", ": ")


def _severity(check: Check, subject: Subject) -> str:
    return ALLOWED if check.size and subject.site["small_site"] else check.severity


def status(findings: Iterable[Finding]) -> int:
    """Return the exit status: 2 where there is an error, 1 where there are warnings only, else 0."""
    severities = {finding.severity for finding in findings}
    return 2 if ERROR in severities else 1 if WARNING in severities else 0


def _line(finding: Finding) -> str:
    """A finding, and below it what to do."""
    who = f"{several(list(finding.hosts))}: " if finding.hosts else ""
    line = f"{finding.severity:<8} {who}{finding.message}  [{finding.check}]"
    return line if finding.severity == ALLOWED else f"{line}\n         -> {finding.fix}"


def _lines(row: Sequence[Finding], each: str) -> Iterator[str]:
    """The findings of a check; of many hosts, or beyond a screen, the first ones and how many more there are."""
    many = len(row) > SCREEN or len({host for finding in row for host in finding.hosts}) > FEW
    most = FEW if many else len(row)
    yield from map(_line, row[:most])
    if rest := row[most:]:
        hosts = {host for finding in rest for host in finding.hosts}
        of = counted(len(hosts), "more host") if hosts else f"{len(rest)} more"
        yield f"{rest[0].severity:<8} and {of}: '{each.format(rest[0].check)}' names each  [{rest[0].check}]"


def text(findings: Iterable[Finding], looked: str, each: str = SHOWS) -> str:
    """Return findings as a person reads them.

    looked
        What was looked at, for the last line.
    each
        The command that names each finding of a check, whose id it may take.
    """
    findings = list(findings)
    rows: dict[tuple[str, str], list[Finding]] = {}
    for finding in findings:
        rows.setdefault((finding.severity, finding.check), []).append(finding)
    lines = [line for row in rows.values() for line in _lines(row, each)]
    count = {
        severity: sum(finding.severity == severity for finding in findings) for severity in (ERROR, WARNING, ALLOWED)
    }
    allowed = f", {count[ALLOWED]} allowed by small_site" if count[ALLOWED] else ""
    return "\n".join([*lines, f"{looked}: errors {count[ERROR]}, warnings {count[WARNING]}{allowed}"])
