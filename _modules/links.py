"""This host's planned links (``ceph:network``): checked, applied with a rollback ready, judged by the kernel.

A change that loses the master is rolled back by this host itself (``links_undo``); only what the master answered over
is made permanent. Files are written only where they differ: a backend takes up touched files too.
"""

import json
import socket
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

import halocline
from salt.exceptions import CommandExecutionError

BACKENDS = ("links_networkd", "links_networkmanager", "links_wicked")
CONTAINER, NET = Path("/run/systemd/container"), Path("/sys/class/net")
INTERFACES = Path("/etc/network/interfaces")  # ifupdown's: interfaces(5)
PUBLISH, REQUEST = 4505, 4506  # Salt's ports, where nobody gave others
SECONDS = 60  # until the rollback
SPARE = 20  # of these, seconds before its end in which nothing is waited for any more
REACHED = 20  # seconds in which the master must answer before anything is touched
LEAST = 5  # seconds that are waited at least
LIMIT = 90  # seconds one command of a backend may take
PAUSE = 0.5  # seconds between two looks


def check() -> list[str]:
    """Return what stands against applying the plan, one line each; nothing is changed.

    CLI Example:

    .. code-block:: bash

        salt 'osdnode1' links.check
    """
    network = _network()
    if not network or not (differences := changes()):
        return []
    if CONTAINER.exists():
        lines = "; ".join(f"{name} {words}" for name, words in sorted(differences.items()))
        return [f"this is a container, its network is its host's to keep; the plan differs: {lines}"]
    running = _backends()
    if len(running) != 1:
        names = ", ".join(backend.removeprefix("links_") for backend in running or BACKENDS)
        state = f"{names} run" if running else f"none of {names} runs"
        return [f"expected exactly one network backend, {state}: start the one that keeps the network, stop the others"]
    before = __salt__["links_undo.applied"]()["links"]
    problems = __salt__["links_plan.obstacles"](network, __salt__["links_kernel.links"](), before)
    others = [name for name, words in differences.items() if words == "is still there" and name not in before]
    if running != ["links_networkd"]:  # there our file of what lies below hides the host's own, which names this VLAN
        says = "would come again at boot by a file of its own: remove the file and the link, then run it again"
        problems += [f"{name}, which the plan has otherwise, {says}" for name in others]
    return problems + _ifupdown(network)


def report() -> dict:
    """Return what a stage needs to know of this host: ``{host, problems, changes, undone, daemons, pending}``.

    ``host`` is its name to Ceph, ``problems`` stand against the plan, ``changes`` are what differs from it, ``undone``
    is why the last change was rolled back, ``daemons`` whether monitors or OSDs run here, ``pending`` whether a change
    may be rolled back yet.

    CLI Example:

    .. code-block:: bash

        salt 'osdnode1' links.report
    """
    daemons = bool(__salt__["ps.pgrep"]("^ceph-(mon|osd)$", pattern_is_regex=True))
    pending = __salt__["links_undo.pending"]()  # before: what is confirmed while this looks is as it was seen
    told = {"problems": check(), "changes": changes(), "undone": __salt__["links_undo.undone"]()}
    return {**told, "host": __grains__["host"], "daemons": daemons, "pending": pending}


def changes() -> dict[str, str]:
    """Return what applying would change: ``{path or link: words}``, empty where all is as planned.

    CLI Example:

    .. code-block:: bash

        salt 'osdnode1' links.changes
    """
    network = _network()
    if not network:
        return {}
    links = __salt__["links_kernel.links"]()
    differences = __salt__["links_kernel.differences"](network, links, __salt__["links_undo.applied"]()["links"])
    differences |= __salt__["links_kernel.ports"](network, links)
    lines = {name: ", ".join(words) for name, words in differences.items()}
    backend = next(iter(_backends()), None)
    if backend and not CONTAINER.exists():
        files = __salt__["links_files.differences"](backend, network)
        lines |= dict.fromkeys(files["written"], "is written") | dict.fromkeys(files["removed"], "is removed")
    return {**lines, **({"the last change": "is not confirmed"} if __salt__["links_undo.pending"]() else {})}


def apply(seconds: float | None = None) -> dict[str, str]:
    """Apply the plan; return what changed. Rolled back by this host itself where the master does not answer then.

    seconds
        When the rollback comes unless all is well before; without, what the site says (``ceph:network:seconds``).

    CLI Example:

    .. code-block:: bash

        salt 'osdnode1' links.apply
    """
    __salt__["links_undo.finish"]()
    todo = changes()
    if not todo:
        return {}
    if problems := check():
        raise CommandExecutionError("\n".join(problems))
    network, backend = _network(), _backends()[0]
    ports, named = _reached(), _named()
    before = __salt__["links_undo.applied"]()
    seconds = seconds or network.get("seconds") or SECONDS
    links = __salt__["links_kernel.links"]()
    files = __salt__["links_files.differences"](backend, network)
    steps = __salt__["links_plan.steps"](network, links, before["links"])
    commands = [*__salt__[f"{backend}.read"](), *(f"ip link delete {name} 2>/dev/null" for name in steps["created"])]
    names = _upward(network) + sorted(steps["deleted"], key=lambda name: "link" in links[name])  # VLANs last
    commands += steps["commands"] + __salt__[f"{backend}.undo"](sorted(network["ports"]), list(dict.fromkeys(names)))
    then = {"files": sorted(__salt__[f"{backend}.files"](network)), "links": network["links"]}
    __salt__["links_undo.arm"]([*files["written"], *files["removed"]], commands, seconds, then)
    end = time.monotonic() + max(LEAST, seconds - SPARE)
    try:
        _carry_out(network, backend, files, steps)
        left = max(0, round(end - time.monotonic(), 1))
        halocline.until(lambda: _look(network, before, ports, named), left, pause=PAUSE)
    except (CommandExecutionError, OSError) as err:
        __salt__["links_undo.roll_back"](str(err))
        raise CommandExecutionError(f"rolled back, the network is as it was: {err}") from err
    if not __salt__["links_undo.confirm"]():
        raise CommandExecutionError(f"rolled back by the timer after {seconds} s, the network is as it was; run again")
    return todo


