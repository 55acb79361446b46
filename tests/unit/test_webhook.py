"""What a webhook is told, and which addresses are one: no message tells the address."""

import pytest

from proposals.stages import webhook
from proposals.text.errors import ProposalError

JOB = {"stage": "deploy", "jid": "2026", "user": "sudo_eva", "only": None, "arguments": ["pillar=['a']"], "pid": 7}


def test_a_stage_begins_ends_and_fails():
    begun = webhook.told(JOB)
    assert begun == {
        "event": "begin",
        "stage": "deploy",
        "jid": "2026",
        "user": "sudo_eva",
        "result": "begun",
        "text": "deploy by sudo_eva: begun",
    }
    done = webhook.told({**JOB, "only": "osd*"}, {"event": "end", "result": "done", "changed": True})
    assert (done["event"], done["only"], done["text"]) == ("end", "osd*", "deploy by sudo_eva: done")
    for result in ("failed", "interrupted", "stopped"):
        failed = webhook.told(JOB, {"event": "end", "result": result, "reason": "in step a"})
        assert (failed["event"], failed["result"], failed["reason"]) == ("failed", result, "in step a")
        assert failed["text"] == f"deploy by sudo_eva: {result}: in step a"


@pytest.mark.parametrize("url", ["https://hook.example/T0/S3CRET?x=1\n", "http://10.0.0.1:8080/", "http://[fd00::1]/a"])
def test_an_address(url):
    assert webhook.address(url, "the file") == url.strip()


@pytest.mark.parametrize(
    "url",
    [
        "",
        "file:///etc/S3CRET",
        "ftp://h/S3CRET",
        "https://",
        "hook.example/S3CRET",
        "http://u:S3CRET@h/",
        "http://[S3CRET",
    ]
    + ["http://h/S3CRET\nhttp://other/", "http://h/S3CRET x", "http://h:S3CRET/", "http://h/\x00S3CRET"],
)
def test_no_address_and_nothing_of_it_is_told(url):
    with pytest.raises(ProposalError, match="the file holds no address of a webhook: expected one line") as refused:
        webhook.address(url, "the file")
    assert "S3CRET" not in str(refused.value)
