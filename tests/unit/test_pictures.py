"""Pictures say what was planned, ask nobody for anything, and show what a minion said as text."""

import copy
import json
from html.parser import HTMLParser
from xml.etree import ElementTree

import pytest
from planning import GUIDE, apollo, inventory, peek
from test_command_line import run

from proposals.networking import arguments, plan
from proposals.pictures import disks, drawing, hosts, networks, report
from proposals.text.errors import ArgumentError

OURS = {
    *[
        "html",
        "head",
        "meta",
        "title",
        "style",
        "body",
        "main",
        "h1",
        "h2",
        "p",
        "ul",
        "li",
        "svg",
        "g",
        "rect",
        "text",
        "section",
        "details",
        "summary",
        "table",
    ]
} | {*["thead", "tbody", "tr", "th", "td"]}
NASTY = "</title></text></style><script>alert(1)</script><img src=x onerror=alert(1)>\" onload='x' \x1b[2J {{ 7 * 7 }}"
SVG = "{http://www.w3.org/2000/svg}"


class Page(HTMLParser):
    """The tags, attributes and text of a page."""

    def __init__(self, text):
        super().__init__()
        self.tags, self.attributes, self.text = [], [], ""
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes += [name for name, _ in attrs]

    def handle_data(self, data):
        self.text += data


@pytest.fixture(scope="module")
def planned():
    return peek(apollo(), *GUIDE)


def nets(*words):
    return plan.peek(apollo(), arguments.parse(words)).as_dict()


def osds(problems):
    line = {"id": 0, "host": "osdnode1", "data": "/dev/sda", "db": None, "wal": None, "waits": [], "problems": problems}
    return [{**line, "data_size": 1, "db_size": None, "wal_size": None}]


def test_each_data_disk_stands_beside_what_it_hangs_on(planned):
    picture = disks.picture(planned)
    (group,) = picture.groups
    assert group.hosts == ("osdnode1", "osdnode2", "osdnode3", "osdnode4")
    bound = [row for row in group.rows if row.heads]
    assert [len(row.members) for row in bound] == [9] * 6
    assert {row.text for row in bound} == {
        "DB/WAL: 9 OSDs, 54.0 TB fall with it, 16.7% of the host, 4.2% of the cluster"
    }
    assert group.text == "ssd-spinner: with each host 54 OSDs, 324.1 TB fall, 25.0% of the cluster"
    by_fsid = {osd["data"]: osd for osd in planned["hosts"]["osdnode1"]["osds"]}
    for row in bound:
        (head,) = row.heads
        for member in row.members:
            (data,) = [data for data in by_fsid if data in member.title.partition(":")[0]]
            assert by_fsid[data]["db"] in head.title
    assert group.rows[-1].text == "2 ssd of 931.5 GiB: mounted on /boot/efi; has partitions"


def test_what_falls_with_one_device_at_most(planned):
    assert disks.worst(planned) == "9 OSDs, 54.0 TB, 4.2% of the cluster"
    two = peek(inventory(node1=[{"is": "hdd6", "count": 2}, {"is": "ssd800"}, {"is": "nvme1600"}]))
    assert disks.worst(two) == "2 OSDs, 12.0 TB, 100.0% of the cluster"
    assert disks.worst(peek(inventory(node1=[{"is": "hdd6", "count": 2}]))).startswith("an OSD alone")


def test_a_wal_on_another_device_is_a_second_head():
    raw = inventory(node1=[{"is": "hdd6", "count": 2}, {"is": "ssd800"}, {"is": "nvme1600"}])
    (group,) = disks.picture(peek(raw)).groups
    assert [[box.kind for box in row.heads] for row in group.rows] == [["ssd", "nvme"]]
    assert "DB: 2 OSDs" in group.rows[0].text and "WAL: 2 OSDs" in group.rows[0].text