def _carry_out(network: Mapping, backend: str, files: Mapping, steps: Mapping) -> None:
    """Write the files, delete what is remade, make the backend take them up."""
    names, deleted = _upward(network), set(steps["deleted"])
    again = deleted.union(*(network["links"].get(name, {}).get("ports", ()) for name in deleted))
    touched, new = __salt__["links_files.write"](files, names)
    for line in __salt__[f"{backend}.read"]():
        halocline.run(line.split(), limit=LIMIT)
    for name in steps["deleted"]:
        if (NET / name).exists():
            halocline.run(["ip", "link", "delete", name], limit=SPARE)
    for path, value in steps["options"].items():
        Path(path).write_text(value)
    changed = [name for name in names if name in touched or name in again]
    new = [name for name in changed if name in new or name in again or not (NET / name).exists()]
    __salt__[f"{backend}.load"](new, changed, steps["deleted"])


def _upward(network: Mapping) -> list[str]:
    """The plan's interfaces in the order in which they come up: bonds wait for their ports, VLANs for what is below."""
    links = network["links"]
    vlans = [name for name, link in links.items() if link["kind"] == "vlan"]
    return list(dict.fromkeys([*(name for name in links if name not in vlans), *network["ports"], *vlans]))


def _look(network: Mapping, before: Mapping, ports: Sequence[int], named: bool) -> None:
    """Raise with what the kernel has not as planned yet, else with where the master does not answer, or that its name
    is not known any more: name servers that came with a link's own configuration, or by DHCP, go with it.
    """
    links = __salt__["links_kernel.links"]()
    differences = __salt__["links_kernel.differences"](network, links, before["links"])
    differences |= __salt__["links_kernel.ports"](network, links)
    problems = [f"{name} {', '.join(words)}" for name, words in differences.items()]
    problems += __salt__["links_kernel.unready"](network, links)
    problems += [] if problems else [f"{port} does not answer over the new network" for port in _silent(ports)]
    if not problems and named and not _named():
        keeps = "write it into /etc/hosts there, or give name servers that come with no link"
        problems = [f"{__opts__['master']}, the master's name, leads to no address any more, {keeps}"]
    if problems:
        raise CommandExecutionError("; ".join(problems))


def _named() -> bool:
    """Whether the master's name, as its minion was told it, leads to an address: one that starts anew asks for it."""
    try:
        socket.getaddrinfo(__opts__["master"].strip("[]"), None)
    except OSError:
        return False
    return True


def _reached() -> list[int]:
    """Return the master's ports that answer before anything is touched: that they still do is what a change is judged
    by. Raise where it does not answer: it may be busy, as many hosts change at once, or start anew.
    """
    publish, request = __opts__.get("publish_port", PUBLISH), __opts__.get("master_port", REQUEST)

    def look() -> None:
        if silent := _silent([publish, request]):
            raise CommandExecutionError(f"{', '.join(silent)} does not answer: nothing was changed; run it again")

    try:
        halocline.until(look, REACHED, pause=PAUSE)
    except CommandExecutionError:
        # A minion is told the port to listen at when it signs in, and keeps it nowhere: it may be another than Salt's.
        if "publish_port" in __opts__ or _silent([request]):
            raise
        return [request]
    return [publish, request]


def _silent(ports: Sequence[int]) -> list[str]:
    """Which of the master's ports do not answer: from here there and back."""
    host, silent = (__opts__.get("master_ip") or __opts__["master"]).strip("[]"), []  # as Salt writes IPv6 addresses
    for port in ports:
        try:
            socket.create_connection((host, port), timeout=3).close()
        except OSError:
            silent.append(f"{host} port {port}")
    return silent


def _ifupdown(network: Mapping) -> list[str]:
    """What ifupdown configures at each boot of that which is planned: it would lie on a bond's port beside the bond."""
    files = [INTERFACES, *sorted(INTERFACES.with_name("interfaces.d").glob("*"))]
    text = "\n".join(path.read_text(errors="replace") for path in files if path.is_file())
    lines = [line.split() for line in text.replace("\\\n", " ").splitlines()]
    begun = {name for words in lines if words[:1] in (["auto"], ["allow-hotplug"]) for name in words[1:]}
    given = {words[1] for words in lines if words[:1] == ["iface"] and len(words) > 3 and words[3] != "manual"}
    names = {name.partition(":")[0] for name in begun & given} & {*network["links"], *network["ports"]}
    if not names or halocline.status(["systemctl", "is-enabled", "--quiet", "networking"]):
        return []
    lets = f"let one of the two keep the network, and take that out of {INTERFACES} or {INTERFACES}.d"
    return [f"ifupdown brings {', '.join(sorted(names))} up at each boot too: {lets}"]


def _backends() -> list[str]:
    """The network backends that run on this host."""
    return [backend for backend in BACKENDS if __salt__[f"{backend}.active"]()]


def _network() -> dict:
    """What is planned for this host, as a copy (Salt's pillar is a loader's view); empty without a proposal for it."""
    network = json.loads(json.dumps(__pillar__.get("ceph", {}).get("network") or {}))
    return network if "links" in network else {}
