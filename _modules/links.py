"""This host's planned links (``ceph:network``): checked, applied with a way back, judged by the kernel.

A change that loses the master is undone by this host itself (``links_undo``); only what the master answered over is
made permanent. Files are written only where they differ: a keeper of networks takes up touched files too.
"""

import json
import os
import socket
import subprocess
import time
from pathlib import Path

from salt.exceptions import CommandExecutionError

KEEPERS = ("links_networkd", "links_networkmanager", "links_wicked")
CONTAINER, NET = Path("/run/systemd/container"), Path("/sys/class/net")
LIVE = ("miimon", "xmit_hash_policy", "min_links")  # options that the bonding driver changes while ports are up
SECONDS = 60  # until the way back is taken
SPARE = 20  # of these, seconds before its end in which nothing is waited for any more


def check():
    """Return what stands against applying the plan, one line each; nothing is changed.

    CLI Example:

    .. code-block:: bash

        salt 'osdnode1' links.check
    """
    network = _network()
    if not network or not changes():
        return []
    if CONTAINER.exists():
        return [f"this is a container, its network is its host's to keep; the plan differs: {_told(changes())}"]
    running = [keeper for keeper in KEEPERS if __salt__[f"{keeper}.keeps"]()]
    if len(running) != 1:
        names = ", ".join(keeper.removeprefix("links_") for keeper in running or KEEPERS)
        found = f"{names} run" if running else f"none of {names} runs"
        return [
            f"exactly one keeper of the network was expected, {found}: start the one that keeps it, stop the others"
        ]
    links = __salt__["links_kernel.found"]()
    return _ports(network, links) + _routes(network, links)


def _ports(network, links):
    """Ports that are not there, not where the plan saw them, held by something else, or too small."""
    problems = []
    mtu = {port: link["mtu"] for name, link in network["links"].items() for port in link.get("ports", (name,))}
    bonds = {port: name for name, link in network["links"].items() for port in link.get("ports", ())}
    for port, path in network["ports"].items():
        there = links.get(port)
        if not there:
            problems.append(f"there is no port {port}: run ceph.stage.discovery and networks.populate again")
            continue
        sits = (NET / port / "device").resolve().name if (NET / port / "device").exists() else None
        if path and sits and path.removeprefix("pci-") != sits:
            problems.append(
                f"{port} sits at {sits}, the plan saw it at {path}: has its card been exchanged? Plan again"
            )
        master = there.get("master")
        if master and master != bonds.get(port):
            problems.append(f"{port} is a member of {master}: take it out of there or out of the plan")
        if (planned := mtu.get(port, 0)) > there.get("max_mtu", planned):
            problems.append(f"{port} can do an MTU of {there['max_mtu']}, {planned} is planned: nothing is applied")
    return problems


def _routes(network, links):
    """Default routes that would be lost: they lie on what a bond takes, and the plan names no gateway."""
    taken = set(network["ports"]) | set(network["links"])
    planned = any(link.get("gateway") for link in network["links"].values())
    return [
        f"the default route by {', '.join(map(str, link['gateways']))} lies on {name} and the plan names no gateway: "
        f"networks.populate gateway={link['gateways'][0]} ..."
        for name, link in links.items()
        if name in taken and link.get("gateways") and not planned
    ]


def report():
    """Return what a stage needs to know of this host: what stands against the plan, what differs, what was undone.

    CLI Example:

    .. code-block:: bash

        salt 'osdnode1' links.report
    """
    found = {"problems": check(), "changes": changes(), "undone": __salt__["links_undo.undone"]()}
    return {**found, "daemons": bool(__salt__["ps.pgrep"]("^ceph-(mon|osd)$", pattern_is_regex=True))}


def changes():
    """Return what applying would change: ``{path or link: what}``, empty where all is as planned.

    CLI Example:

    .. code-block:: bash

        salt 'osdnode1' links.changes
    """
    network = _network()
    if not network:
        return {}
    links = __salt__["links_kernel.found"]()
    found = __salt__["links_kernel.differences"](network, links, __salt__["links_undo.applied"]()["links"])
    told = {name: ", ".join(what) for name, what in {**found, **__salt__["links_kernel.ports"](network, links)}.items()}
    keeper = _keeper()
    if keeper and not CONTAINER.exists():
        written, removed = _files(keeper, network)
        told |= dict.fromkeys(written, "is written") | dict.fromkeys(removed, "is removed")
    return told


def apply(seconds=None):
    """Apply the plan; return what changed. Undone again, by this host itself, where the master does not answer then.

    seconds
        When the way back is taken unless all is well before; without, what the site says (``ceph:network:seconds``).

    CLI Example:

    .. code-block:: bash

        salt 'osdnode1' links.apply
    """
    told = changes()
    if not told:
        return {}
    if problems := check():
        raise CommandExecutionError("\n".join(problems))
    network, keeper, links = _network(), _keeper(), __salt__["links_kernel.found"]()
    before = __salt__["links_undo.applied"]()
    seconds = seconds or network.get("seconds", SECONDS)
    written, removed = _files(keeper, network)
    differ = __salt__["links_kernel.differences"](network, links, before["links"])
    remade = _remade(network, links, differ)
    gone = [name for name in before["links"] if name not in network["links"] and name in links]
    new = [name for name in network["links"] if name not in links] + remade
    doomed = [name for name in new if network["links"][name]["kind"] != "ethernet"]
    commands = _sysfs(network, links, remade) + __salt__[f"{keeper}.undo"](sorted(network["ports"]))
    answered = _answering()
    __salt__["links_undo.arm"]([*written, *removed], [*_above(links, doomed), *doomed], commands, seconds)
    end = time.monotonic() + max(5, seconds - SPARE)
    try:
        _carry_out(network, keeper, written, removed, [*_above(links, remade + gone), *remade, *gone], links)
        problems = _wait(network, before, answered, end)
    except (CommandExecutionError, OSError, subprocess.SubprocessError) as err:
        problems = [str(err)]
    if problems:
        __salt__["links_undo.back"]("; ".join(problems))
        raise CommandExecutionError(f"undone, the network is as it was: {'; '.join(problems)}")
    if not __salt__["links_undo.confirm"]():
        raise CommandExecutionError(f"undone by the timer after {seconds} s, the network is as it was; run again")
    __salt__["links_undo.remember"](_wanted(keeper, network), network["links"])
    return told


