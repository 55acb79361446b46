"""The page in a real browser, on a real master and salt-api: what is seen, by whom, and that nothing else is asked."""

import json

import pytest
from browser import browser
from pageserver import PASSWORD, free, serving
from saltmaster import CHECKOUT, Master

from proposals.reference import machines

pytestmark = [pytest.mark.processes, pytest.mark.big]
KEPT = CHECKOUT / "build/page"
NASTY = "<script>document.title='owned'</script><img src=//evil.example/x onerror=alert(1)>"


@pytest.fixture(scope="module")
def served(salt_factories):
    master = salt_factories.salt_master_daemon("page", factory_class=Master)
    folder = master.pillar / "inventory"
    folder.mkdir(parents=True)
    hosts = machines.inventory("apollo")["hosts"]
    hosts["osdnode1"]["ceph_disks"][0]["model"] = NASTY
    for name, host in hosts.items():
        (folder / f"{name}.json").write_text(json.dumps(host))
    (master.pillar / "proposals").mkdir()
    with serving(master) as page:
        for name in hosts:
            master.accept(name)
        yield page


@pytest.fixture
def window(served):
    with browser(free) as made:
        made.open(f"https://127.0.0.1:{served.port}/")
        yield made
        urls = made.asked_for()
        assert f"https://127.0.0.1:{served.port}/page.js" in urls
        assert [url for url in urls if not url.startswith((f"https://127.0.0.1:{served.port}/", "data:"))] == []
        assert made.run("return [document.cookie, localStorage.length, sessionStorage.length]") == ["", 0, 0]
        assert [line for line in made.console() if "Content Security Policy" in line] == []


def enter(window, user, password=PASSWORD):
    window.type("#username", user)
    window.type("#password", password)
    window.click("#login [type=submit]")


def test_a_plan_answers_and_is_written(served, window):
    enter(window, "bob", "wrong")
    window.says("the user or the password is wrong")
    enter(window, "bob")
    window.says("Plan disks", "120 OSDs", "Nothing of this name is stored yet.")
    window.picture(KEPT / "plan.png")
    window.type("#argument-ratio", "9")
    window.says("215 OSDs")
    window.picture(KEPT / "ratio.png")
    window.type("#argument-ratio", "none")
    window.until("document.getElementById('wrong').textContent.includes('ratio')")
    window.type("#argument-ratio", "9")
    window.type("#argument-name", "apollo")
    window.says("proposal apollo")
    window.until("!document.getElementById('write').disabled")
    window.click("#write")
    window.until("document.getElementById('dialog').open")
    window.says("215 OSDs on 4 hosts")
    window.click("#dialog-yes")
    window.says("Nothing differs.")
    assert (served.master.pillar / "proposals/profile-apollo/proposal.json").exists()
    assert "owned" not in window.run("return document.title")
    assert "<script>" in window.run("return document.body.textContent")  # shown as what it is