@pytest.mark.parametrize("form", drawing.FORMS)
@pytest.mark.parametrize("what", ["disks", "networks", "report"])
def test_what_a_minion_said_is_text(planned, form, what):
    if what == "disks":
        told = copy.deepcopy(planned)
        host = told["hosts"].pop("osdnode1")
        host["disks"][0] |= {"model": NASTY, "serial": NASTY}
        host["disks"][-1] |= {"reason": NASTY, "role": "unused", "class": NASTY}
        told["hosts"][NASTY] = host
        picture = disks.picture({**told, "name": NASTY, "warnings": [NASTY]})
    elif what == "networks":
        told = nets()
        host = told["hosts"]["osdnode1"] = copy.deepcopy(told["hosts"]["osdnode1"])
        host["ports"].append({"name": NASTY, "reason": NASTY, "driver": NASTY})
        host["links"][0] |= {"name": NASTY}
        picture = networks.picture(told, {"osdnode1": {NASTY: NASTY}})
    else:
        picture = report.picture(osds([NASTY]))
    text = drawing.rendered(picture, form)
    assert "\x1b" not in text and "{{ 7 * 7 }}" in text
    if form == "svg":
        tags = {each.tag.removeprefix(SVG) for each in ElementTree.fromstring(text).iter()}
        assert tags == {"svg", "style", "rect", "text", "g", "title"}
        return
    page = Page(text)
    assert {*page.tags} <= OURS
    assert not [name for name in page.attributes if name.startswith("on") or name in ("src", "href")]
    assert "<script>alert(1)</script>" in page.text


@pytest.mark.parametrize("form", drawing.FORMS)
def test_a_picture_asks_nobody_and_is_told_to_readers(planned, form):
    text = drawing.rendered(disks.picture(planned), form)
    assert text.replace("http://www.w3.org/2000/svg", "").count("://") == 0
    assert form == "svg" or "default-src 'none'" in text
    assert "prefers-color-scheme: dark" in text
    assert text.count('tabindex="0"') == 6 and text.count("<title>") >= text.count('role="img"') == 62


@pytest.mark.slow
def test_hosts_that_are_alike_are_drawn_once(planned):
    host = planned["hosts"]["osdnode1"]
    many = {**planned, "hosts": {f"osdnode{number}": host for number in range(200)}}
    text = drawing.rendered(disks.picture(many), "html")
    assert text.count('role="img"') == 62 and "osdnode199" in text
    others = {
        f"n{number}": {**host, "disks": [{**disk, "size": disk["size"] + number} for disk in host["disks"]]}
        for number in range(200)
    }
    text = drawing.rendered(disks.picture({**many, "hosts": others}), "html")
    assert text.count('role="img"') == 62 * 200 and len(text) < 20 << 20


def test_networks_and_reports():
    (*_, group) = networks.picture(nets()).groups
    assert group.rows[0].heads[0].title.startswith("bond0: bond") and len(group.rows[0].members) == 2
    (group,) = report.picture(osds(["its db lies elsewhere"])).groups
    assert group.text == "0 of 1 OSD as planned" and group.rows[0].members[0].kind == "bad"


def test_a_network_shows_its_vlans_and_where_its_cables_lead():
    told = nets("cluster-vlan=3001", "cluster-network=192.168.100.0/24")
    wires = {"osdnode1": {"ens1f0": "leaf1 1/7", "ens1f1": "leaf2 1/7"}}
    groups = networks.picture(told, wires).groups
    assert [group.hosts for group in groups[1:]] == [("osdnode1",), ("osdnode2", "osdnode3", "osdnode4")]
    bond, vlan = groups[1].rows
    assert bond.text.endswith("MTU 9000, ens1f0 at leaf1 1/7, ens1f1 at leaf2 1/7")
    assert [port.title.rpartition(" at ")[2] for port in bond.members] == ["leaf1 1/7", "leaf2 1/7"]
    assert vlan.heads[0].letter == "V" and vlan.text.startswith("bond0.3001: VLAN 3001 on bond0, 192.168.100.31/24")
    for wrong in ([], {"osdnode1": "leaf1 1/7"}, "x"):
        with pytest.raises(ArgumentError, match="the port map is not one"):
            networks.picture(told, wrong)


