"""The page as an operator has it: from a fresh master to a cluster in a browser, each OSD seen to come.

What an attacker tries, and a thousand hosts, are in tests/functional: test_page_attacks, test_page_browser.
"""

import json
import secrets
import threading
from collections.abc import Callable

import pytest
from browsing import browse
from clusters import SUBNETS
from product import PILLAR, STORAGE, Product, cluster_file, until

from lab.session import Session
from lab.store import CHECKOUT

pytestmark = pytest.mark.big
KEPT = CHECKOUT / "build/page-lab"
OPERATOR, READER, NOBODY = "carol", "alice", "mallory"
PASSWORD = "/root/page.password"  # of all three
PORT = 9443
# What each program shares: log in, go to a view, wait for words, for a stage's end.
WORDS = r"""
body = lambda: find("body")[0].text
says = lambda *words, limit=90: WebDriverWait(browser, limit).until(lambda _: all(word in body() for word in words))
keep = lambda name: browser.save_screenshot(f"/kept/{name}.png")

def enter(user):
    browser.get(told["url"])
    wait.until(lambda _: find("#username"))
    find("#username")[0].send_keys(user)
    find("#password")[0].send_keys(told["password"])
    find("#login [type=submit]")[0].click()

def view(name):
    find(f"a[href='#{name}']")[0].click()

def typed(selector, text):
    (field,) = find(selector)
    field.clear()
    field.send_keys(text)

def confirmed(limit=90):
    WebDriverWait(browser, limit).until(lambda _: find("#dialog[open]"))
    text = find("#dialog")[0].text
    find("#dialog-yes")[0].click()
    return text

def asked():
    lines = [json.loads(line["message"])["message"] for line in browser.get_log("performance")]
    return [line["params"]["request"]["url"] for line in lines if line["method"] == "Network.requestWillBeSent"]

said = {}
try:
    play()
    said["asked"] = sorted({url.split("?")[0] for url in asked()})
except Exception:
    keep("broken")
    print(body(), file=sys.stderr)
    raise
finally:
    browser.quit()
print(json.dumps(said))
"""
# told: arguments, ratio (another one), policy, stages. Plans, changes the ratio, writes, chooses, runs, watches.
OPERATE = r"""
def play():
    enter(told["operator"])
    says("Plan disks")
    for name, text in told["arguments"].items():
        typed(f"#argument-{name}", text)
    says("6 OSDs", f"proposal {told['arguments']['name']}")
    keep("plan")
    typed("#argument-ratio", "1")
    says("3 OSDs")
    said["fewer"] = find("#drawing")[0].text
    keep("ratio")
    typed("#argument-ratio", told["arguments"]["ratio"])
    says("6 OSDs")
    wait.until(lambda _: find("#write")[0].is_enabled())
    find("#write")[0].click()
    said["write"] = confirmed()
    says("Nothing differs.")
    view("policy")
    says("What each line matches")
    browser.execute_script("document.getElementById('policy-text').value = arguments[0]", told["policy"])
    find("#save")[0].click()
    said["policy"] = confirmed()
    wait.until(lambda _: find("#status")[0].text == "policy.cfg is saved")
    for stage in told["stages"]:
        view("plan")
        says("Plan disks")
        view("stages")
        says("Run a stage")
        browser.execute_script("document.getElementById('stage').value = arguments[0]", stage)
        find("#look")[0].click()
        said[f"{stage} dry"] = confirmed(900)
        said[stage], end, text = [], time.time() + 900, ""
        while f"stage {stage}, begun by sudo_{told['operator']}: done" not in text:
            text = browser.execute_script("return document.getElementById('live').innerText")
            assert time.time() < end and ": failed" not in text, text
            for word in text.splitlines():
                if "OSDs" in word and word not in said[stage]:
                    said[stage].append(word)
                    keep(f"{stage}-{len(said[stage])}")
            time.sleep(0.5)
        keep(stage)
    view("health")
    says("OSDs and their plan", "6 of 6 OSDs as planned")
    keep("health")
"""
# A reader sees a stage that is typed on the master meanwhile, and no button that changes anything.
LOOK = r"""
def play():
    enter(told["nobody"])
    says("the user has no right here")
    enter(told["reader"])
    says("Plan disks")
    view("stages")
    says("Who ran what")
    said["buttons"] = len([each for each in find("#write, #save, #look") if each.is_displayed()])
    open("/kept/looks", "w").close()
    says("stage discovery, begun by root: ", limit=300)
    keep("typed")
    says("stage discovery, begun by root: done", limit=300)
"""
# The same reader sees a stage that failed.
FAILED = r"""
def play():
    enter(told["reader"])
    says("Plan disks")
    view("stages")
    says("stage deploy, begun by", "failed")
    keep("failed")
    said["live"] = find("#live")[0].text
"""


