"""Long answers: Salt's own event carries what a module packs, the master reads it, and refuses what is none."""

import base64
import json
import zlib

import halocline
import pytest
from salt.utils.event import SaltEvent

from proposals.stages import packed, replies
from proposals.stages.replies import Question

OSD = {"fsid": "6b0c1f2e-0000-4000-8000-000000000000", "host": "osdnode1", "state": "in-use", "weight": 5.45799}
STATES, LOOK, TOGETHER = "cluster_osds.states", "cluster_health.inspect", "cluster_cli.together"


def osds(count):
    return [{**OSD, "id": number} for number in range(count)]


def carried(answer):
    """What the master has of it, behind Salt's event."""
    load = {"id": "m", "return": answer, "retcode": 0, "jid": "1", "fun": "x", "fun_args": []}
    return SaltEvent.unpack(SaltEvent.pack("salt/job/1/ret/m", load, max_size=1048576))[1]["return"]


def judged(question, answer):
    returned = {"m": {"ret": {question.function: answer}, "retcode": {question.function: 0}}}
    return replies.judged(["m"], [question], returned)


@pytest.mark.slow
@pytest.mark.parametrize("count", [1, 1000, 20_000])
def test_what_many_osds_say_arrives(count):
    said = judged(Question(STATES, kind=list), carried(halocline.packed(osds(count))))
    assert said.whole() == {"m": {STATES: osds(count)}}
    both = {STATES: halocline.packed(osds(count)), LOOK: halocline.packed({"osd_dump": {"osds": osds(count)}})}
    said = judged(Question(TOGETHER), carried(both)).whole()["m"][TOGETHER]
    assert said == {STATES: osds(count), LOOK: {"osd_dump": {"osds": osds(count)}}}


def test_a_short_answer_is_as_it_was():
    assert halocline.packed(osds(3)) == osds(3) and halocline.packed({}) == {}


@pytest.mark.slow
@pytest.mark.parametrize("answer", [osds(20_000), {"osds": osds(20_000)}, {"a": {"osds": osds(20_000)}}])
def test_what_salt_cut_out_is_said(answer):
    (problem,) = judged(Question(LOOK, kind=dict | list), carried(answer)).problems
    assert problem.text.startswith("cluster_health.inspect's answer is longer than Salt carries: raise max_event_size")


def coded(content):
    return [base64.b64encode(content).decode()]


@pytest.mark.parametrize(
    "pieces",
    [
        *(None, 7, [7], ["?"], ["AAAA"], coded(b"no zlib")),
        *(coded(zlib.compress(text)) for text in (b"[1, 2", b"\xff", b"7" * 1001)),
        coded(zlib.compress(json.dumps(OSD).encode())[:-9]),
        coded(zlib.compress(b"[" * 900)),
    ],
    ids=range(11),
)
def test_what_is_packed_wrongly_is_one_problem(pieces, monkeypatch):
    monkeypatch.setattr(packed, "MOST", 1000)
    (problem,) = judged(Question(STATES, kind=list), {packed.KEY: pieces}).problems
    assert problem.text.startswith(f"{STATES}'s answer cannot be unpacked (") and "\n" not in problem.text
    asked = [Question(STATES, kind=list, optional=True), Question("saltutil.running", kind=list)]
    both = {"ret": {STATES: {packed.KEY: pieces}, "saltutil.running": []}, "retcode": {}}
    assert replies.judged(["m"], asked, {"m": both}).whole() == {"m": {STATES: None, "saltutil.running": []}}


def test_only_those_who_ask_the_cluster_pack_and_a_trimmed_comment_is_no_trimmed_answer():
    said = {packed.KEY: halocline.packed(osds(2000))[packed.KEY]}
    assert judged(Question("host.facts"), said).whole() == {"m": {"host.facts": said}}
    states = {"x": {"result": True, "comment": packed.TRIMMED, "changes": {}}}
    assert judged(Question("state.apply"), states).whole() == {"m": {"state.apply": states}}
    (problem,) = judged(Question("host.facts"), packed.TRIMMED).problems
    assert "is longer than Salt carries" in problem.text
