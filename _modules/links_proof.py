"""What this host sees of the network: who answers, whole frames too, and how fast."""

import ipaddress
import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import halocline
from salt.exceptions import CommandExecutionError

NET = Path("/sys/class/net")
AT_ONCE = 32  # pings side by side
HEADERS = {4: 28, 6: 48}  # bytes of a frame that IP and ICMP take
UNIT = "links-proof-iperf"
BUFFER = "64K"  # of each stream, as the Mellanox paper measured
LIMIT = 20  # seconds one command may take beyond what it was asked for
SHOWN = 200  # characters of what iperf3 said in other words


def places(networks: Mapping[str, str]) -> dict[str, dict]:
    """Return where this host is in each network: ``{kind: {address, name, mtu, speed}}``.

    networks
        ``{kind: network}``, such as ``{public: 192.168.124.0/24}``.

    CLI Example:

    .. code-block:: bash

        salt 'osdnode1' links_proof.places '{public: 192.168.124.0/24}'
    """
    links, answer = __salt__["links_kernel.links"](), {}
    for kind, text in networks.items():
        network = ipaddress.ip_network(text)
        for name, link in sorted(links.items()):
            for entry in link.get("addr_info", ()):
                address = ipaddress.ip_address(entry["local"])
                if address.version == network.version and address in network and kind not in answer:
                    answer[kind] = {"address": str(address), "name": name, "mtu": link["mtu"], "speed": _speed(name)}
    return answer


def _speed(name: str) -> int | None:
    """Mb/s of an interface, as the kernel has it; None where it does not know."""
    try:
        speed = int((NET / name / "speed").read_text())
    except (OSError, ValueError):
        return None
    return speed if 0 < speed < 2**32 - 1 else None


def ping(targets: Mapping[str, str], mtu: int | None = None) -> dict[str, bool]:
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
    answers = halocline.side_by_side(_answers, [(address, mtu) for address in others.values()], AT_ONCE)
    return dict(zip(others, answers, strict=True))


def _answers(address: str, mtu: int | None) -> bool:
    """Whether two of three pings are answered: one may be lost while a neighbour is looked up."""
    whole = ["-M", "do", "-s", str(mtu - HEADERS[ipaddress.ip_address(address).version])] if mtu else []
    words = ["ping", "-n", "-q", "-c", "3", "-i", "0.2", "-W", "1", *whole, address]
    out = halocline.run(words, ok=None, limit=LIMIT)
    return any(f", {count} received" in out for count in (2, 3))


def for_host(function: str, arguments: Mapping[str, Sequence]) -> bool | float | str:
    """Run ``serve`` or ``rate`` with the arguments under this host's id: one job, other arguments on each host.

    CLI Example:

    .. code-block:: bash

        salt 'osdnode1' links_proof.for_host links_proof.serve '{osdnode1: [192.168.100.31, [5201], 60]}'
    """
    functions: dict[str, Callable[..., bool | float | str]] = {"links_proof.serve": serve, "links_proof.rate": rate}
    return functions[function](*arguments[__grains__["id"]])


def serve(address: str, ports: Sequence[int], seconds: float) -> bool:
    """Start an iperf3 server for each port; they end by themselves after so many seconds, whatever happens.

    CLI Example:

    .. code-block:: bash

        salt 'osdnode1' links_proof.serve 192.168.100.31 '[5201]' 60
    """
    stop()
    script = " ".join(f"iperf3 -s -B {ipaddress.ip_address(address)} -p {int(port)} &" for port in ports)
    unit = ["--unit", UNIT, "--collect", f"--property=RuntimeMaxSec={int(seconds)}"]
    halocline.run(["systemd-run", *unit, "sh", "-c", f"{script} wait"], limit=LIMIT)
    return True


def rate(address: str, port: int, seconds: float, streams: int) -> float | str:
    """Measure towards a server; return Mb/s that arrived there, or why there was no measurement.

    CLI Example:

    .. code-block:: bash

        salt 'osdnode1' links_proof.rate 192.168.100.32 5201 3 16
    """
    command = ["iperf3", "-J", "-c", str(address), "-p", str(port), "-t", str(seconds), "-P", str(streams)]
    command += ["-l", BUFFER, "--connect-timeout", "3000"]

    def measure() -> float:
        out = halocline.run(command, ok=None, limit=seconds + LIMIT)
        try:
            measured = json.loads(out)
            if "error" not in measured:
                return round(measured["end"]["sum_received"]["bits_per_second"] / 1e6, 1)
            why = measured["error"]
        except (ValueError, LookupError, TypeError):  # killed, of another version, or in plain words
            why = f"it printed no measurement: {out.strip()[:SHOWN] or 'nothing'}"
        raise CommandExecutionError(f"iperf3: {why}")

    try:  # the server is about to start, or ends the measurement before
        return halocline.until(measure, LIMIT / 2, pause=0.5)
    except CommandExecutionError as err:
        return str(err)


def stop() -> bool:
    """End the servers that ``serve`` started, where they still run.

    CLI Example:

    .. code-block:: bash

        salt 'osdnode1' links_proof.stop
    """
    halocline.run(["systemctl", "stop", UNIT], ok=None, limit=LIMIT)
    return True


def bonds() -> dict[str, dict]:
    """Return this host's bonds: ``{name: {mode, partner, ports, problems}}``; of each port link, speed in Mb/s, LACP
    state and count of errors.

    CLI Example:

    .. code-block:: bash

        salt 'osdnode1' links_proof.bonds
    """
    links = __salt__["links_kernel.links"]()
    return {name: _bond(name, link, links) for name, link in links.items() if _kind(link) == "bond"}


def _kind(link: Mapping) -> str | None:
    return link.get("linkinfo", {}).get("info_kind")


def _bond(name: str, link: Mapping, links: Mapping) -> dict:
    data = link["linkinfo"].get("info_data", {})
    ports = {port: _port(port, other) for port, other in links.items() if other.get("master") == name}
    network = {"links": {name: {"kind": "bond", "ports": list(ports), "mode": data.get("mode")}}}
    network["links"][name]["lacp_rate"] = data.get("ad_lacp_rate", "fast")
    problems = [f"{name}: port {port} has no link" for port, state in ports.items() if not state["link"]]
    partner = data.get("ad_info", {}).get("partner_mac")
    return {
        "mode": data.get("mode"),
        "partner": partner,
        "ports": ports,
        "problems": problems + __salt__["links_kernel.unready"](network, links),
    }


def _port(name: str, link: Mapping) -> dict:
    data = link["linkinfo"].get("info_slave_data", {})
    counts = [NET / name / "statistics" / key for key in ("rx_errors", "tx_errors", "rx_dropped", "tx_dropped")]
    errors = sum(int(count.read_text()) for count in counts if count.exists())
    lacp = f"{data.get('ad_actor_oper_port_state')}/{data.get('ad_partner_oper_port_state')}"
    return {"link": "NO-CARRIER" not in link["flags"], "speed": _speed(name), "lacp": lacp, "errors": errors}
