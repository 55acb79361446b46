"""What this host sees of the network: who answers, whole frames too, and how fast."""

import concurrent.futures
import ipaddress
import json
import subprocess
import time
from pathlib import Path

from salt.exceptions import CommandExecutionError

NET = Path("/sys/class/net")
AT_ONCE = 32  # pings side by side
HEADERS = {4: 28, 6: 48}  # bytes of a frame that IP and ICMP take
UNIT = "links-proof-iperf"
BUFFER = "64K"  # of each stream, as the Mellanox paper measured
LIMIT = 20  # seconds one command may take beyond what it was asked for


def places(networks):
    """Return where this host is in each network: ``{kind: {address, name, mtu, speed}}``.

    networks
        ``{kind: network}``, such as ``{public: 192.168.124.0/24}``.

    CLI Example:

    .. code-block:: bash

        salt 'osdnode1' links_proof.places '{public: 192.168.124.0/24}'
    """
    links, found = __salt__["links_kernel.found"](), {}
    for kind, text in networks.items():
        network = ipaddress.ip_network(text)
        for name, link in sorted(links.items()):
            for one in link.get("addr_info", ()):
                address = ipaddress.ip_address(one["local"])
                if address.version == network.version and address in network and kind not in found:
                    found[kind] = {"address": str(address), "name": name, "mtu": link["mtu"], "speed": _speed(name)}
    return found


def _speed(name):
    """Mb/s of an interface, as the kernel has it; None where it does not know."""
    try:
        speed = int((NET / name / "speed").read_text())
    except (OSError, ValueError):
        return None
    return speed if 0 < speed < 2**32 - 1 else None


def ping(targets, mtu=None):
    """Ping every other host, side by side; return ``{host: whether it answered}``.

    targets
        ``{host: address}``; this host's own is left out.
    mtu
        Send frames of so many bytes, which nobody on the way may cut.

    CLI Example:

    .. code-block:: bash

        salt 'osdnode1' links_proof.ping '{osdnode2: 192.168.124.32}' 9000
    """
    others = {host: address for host, address in targets.items() if host != __grains__["id"]}
    with concurrent.futures.ThreadPoolExecutor(AT_ONCE) as pool:
        return dict(zip(others, pool.map(lambda address: _answers(address, mtu), others.values()), strict=True))


def _answers(address, mtu):
    """Whether two of three pings are answered: one may be lost while a neighbour is looked up."""
    whole = ["-M", "do", "-s", str(mtu - HEADERS[ipaddress.ip_address(address).version])] if mtu else []
    words = ["ping", "-n", "-q", "-c", "3", "-i", "0.2", "-W", "1", *whole, address]
    done = subprocess.run(words, capture_output=True, text=True, timeout=LIMIT, check=False)
    return any(f", {count} received" in done.stdout for count in (2, 3))


def mine(function, arguments):
    """Run a function of this module with the arguments that stand under this host's id.

    CLI Example:

    .. code-block:: bash

        salt 'osdnode1' links_proof.mine links_proof.ping '{osdnode1: [{osdnode2: 192.168.124.32}]}'
    """
    return {"links_proof.serve": serve, "links_proof.rate": rate}[function](*arguments[__grains__["id"]])


def serve(address, ports, seconds):
    """Start an iperf3 server for each port; they end by themselves after so many seconds, whatever happens.

    CLI Example:

    .. code-block:: bash

        salt 'osdnode1' links_proof.serve 192.168.100.31 '[5201]' 60
    """
    stop()
    script = " ".join(f"iperf3 -s -B {ipaddress.ip_address(address)} -p {int(port)} &" for port in ports)
    unit = ["--unit", UNIT, "--collect", f"--property=RuntimeMaxSec={int(seconds)}"]
    _run("systemd-run", *unit, "sh", "-c", f"{script} wait")
    return True


def rate(address, port, seconds, streams):
    """Measure towards a server; return Mb/s that arrived there, or why there was no measurement.

    CLI Example:

    .. code-block:: bash

        salt 'osdnode1' links_proof.rate 192.168.100.32 5201 3 16
    """
    words = ["iperf3", "-J", "-c", str(address), "-p", str(port), "-t", str(seconds), "-P", str(streams), "-l", BUFFER]
    end, said = time.monotonic() + LIMIT / 2, {}
    while time.monotonic() < end:
        done = subprocess.run(
            [*words, "--connect-timeout", "3000"], capture_output=True, text=True, timeout=seconds + LIMIT, check=False
        )
        said = json.loads(done.stdout or "{}")
        if not said.get("error"):
            return round(said["end"]["sum_received"]["bits_per_second"] / 1e6, 1)
        time.sleep(0.5)  # the server is about to start, or ends the measurement before
    return f"iperf3: {said.get('error')}"


def stop():
    """End the servers that ``serve`` started, where they still run.

    CLI Example:

    .. code-block:: bash

        salt 'osdnode1' links_proof.stop
    """
    subprocess.run(["systemctl", "stop", UNIT], capture_output=True, timeout=LIMIT, check=False)
    return True


def bonds():
    """Return this host's bonds: mode, partner, and of each port link, speed, LACP state, errors; what is wrong.

    CLI Example:

    .. code-block:: bash

        salt 'osdnode1' links_proof.bonds
    """
    links = __salt__["links_kernel.found"]()
    return {name: _bond(name, link, links) for name, link in links.items() if _kind(link) == "bond"}


def _kind(link):
    return link.get("linkinfo", {}).get("info_kind")


def _bond(name, link, links):
    data = link["linkinfo"].get("info_data", {})
    ports = {port: _port(port, one) for port, one in links.items() if one.get("master") == name}
    network = {"links": {name: {"kind": "bond", "ports": list(ports), "mode": data.get("mode")}}}
    network["links"][name]["lacp_rate"] = data.get("ad_lacp_rate", "fast")
    out = [f"{name}: port {port} has no link" for port, one in ports.items() if not one["link"]]
    partner = data.get("ad_info", {}).get("partner_mac")
    return {
        "mode": data.get("mode"),
        "partner": partner,
        "ports": ports,
        "problems": out + __salt__["links_kernel.unready"](network, links),
    }


def _port(name, link):
    data = link["linkinfo"].get("info_slave_data", {})
    counts = [NET / name / "statistics" / key for key in ("rx_errors", "tx_errors", "rx_dropped", "tx_dropped")]
    errors = sum(int(count.read_text()) for count in counts if count.exists())
    lacp = f"{data.get('ad_actor_oper_port_state')}/{data.get('ad_partner_oper_port_state')}"
    return {"link": "NO-CARRIER" not in link["flags"], "speed": _speed(name), "lacp": lacp, "errors": errors}


def _run(*words):
    done = subprocess.run(words, capture_output=True, text=True, timeout=LIMIT, check=False)
    if done.returncode:
        raise CommandExecutionError(f"{' '.join(words)}: exit status {done.returncode}: {done.stderr.strip()}")