@pytest.fixture(scope="module")
def discovered(own_lab: Callable[[str], Session], tmp_path_factory: pytest.TempPathFactory) -> Product:
    """A lab of its own whose hosts were discovered, and nothing else; the page is served on its master."""
    product = Product(own_lab(cluster_file(tmp_path_factory.mktemp("paged"), "paged", SUBNETS["paged"])))
    product.guide(end="proposal.populate")
    product.run("saltmaster", f"umask 77; printf %s {secrets.token_hex(12)} >{PASSWORD}")
    for user in (OPERATOR, READER, NOBODY):
        product.run("saltmaster", f"useradd {user}; echo {user}:$(cat {PASSWORD}) | chpasswd")
    product.run("saltmaster", f"salt-run page.enable readers={READER} operators={OPERATOR}")
    product.run("saltmaster", "systemctl restart salt-master")
    ping = "salt --out txt '*' test.ping"
    until(lambda: product.run("saltmaster", ping, check=False).out.count("True") == 4, 180, "all minions answer")
    product.run("saltmaster", "systemd-run --unit salt-api salt-api")
    trusted = f"curl -sf --cacert /etc/salt/pki/page/page.crt https://localhost:{PORT}/"
    until(lambda: product.run("saltmaster", trusted, check=False).code == 0, 120, "salt-api serves the page")
    return product


def told(product: Product, **more: object) -> dict:
    """What every program is told."""
    host = product.run("saltmaster", "hostname -I").out.split()[0]
    users = {"operator": OPERATOR, "reader": READER, "nobody": NOBODY}
    password = product.run("saltmaster", f"cat {PASSWORD}").out
    return {"url": f"https://{host}:{PORT}/", "host": host, "password": password, **users, **more}


def own(said: dict, url: str) -> bool:
    """Whether a browser asked the page's host alone, and asked it at all."""
    return bool(said["asked"]) and all(each.startswith((url, "data:")) for each in said["asked"])


def test_from_discovery_to_a_cluster_in_a_browser(discovered: Product) -> None:
    (line,) = [each for each in discovered.way.commands if "proposal.populate" in each]
    arguments = dict(word.replace("'", "").split("=", 1) for word in line.split()[2:])
    asked = told(discovered, arguments=arguments, policy=discovered.way.policy, stages=["configure", "deploy"])
    said = browse(discovered.session.name, OPERATE + WORDS, asked, KEPT, 3000)
    assert own(said, asked["url"])
    assert "6 OSDs on 3 hosts" in said["write"] and "+++ new" in said["policy"]
    assert all(host in said["deploy dry"] for host in STORAGE)
    for host in STORAGE:
        assert any(seen.startswith(host) and "2 of 2 OSDs" in seen for seen in said["deploy"]), said["deploy"]
    assert any("6 of 6 OSDs" in seen for seen in said["deploy"])
    until(discovered.whole, 300, "the cluster is whole")
    assert discovered.run("saltmaster", f"cat {PILLAR}/proposals/policy.cfg").out == discovered.way.policy
    who = json.loads(discovered.run("saltmaster", "salt-run history.show --out json").out)["entries"]
    assert {(each["user"], each["what"]) for each in who} >= {
        (OPERATOR, "operate.policy"),
        (f"sudo_{OPERATOR}", "state.orch ceph.stage.deploy"),
    }


def test_a_stage_that_is_typed_is_seen_live_by_who_may_look(discovered: Product) -> None:
    looks = KEPT / "looks"
    looks.unlink(missing_ok=True)

    def types() -> None:
        until(looks.exists, 300, "the reader looks")
        discovered.run("saltmaster", "salt-run stage.run discovery")

    typing = threading.Thread(target=types)
    typing.start()
    said = browse(discovered.session.name, LOOK + WORDS, told(discovered), KEPT, 900)
    typing.join(300)
    assert said["buttons"] == 0


def test_a_stage_that_fails_is_shown_as_such(discovered: Product) -> None:
    discovered.run("node1", "systemctl stop salt-minion")
    discovered.run("node2", "systemctl stop salt-minion")
    try:
        discovered.run("saltmaster", "systemctl stop salt-minion")  # the admin's host: without it nothing can be done
        assert discovered.run("saltmaster", "salt-run stage.run deploy", check=False).code != 0
    finally:
        for host in ("node1", "node2", "saltmaster"):
            discovered.run(host, "systemctl start salt-minion")
    said = browse(discovered.session.name, FAILED + WORDS, told(discovered), KEPT, 300)
    assert "failed" in said["live"]
