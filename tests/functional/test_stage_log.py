"""Events of Salt's bus become a run log, and a run log what a person reads; secrets stay out of both."""

import json
from pathlib import Path

import pytest
import salt.config
import salt.loader
import yaml

from proposals.files.site import Site
from proposals.pillar import redaction
from proposals.pillar.secrets import new_key

CASES = yaml.safe_load((Path(__file__).parent.parent / "fixtures" / "stage-events.yaml").read_text())


@pytest.fixture(scope="module")
def runners(checkout, tmp_path_factory):
    """The runners, loaded as salt-run does; nothing is running."""
    root = tmp_path_factory.mktemp("runners")
    opts = salt.config.master_config(None)
    opts.update(
        runner_dirs=[str(checkout / "runners")],
        cachedir=str(root),
        halocline_log_dir=str(root / "logs"),
        extension_modules=str(root / "extmods"),
    )
    return salt.loader.runner(opts)


def made(runners, events):
    """The records that events of one orchestration make, without their times."""
    run = runners["stage_log.paths"].__globals__["_Run"]("1")
    records = [record for tag, data in events for record in run.records(tag.split("/"), data)]
    return [{key: value for key, value in record.items() if key != "time"} for record in records]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["name"])
def test_events_make_records(runners, case):
    records = made(runners, case["events"])
    assert records == case["records"]
    shown = [line for record in records if (line := runners["stage_show.line"](record))]
    assert shown == case["shown"]


def test_a_log_that_was_cut_off_can_be_read(runners, tmp_path):
    path = tmp_path / "prep-1.jsonl"
    path.write_text('{"event": "stage"}\n{"event": "st')
    assert runners["stage_log.read"](str(path)) == [{"event": "stage"}]


def test_logs_are_in_the_order_of_their_runs(runners):
    folder = Path(runners.opts["halocline_log_dir"])
    folder.mkdir()
    for name in ("prep-20260102T000000", "deploy-20260101T000000", "discovery-20260103T000000"):
        (folder / f"{name}.jsonl").write_text("")
    names = [Path(path).name.partition("-")[0] for path in runners["stage_log.paths"]()]
    assert names == ["deploy", "prep", "discovery"]


def test_secrets_are_masked_and_the_rest_stays(tmp_path):
    """Keys by their looks, the site's own words by comparing; a keyring's other words are no secrets."""
    site = Site(tmp_path, tmp_path)
    key, password = new_key(), "correct-horse-battery"
    site.keys.parent.mkdir()
    site.keys.write_text(json.dumps({"client.admin": key, "dashboard": password}))
    site.secrets.mkdir()
    (site.secrets / "node1.yml").write_text(json.dumps({"ceph_secrets": {"admin": f"[client.admin]\n\tkey = {key}\n"}}))
    hide = redaction.hider(redaction.known(site))
    pem = "-----BEGIN RSA PRIVATE KEY-----\nMIIB\n-----END RSA PRIVATE KEY-----"
    text = f"key {key}, {password}; another's {new_key()}; {pem}; [client.admin] osd.12 on node1"
    hid = hide(text)
    mask = redaction.MASK
    assert hid == f"key {mask}, {mask}; another's {mask}; {mask}; [client.admin] osd.12 on node1"
    assert redaction.hider([])("nothing to hide") == "nothing to hide"
