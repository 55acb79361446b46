"""The page and its pictures by the rules of WCAG, as axe-core checks them, and from the keyboard alone."""

import axe
import pytest
from browser import browser
from pageserver import apollo, enter, free, opened
from saltmaster import CHECKOUT

from proposals.disks import arguments, plan
from proposals.networking import arguments as network_arguments
from proposals.networking import plan as network_plan
from proposals.pictures import disks, drawing, networks
from proposals.reference import machines

pytestmark = [pytest.mark.processes, pytest.mark.big]
KEPT = CHECKOUT / "build/page"
CHOOSE = """
const field = document.getElementById(arguments[0]);
field.value = arguments[1];
field.dispatchEvent(new Event('change'));
"""
VIEWS = {  # what is to be seen before it is checked
    "plan": "120 OSDs",
    "proposals": "proposal apollo",
    "hosts": "8 hosts, 256 disks",
    "policy": "What each line matches",
    "networks": "network proposal n",
    "stages": "Who ran what",
    "health": "Health",
}


@pytest.fixture(scope="module")
def script():
    return axe.source()


@pytest.fixture(scope="module")
def served(salt_factories):
    with apollo(salt_factories, "readers", "A MODEL") as page:
        runners = page.master.runners()
        for name, ratio in (("apollo", 9), ("five", 5)):
            runners["proposal.populate"](name=name, ratio=ratio)
        runners["networks.populate"](name="n", cluster_vlan=3001, cluster_network="192.168.100.0/24")
        yield page


@pytest.fixture
def window(served):
    with opened(served) as made:
        yield made


def test_every_view_keeps_the_rules_light_and_dark(window, script):
    assert axe.violations(window, script) == []  # the login
    enter(window, "bob")
    window.says("Plan disks")
    for view, seen in VIEWS.items():
        window.click(f"a[href='#{view}']")
        window.says(seen)
        window.until("document.getElementById('status').textContent === ''")
        for scheme in ("light", "dark"):
            window.emulate("prefers-color-scheme", scheme)
            assert (view, scheme, axe.violations(window, script)) == (view, scheme, [])
        window.size(420, 900)
        assert window.run("return document.documentElement.scrollWidth <= innerWidth"), view
        window.size(1400, 900)


def test_two_proposals_stand_beside_each_other(window):
    enter(window, "alice")
    window.says("Plan disks")
    window.click("a[href='#proposals']")
    window.says("proposal apollo")
    window.run(CHOOSE, "choose-beside", "five")
    window.says("apollo beside five", "ratio=9", "ratio=5", "4 hosts differ.", "216 OSDs", "120 OSDs")
    window.says("9 OSDs, 54.0 TB, 4.2% of the cluster", "5 OSDs, 30.0 TB, 4.2% of the cluster", "proposal five")
    window.click("main details summary")
    window.until("document.querySelector('main details li') !== null")
    window.picture(KEPT / "compare.png")


def test_a_network_is_seen_with_its_vlan(window):
    enter(window, "alice")
    window.says("Plan disks")
    window.click("a[href='#networks']")
    window.says("network proposal n", "bond0.3001: VLAN 3001 on bond0")
    window.picture(KEPT / "networks.png")


def test_a_question_keeps_the_rules_and_the_keyboard_leaves_it(window, script):
    enter(window, "bob")
    window.says("120 OSDs")
    window.click("#write")
    window.until("document.getElementById('dialog').open")
    assert axe.violations(window, script) == []
    window.press("\ue00c")  # Escape
    window.until("!document.getElementById('dialog').open && document.activeElement.id === 'write'")


def test_the_keyboard_reaches_all_there_is_in_the_order_that_is_seen(window):
    enter(window, "bob")
    window.says("120 OSDs")
    assert window.run("return document.activeElement.id") == "main"
    window.run("document.querySelector('.skip').focus()")
    order = []
    for _ in range(40):
        window.press("\ue004")  # the tabulator
        order.append(window.run("const at = document.activeElement; return at.id || at.hash || at.tagName"))
    assert order[:8] == ["#plan", "#proposals", "#hosts", "#policy", "#networks", "#stages", "#health", "leave"]
    assert order.index("argument-name") < order.index("argument-ratio") < order.index("write")
    assert {"H3", "svg"} <= set(order)


def test_pictures_without_a_server_keep_the_rules(tmp_path, script):
    vlan = network_arguments.parse(["cluster-vlan=3001", "cluster-network=192.168.100.0/24"])
    inventory = machines.inventory("apollo")
    planned = plan.peek(inventory, arguments.parse(["ratio=9"])).as_dict()
    nets = network_plan.peek(inventory, vlan).as_dict()
    made = {"disks": disks.picture(planned), "networks": networks.picture(nets)}
    with browser(free) as window:
        for name, picture in made.items():
            (tmp_path / f"{name}.html").write_text(drawing.rendered(picture, "html"))
            for scheme in ("light", "dark"):
                window.emulate("prefers-color-scheme", scheme)
                window.open(f"file://{tmp_path}/{name}.html", "document.querySelectorAll('section').length")
                assert (name, scheme, axe.violations(window, script)) == (name, scheme, [])