def _carry_out(network, keeper, written, removed, deleted, links):
    """Delete what is remade, write the files, make the keeper take them up."""
    for name in deleted:
        if (NET / name).exists():
            subprocess.run(["ip", "link", "delete", name], check=True, capture_output=True, timeout=SPARE)
    ours = __salt__["links_undo.applied"]()["files"]
    for path, text in written.items():
        if path not in ours:
            __salt__["links_undo.keep"](path)
        _write(Path(path), text)
    for path in removed:
        Path(path).unlink(missing_ok=True)
    for name, link in network["links"].items():
        for key in LIVE if link["kind"] == "bond" and name in links and name not in deleted else ():
            if key in link:
                (NET / name / "bonding" / key).write_text(str(link[key]))
    names = [*network["ports"], *network["links"]]
    changed = [name for name in dict.fromkeys(names) if any(_of(path, name) for path in (*written, *removed))]
    known = {name for name in names if any(_of(path, name) for path in ours)}
    new = [name for name in changed if name not in known or not (NET / name).exists()]
    __salt__[f"{keeper}.load"](new, changed, deleted)


def _of(path, name):
    """Whether a keeper's file is an interface's own."""
    stem = Path(path).name.removeprefix("05-halocline-").removeprefix("halocline-").removeprefix("ifcfg-")
    return stem in (name, f"{name}.network", f"{name}.netdev", f"{name}.nmconnection")


def _remade(network, links, differ):
    """Links that exist otherwise than any keeper would change them in place: deleted and made again."""
    found = []
    for name, what in differ.items():
        wanted = network["links"].get(name)
        if wanted and name in links and wanted["kind"] != "ethernet":
            hard = [each for each in what if each.startswith(("is VLAN", "is a "))]
            hard += [each for each in what if each.startswith("has ") and each.split()[1] in ("mode", "lacp_rate")]
            found += [name] if hard else []
    return found


def _above(links, names):
    """VLANs on links that are deleted: they go with them."""
    return [name for name, link in links.items() if link.get("link") in names and name not in names]


def _sysfs(network, links, remade):
    """Commands that put changed options of a bond back which stays."""
    return [
        f"echo {links[name]['linkinfo']['info_data'][key]} >/sys/class/net/{name}/bonding/{key}"
        for name, link in network["links"].items()
        if link["kind"] == "bond" and name in links and name not in remade
        for key in LIVE
        if key in link and key in links[name].get("linkinfo", {}).get("info_data", {})
    ]


def _wait(network, before, answered, end):
    """Wait until the kernel has all that is planned and all who answered before do again; what is not, else."""
    while True:
        links = __salt__["links_kernel.found"]()
        found = __salt__["links_kernel.differences"](network, links, before["links"])
        found |= __salt__["links_kernel.ports"](network, links)
        problems = [f"{name} {', '.join(what)}" for name, what in found.items()]
        problems += __salt__["links_kernel.unready"](network, links)
        if not problems:
            problems = [
                f"{host} port {port} does not answer over the new network"
                for host, port in sorted(answered - _answering())
            ]
        if not problems or time.monotonic() > end:
            return problems
        time.sleep(0.5)


def _answering():
    """Those of the master's two ports that answer: from here there and back."""
    host = __opts__.get("master_ip") or __opts__["master"]
    found = set()
    for port in (__opts__.get("publish_port", 4505), __opts__.get("master_port", 4506)):
        try:
            socket.create_connection((host, port), timeout=3).close()
            found.add((host, port))
        except OSError:
            continue
    return found


def _files(keeper, network):
    """Files to be written, with their text, and to be removed."""
    wanted = _wanted(keeper, network)
    written = {path: text for path, text in wanted.items() if not Path(path).exists() or Path(path).read_text() != text}
    ours = __salt__["links_undo.applied"]()["files"]
    return written, [path for path in ours if path not in wanted and Path(path).exists()]


def _wanted(keeper, network):
    return __salt__[f"{keeper}.files"](network)


def _write(path, text):
    draft = path.with_name(f".{path.name}.new")
    with draft.open("w") as file:
        os.fchmod(file.fileno(), 0o600 if path.suffix == ".nmconnection" else 0o644)
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
    draft.rename(path)


def _keeper():
    return next((keeper for keeper in KEEPERS if __salt__[f"{keeper}.keeps"]()), None)


def _network():
    """What this host is told, as a copy (Salt's pillar is a loader's view); empty without a proposal for it."""
    told = json.loads(json.dumps(__pillar__.get("ceph", {}).get("network") or {}))
    return told if "links" in told else {}


def _told(found):
    return "; ".join(f"{name} {what}" for name, what in sorted(found.items()))
