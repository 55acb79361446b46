"""`up`: from nothing to a cluster whose minions answer. Killed at any step, the next `up` cleans and goes on."""

import shutil
import subprocess
import sys
import time
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack

from docker import DockerClient
from docker.models.containers import Container

from lab import clean, containers, daemon, disks, evidence, image, limits, networks, salt, settings
from lab.capacity import check_capacity
from lab.cluster import parse, read
from lab.errors import LabError
from lab.guest import guests, hosts
from lab.progress import say, step
from lab.store import CHECKOUT, ROOT, Lab, labs, locked

# is-active of two units is content with one
READY = "systemctl is-active lab-disks.service && systemctl is-active sysinit.target"
FAILED = ROOT / "failed"  # logs of labs that did not come up, until they fail again
# Python's own cache of what a master imports from this checkout: it can write none there, and would compile each time.
COMPILE = [sys.executable, "-m", "compileall", "-qq", str(CHECKOUT / "proposals"), str(CHECKOUT / "runners")]
SIDE_BY_SIDE = 4  # nodes made at once; more only makes each slower


def up(which: str, accept: bool = True) -> None:
    """Bring a cluster up, or say that it is up. accept: take the minions' keys and wait for their answers."""
    start = time.monotonic()
    name, text = read(which)
    cluster = parse(name, text)
    with locked():
        with image.ahead():
            client = daemon.ensure()
        if _runs_already(client, name, text):
            return
        compiling = subprocess.Popen(COMPILE)
        clean.sweep(client)
        check_capacity(cluster)
        limits.make_room()
        node_image = image.ensure(client)
        lab = Lab(name, str(CHECKOUT), text)
        networks.check_free(lab)
        hosts.check_names(lab)
        before = settings.snapshot()
        with ExitStack() as undo:
            undo.callback(clean.remove, client, name)
            try:
                _make(client, lab, node_image, accept)
            except LabError as err:
                evidence.collect(client, lab, kept := FAILED / name)
                raise LabError(f"{err}\nWhat its hosts said is kept in {kept}.") from err
            undo.pop_all()
        compiling.wait()
        lab.complete = True
        lab.save()
        for change in settings.changes(before, settings.snapshot()):
            say(f"a setting of this machine's kernel changed meanwhile: {change}")
    took = time.monotonic() - start
    say(f"{name} is up: {len(cluster.hosts)} hosts in {took:.0f} s. `python -m lab status` shows it.")


def _runs_already(client: DockerClient, name: str, text: str) -> bool:
    """Whether a whole lab of that name is there; LabError where it is another checkout's or made otherwise."""
    lab = next((lab for lab in labs() if lab.name == name), None)
    if lab is None or not clean.alive(client, lab):
        return False
    end = f"`python -m lab down {name}` ends it (from any checkout)."
    if not lab.ours:
        raise LabError(f"{name} runs already, from the checkout {lab.checkout}. {end}")
    master = containers.find(client, lab, lab.cluster.master.name)
    if master.status == "running" and containers.run(master, f"test -e {containers.TREE}/setup.cfg").code:
        raise LabError(
            f"{name} runs already, and its master sees an empty folder: {lab.checkout} was removed since, and made "
            f"anew. {end}"
        )
    if parse(name, text) != lab.cluster:
        say(f"{name} is up, as it was made; its cluster file or hosts have changed since. {end}")
    stopped = f" (stopped: {', '.join(lab.stopped)})" if lab.stopped else ""
    say(f"{name} is up{stopped}: nothing to do.")
    return True


def _make(client: DockerClient, lab: Lab, node_image: str, accept: bool) -> None:
    lab.save()
    cluster = lab.cluster
    with step(f"make {len(cluster.networks)} networks"):
        networks.make(client, lab)
    names = {host.name for host in cluster.hosts}
    what = f"start {len(cluster.containers)} nodes with {sum(len(host.slots) for host in cluster.containers)} disks"
    with step(what), ThreadPoolExecutor(SIDE_BY_SIDE) as pool:
        ordered = sorted(cluster.containers, key=lambda host: not host.master)  # the master has most to do
        awaited = salt.awaited(names) if accept else {}
        nodes = list(pool.map(lambda host: boot(client, lab, host.name, node_image, awaited), ordered))
    master = nodes[0]
    for host in cluster.guests:
        hosts.boot(lab, host)
    with step("wait until every minion has connected" if accept else "wait for the minions' keys"):
        (salt.wait_for_connections if accept else salt.wait_for_keys)(master, names)
    with ThreadPoolExecutor(1) as beside:
        booted = beside.submit(lambda: list(map(wait_for_systemd, nodes)))  # Salt starts where disks failed, too
        if accept:
            with step("wait until every minion answers test.ping"):
                salt.wait_for_answers(master, names, patience=salt.LAST_PATIENCE)
        booted.result()


def boot(
    client: DockerClient, lab: Lab, name: str, node_image: str, awaited: Mapping[str, str] | None = None
) -> Container:
    """Make a host's disks and its container and start it; its Salt starts with it. A master takes ``awaited`` too."""
    host = lab.cluster.host(name)
    disks.make_all(lab, host)
    container = containers.make(client, lab, host, node_image)
    own = awaited if awaited and host.master else {}
    containers.put(container, {**salt.files(lab.cluster, host), **salt.units(host), **own})
    container.start()
    return container


def wait_for_systemd(container: Container, limit: float = 60) -> None:
    """Wait until the node's systemd takes orders and its disks are there; `limit` in seconds."""
    deadline = time.monotonic() + limit
    while True:
        asked = containers.run(container, READY)
        if asked.code == 0:
            return
        if time.monotonic() > deadline:
            raise LabError(f"{container.name} did not boot within {limit:.0f} s: {asked.out}{asked.err}".strip())
        time.sleep(0.2)


def down(name: str | None) -> None:
    """Take a lab away; where none is named all of this checkout's and what killed runs left, lone guests too.

    Raises LabError where there is nothing of that name.
    """
    with locked():
        if name is None:
            guests.remove_lone()
        client = daemon.running()
        if client is None and shutil.which("dockerd"):
            client = daemon.ensure()  # a dead daemon's containers can only be removed by a living one
        if client is None:
            return
        others = {lab.name: lab.checkout for lab in labs() if not lab.ours and clean.alive(client, lab)}
        there = clean.left(client)
        if name is not None and name not in there:
            raise LabError(f"no lab named {name!r} (there are: {', '.join(sorted(there)) or 'none'}).")
        for lab in sorted(there - set(others)) if name is None else [name]:
            with step(f"take {lab} down"):
                clean.remove(client, lab)
        if not labs():
            limits.put_back()
        for lab, checkout in others.items() if name is None else ():
            say(f"{lab} of {checkout} still runs: `python -m lab down {lab}` ends it.")
