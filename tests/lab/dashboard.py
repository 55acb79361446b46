"""The Ceph Dashboard's own API, asked from the master's host by its certificate: a Python program."""

import json
from typing import Any

from product import Product

# argv: URL, user, file with a password, CA file, paths. Logs in, prints the status, then what each path answers.
PROGRAM = r"""
import json, ssl, sys, urllib.error, urllib.request
url, user, password, ca, *paths = sys.argv[1:]
trusted = ssl.create_default_context(cafile=ca)
form = {"Accept": "application/vnd.ceph.api.v1.0+json", "Content-Type": "application/json"}
told = {"username": user, "password": open(password).read().strip()}
def ask(path, data=None, **more):
    asked = urllib.request.Request(url + path, data and json.dumps(data).encode(), {**form, **more})
    try:
        with urllib.request.urlopen(asked, context=trusted, timeout=60) as answer:
            return answer.status, json.load(answer)
    except urllib.error.HTTPError as err:
        return err.code, {}
status, said = ask("api/auth", told)
token = {"Authorization": "Bearer " + said["token"]} if status == 201 else {}
print(json.dumps([status, *(ask(path, **token) for path in paths)]))
"""
PASSWORD = "/etc/ceph/dashboard.password"
CERTIFICATE = "/etc/ceph/dashboard.crt"


def served_at(product: Product) -> str:
    """The address that the managers' map names."""
    return product.ceph("mgr services")["dashboard"]


def ask(product: Product, *paths: str, password: str = PASSWORD) -> tuple[int, list[Any]]:
    """Log in with the password of a file: its status (201 is good), and status and answer of each path."""
    program = ["python3", "-c", PROGRAM, served_at(product), "admin", password, CERTIFICATE, *paths]
    status, *answers = json.loads(product.run("saltmaster", program).out)
    return status, answers
