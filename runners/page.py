"""``salt-run page.*``: who may see the page in a browser, and who may change something from it."""

import socket
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from proposals.files import atomic
from proposals.text.errors import ArgumentError, ProposalError
from runners.engine import answer
from runners.engine.page import page_config, page_rights

PORT = 9443
NEXT = "now: systemctl restart salt-master salt-api"


@answer.answers
def enable(
    readers: str | Sequence[str] = "",
    operators: str | Sequence[str] = "",
    by: str = "pam",
    host: str = "0.0.0.0",
    port: int = PORT,
    certificate: str | None = None,
    key: str | None = None,
    test: bool = False,
    **_: Any,
) -> answer.Output:
    """Let salt-api serve the page, over TLS, to these users alone: writes ``master.d/halocline-page.conf``.

    Asked again, it replaces all that was said before. Salt's own authentication knows the users; of Salt they get the
    functions of the page and nothing else.

    readers
        Users who may look, with commas between; ``ceph%`` is a group.
    operators
        Users who may also run stages, populate and save policy.cfg from it.
    by
        Which of Salt's authentications knows them: ``pam`` (users of this host), or one that the site has set up.
    host, port
        Where it is served; 9443 where no port is named.
    certificate, key
        Files on the master; without them a self-signed certificate is made, anew once it has ended.
    test
        Only say what would be written.

    CLI Example:

    .. code-block:: bash

        salt-run page.enable readers=alice,bob operators=carol test=true
        salt-run page.enable readers=alice,bob operators=carol
    """
    if not str(by).isidentifier() or by == "auto":  # which takes any password
        raise ArgumentError("by: one of Salt's authentications that ask for a password was expected, such as pam")
    page_config.authentication(__opts__, str(by))
    if type(port) is not int or not 0 < port < 65536:
        raise ArgumentError(f"port={port}: a number from 1 to 65535 was expected")
    looking, changing = page_config.users("readers", readers), page_config.users("operators", operators)
    if not looking and not changing:
        raise ArgumentError("enable: name who may look (readers=) or also change (operators=), with commas between")
    file, (crt, private) = page_config.path(__opts__), page_config.certificate(__opts__, certificate, key)
    _ours(file)
    section = {"host": page_config.address(host), "port": port, "certificate": crt, "key": private, "by": str(by)}
    python = page_config.pam_python(__opts__, str(by))
    text = page_config.text(section, looking, changing, python)
    makes = not certificate and (page_config.ended(crt) or not Path(private).is_file())
    if test:
        more = [f"would make a certificate: {crt}"] if makes else []
        return {"text": "\n".join([f"would write {file}:", text.rstrip(), *more])}
    if makes:
        page_config.make_certificate(crt, private, __opts__["user"])
    if python:
        page_config.make_python(python)
    atomic.write(file, text)
    told = [page_config.validity(crt)] if page_config.ended(crt) else []
    return {"text": "\n".join([f"wrote {file}", *told, NEXT, f"then: https://{socket.getfqdn()}:{port}/"])}


@answer.answers
def disable(**_: Any) -> answer.Output:
    """Take the page and its users' rights away again; a certificate that was made stays.

    CLI Example:

    .. code-block:: bash

        salt-run page.disable
    """
    file = page_config.path(__opts__)
    if not file.exists():
        return {"text": "the page is not enabled"}
    _ours(file)
    atomic.remove(file)
    return {"text": f"took {file} away\n{NEXT}"}


@answer.answers
def show(**_: Any) -> answer.Answer:
    """Show where the page is served, until when its certificate is good, who may look and who may change.

    CLI Example:

    .. code-block:: bash

        salt-run page.show
    """
    section = __opts__.get(page_config.SECTION)
    if not section:
        return answer.Answer("the page is not enabled: salt-run page.enable readers=USER", {"enabled": False})
    listed = __opts__.get("external_auth", {}).get(section["by"], {})
    may = {
        user: page_rights.granted(__opts__, {"name": user, "eauth": section["by"]})
        for user in listed
        if user[:1] != "^"
    }
    lines = [f"port {section['port']} of {section['host']}, users by {section['by']}"]
    lines.append(page_config.validity(section["certificate"]))
    lines += [
        f"{user}: {'may change' if set(functions) & set(page_rights.CHANGE) else 'may look'}"
        for user, functions in sorted(may.items())
        if functions
    ]
    return answer.Answer("\n".join(lines), {"enabled": True, **section, "users": may})


def _ours(file: Path) -> None:
    """Raise ProposalError where somebody else's file has our name."""
    if file.exists() and not page_config.ours(file):
        raise ProposalError(f"{file} was not made by page.enable: move it away first")
