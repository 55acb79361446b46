"""The dashboard as a person has it: a browser in the lab's network logs in and looks; screenshots are kept."""

import json
import subprocess

import dashboard
import pytest
from product import STORAGE, Product

from lab.store import CHECKOUT

SOURCE = CHECKOUT / "tests/lab/browser"
KEPT = CHECKOUT / "build/dashboard"  # the screenshots: wrong.png, osds.png, hosts.png
# stdin: JSON {url, host, user, password}. Writes screenshots into /kept, prints what stood on each page. It asks the
# dashboard's host alone: every other name or address is unknown to it.
PROGRAM = r"""
import json, sys, time
from selenium import webdriver
from selenium.webdriver.chrome.service import Service
from selenium.webdriver.common.by import By
from selenium.webdriver.support.ui import WebDriverWait

told = json.load(sys.stdin)
options = webdriver.ChromeOptions()
for flag in ("headless=new", "no-sandbox", "disable-gpu", "disable-dev-shm-usage", "disable-background-networking",
             "disable-component-update", "disable-sync", "no-first-run", "window-size=1400,900",
             f"host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE {told['host']}"):
    options.add_argument(f"--{flag}")
options.accept_insecure_certs = True  # whose it is other tests look at
browser = webdriver.Chrome(service=Service("/usr/bin/chromedriver"), options=options)
wait = WebDriverWait(browser, 90)
find = lambda selector: browser.find_elements(By.CSS_SELECTOR, selector)

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


@pytest.fixture(scope="module")
def browser() -> str:
    """The image with the browser; Docker builds it once."""
    done = docker("build", "--quiet", "--tag", "halocline-browser", "--label", "halocline=browser", str(SOURCE))
    return done.stdout.strip()


def docker(*words: str, stdin: str | None = None) -> subprocess.CompletedProcess[str]:
    """Run Docker's own client; its words where it fails."""
    done = subprocess.run(["docker", *words], input=stdin, capture_output=True, text=True, check=False, timeout=500)
    assert done.returncode == 0, done.stdout + done.stderr
    return done


@pytest.mark.big
def test_a_browser_logs_in_and_sees_hosts_and_osds(served: Product, browser: str) -> None:
    KEPT.mkdir(parents=True, exist_ok=True)
    url = dashboard.served_at(served)
    login = {
        "url": url,
        "host": url.split("/")[2].rpartition(":")[0],
        "user": "admin",
        "password": served.run("saltmaster", f"cat {dashboard.PASSWORD}").out.strip(),
        "hosts": STORAGE,
    }
    network = ("--network", f"halocline-{served.session.name}-public")
    words = ("run", "--rm", "--interactive", *network, "--volume", f"{KEPT}:/kept", browser, "python3", "-c", PROGRAM)
    said = json.loads(docker(*words, stdin=json.dumps(login)).stdout)
    assert "#/login" in said["wrong"]  # still there, and told why
    assert said["osds"].count("in   up") == 6
    assert all(f"{host}\n" in said["hosts"] for host in STORAGE)
    assert all((KEPT / f"{name}.png").stat().st_size > 10_000 for name in ("wrong", "osds", "hosts"))