@pytest.mark.slow
def test_the_command_writes_a_picture(tmp_path):
    root = tmp_path / "proposals"
    run("populate", "reference:apollo", "--root", root, *GUIDE)
    run("networks", "populate", "reference:apollo", "--root", root, "name=apollo")
    (tmp_path / "cables.yml").write_text("osdnode1: {ens1f0: leaf1 1/7}\n")
    wired = ["w.html", "--networks", "--ports", tmp_path / "cables.yml"]
    for words in (["a.html"], ["a.svg"], ["n.html", "--networks"], wired):
        done = run("page", root, "apollo", tmp_path / words[0], *words[1:])
        assert (done.returncode, done.stderr) == (0, "")
        assert "osdnode1" in (tmp_path / words[0]).read_text()
    assert "ens1f0 at leaf1 1/7" in (tmp_path / "w.html").read_text()


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["apollo", "policy.cfg"], "expected one that ends in .html or .svg"),
        (["nothing", "a.html"], "no proposal 'nothing'"),
        (["nothing", "a.html", "--networks"], "there is no network proposal 'nothing'"),
        (["nothing", "a.html", "--ports", "cables.yml"], "--ports is read with --networks alone"),
    ],
)
def test_what_cannot_be_drawn_is_one_message(tmp_path, words, says):
    root = tmp_path / "proposals"
    root.mkdir()
    done = run("page", root, words[0], tmp_path / words[1], *words[2:])
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1)
    assert says in done.stderr and not (tmp_path / words[1]).exists()


def test_data_for_a_browser_is_the_same_picture(planned):
    picture = disks.picture(planned)
    told = drawing.told(picture)
    (group,), (drawn,) = told["groups"], picture.groups
    assert group["hosts"] == drawn.hosts and told["next"] is None and told["of"] == 1
    assert len(group["boxes"]) == sum(len(row.heads) + len(row.members) for row in drawn.rows)
    assert [box[4] for box in group["boxes"] if box[5]] == [head.title for row in drawn.rows for head in row.heads]
    assert json.loads(json.dumps(told)) and 'class="box' not in json.dumps(told)


def test_data_for_a_browser_shows_what_a_minion_said_as_text(planned):
    hostile = copy.deepcopy(planned)
    hostile["warnings"] = [NASTY]
    told = json.dumps(drawing.told(disks.picture(hostile)), ensure_ascii=False)
    assert "<script>" in told and "\x1b" not in told and "\\u001b" not in told  # the browser makes it text


@pytest.mark.slow
def test_hosts_that_are_not_alike_come_in_answers_that_salts_bus_takes():
    one = next(iter(apollo()["hosts"].values()))
    raw = {f"node{number}": {**one, "memory": number << 30} for number in range(1, 1500)}
    picture, first, seen = hosts.picture({"hosts": raw}), 0, []
    while first is not None:
        told = drawing.told(picture, first)
        assert len(json.dumps(told)) < 1_000_000 and told["groups"]
        seen += [host for group in told["groups"] for host in group["hosts"]]
        first = told["next"]
    assert sorted(seen) == sorted(raw)
    assert drawing.told(picture, 10_000)["groups"] == []


def test_hosts_as_discovery_saw_them_say_why_a_disk_is_in_use():
    raw = apollo()
    raw["hosts"]["osdnode1"]["memory"] += 1 << 20
    picture = hosts.picture(raw)
    assert picture.summary == "8 hosts, 256 disks, 1.33 PB"
    group = next(group for group in picture.groups if "osdnode1" in group.hosts)
    assert group.hosts == ("osdnode1", "osdnode2", "osdnode3", "osdnode4")
    assert group.text == "62 disks, 256 GiB of memory"
    assert [row.text for row in group.rows] == [
        "54 hdd of 5589 GiB: free",
        "6 ssd of 745.2 GiB: free",
        "2 ssd of 931.5 GiB: mounted on /boot/efi; has partitions",
    ]
    assert {box.kind for box in group.rows[2].members} == {"unused"}


def test_a_disk_that_only_holds_leftovers_tells_what_would_wipe_it():
    raw = apollo()
    disks = raw["hosts"]["osdnode1"]["ceph_disks"]
    free = [disk for disk in disks if not disk.get("in_use")]
    free[0]["in_use"] = ["has partitions", "holds ext4"]
    free[1]["in_use"] = ["has partitions", "mounted on /srv"]
    said = {box.title for group in hosts.picture(raw).groups for row in group.rows for box in row.members}
    wiped = [title for title in said if "disk.wipe" in title]
    assert len(wiped) == 1 and wiped[0].endswith(
        f"salt-run disk.wipe osdnode1 {free[0]['id']} serial={free[0]['serial']}"
    )
