"""The dashboard's certificate, as a server shows it, beside the file of the site."""

import contextlib
import socket
import ssl
import subprocess
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from saltfactories.utils.loader import LoaderModuleMock

MAKE = "openssl req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=mon1 -keyout {0}.key -out {0}.crt"


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """Two certificates, PEM."""
    folder = tmp_path_factory.mktemp("tls")
    for name in ("own", "other"):
        subprocess.run(MAKE.format(folder / name).split(), check=True, capture_output=True)
    return {path.name: path.read_text().strip() for path in folder.iterdir()}


@pytest.fixture
def served(tmp_path: Path, made: dict[str, str]) -> Iterator[Callable[[str], int]]:
    """A function: a server shows what a file holds; its port."""
    with socket.create_server(("127.0.0.1", 0)) as listening:

        def serve(context: ssl.SSLContext) -> None:
            with contextlib.suppress(OSError):  # when the test is over
                while True:
                    line, _ = listening.accept()
                    with context.wrap_socket(line, server_side=True):
                        pass

        def show(text: str) -> int:
            file = tmp_path / "shown.pem"
            file.write_text(f"{text}\n{made['own.key']}\n")
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(file)
            threading.Thread(target=serve, args=[context], daemon=True).start()
            return int(listening.getsockname()[1])

        yield show


FILES = {
    "alone": ("{own}", True),
    "text before it, as of 'openssl x509 -text' or a PKCS #12": (
        "friendlyName: Müller\nCertificate:\n    Data:\n{own}",
        True,
    ),
    "a chain": ("{own}\n{other}", True),
    "lines of Windows": ("{own}\r\n", True),
    "another": ("{other}", False),
    "none": ("", False),
}


@pytest.mark.slow
@pytest.mark.parametrize("form", FILES)
def test_a_certificate_is_served_whatever_else_its_file_says(
    python_module: Callable, tmp_path: Path, made: dict[str, str], served: Callable[[str], int], form: str
) -> None:
    text, same = FILES[form]
    text = text.format(own=made["own.crt"], other=made["other.crt"])
    (tmp_path / "crt").write_text(text)
    (tmp_path / "key").write_text(made["own.key"])
    port, module = served(text if same else made["own.crt"]), python_module("cluster_dashboard")
    stored = {f"{module.STORE}crt": text, f"{module.STORE}key": made["own.key"]}
    told = [{"enabled_modules": ["dashboard"]}, stored, {}, {"dashboard": f"https://127.0.0.1:{port}/"}]
    with LoaderModuleMock({module: {"__salt__": {"cluster_cli.ask_all": lambda asked: told}, "STARTING": 0}}):
        said = module.pending(str(tmp_path / "crt"), str(tmp_path / "key"), port, from_site=True)
    assert [line for line in said if not line.endswith("shows another certificate")] == []
    assert bool(said) is not same, said
