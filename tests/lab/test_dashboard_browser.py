"""The dashboard as a person has it: a browser in the lab's network logs in and looks; screenshots are kept."""

import dashboard
import pytest
from browsing import browse
from product import STORAGE, Product

from lab.store import CHECKOUT

KEPT = CHECKOUT / "build/dashboard"  # the screenshots: wrong.png, osds.png, hosts.png
# told: url, host, user, password, hosts. Prints what stood on each page.
PROGRAM = r"""
def log_in(password):
    browser.get(told["url"])
    wait.until(lambda _: find("input[name=username]"))
    for name, text in (("username", told["user"]), ("password", password)):
        (field,) = find(f"input[name={name}]")
        field.clear()
        field.send_keys(text)
    find("[type=submit]")[0].click()

def page(name, path, has):
    browser.get(told["url"] + path)
    wait.until(lambda _: all(text in find("body")[0].text for text in has))
    browser.save_screenshot(f"/kept/{name}.png")
    return find("body")[0].text

said = {}
try:
    log_in("wrong")
    wait.until(lambda _: "Invalid credentials" in find("body")[0].text)
    browser.save_screenshot("/kept/wrong.png")
    said["wrong"] = browser.current_url
    log_in(told["password"])
    wait.until(lambda _: find("cd-dashboard, cd-health"))
    said["osds"] = page("osds", "#/osd", told["hosts"])
    said["hosts"] = page("hosts", "#/hosts", told["hosts"])
except Exception:
    browser.save_screenshot("/kept/failed.png")
    print(find("body")[0].text, file=sys.stderr)
    raise
finally:
    browser.quit()
print(json.dumps(said))
"""


@pytest.mark.big
def test_a_browser_logs_in_and_sees_hosts_and_osds(served: Product) -> None:
    url = dashboard.served_at(served)
    login = {
        "url": url,
        "host": url.split("/")[2].rpartition(":")[0],
        "user": "admin",
        "password": served.run("saltmaster", f"cat {dashboard.PASSWORD}").out.strip(),
        "hosts": STORAGE,
    }
    said = browse(served.session.name, PROGRAM, login, KEPT)
    assert "#/login" in said["wrong"]  # still there, and told why
    assert said["osds"].count("in   up") == 6
    assert all(f"{host}\n" in said["hosts"] for host in STORAGE)
    assert all((KEPT / f"{name}.png").stat().st_size > 10_000 for name in ("wrong", "osds", "hosts"))
