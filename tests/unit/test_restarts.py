"""Which daemons a restart would change, of what hosts and monitors say."""

import pytest

from proposals.cluster import restarts
from proposals.text.errors import InventoryError

# Options that are read at a start alone, as the monitors tell them: for all, for OSDs, for one, for one class.
CENTRAL = [
    {"section": "global", "mask": "", "name": "ms_type", "value": "async"},
    {"section": "osd", "mask": "", "name": "ms_type", "value": "async+posix"},
    {"section": "osd", "mask": "", "name": "osd_op_num_shards", "value": "4"},
    {"section": "osd.3", "mask": "", "name": "osd_op_num_shards", "value": "8"},
    {"section": "osd", "mask": "", "name": "bluestore_cache_size", "value": "1"},
    {"section": "osd", "mask": "class:ssd", "name": "bluestore_cache_size", "value": "2"},
    {"section": "client.rgw", "mask": "", "name": "rgw_thread_pool_size", "value": "9"},
]


@pytest.mark.parametrize(
    ("name", "told", "waits"),
    [
        ("osd.3", {"ms_type": "async+posix", "osd_op_num_shards": "8", "bluestore_cache_size": "2"}, {}),
        ("osd.4", {"ms_type": "async+posix", "osd_op_num_shards": "4", "bluestore_cache_size": "1"}, {}),
        (
            "osd.3",
            {"ms_type": "async", "osd_op_num_shards": "4"},
            {"ms_type": ["async", "async+posix"], "osd_op_num_shards": ["4", "8"]},
        ),
        ("client.rgw.a", {"ms_type": "async"}, {"rgw_thread_pool_size": [None, "9"]}),
        ("client.rgw.a", {"ms_type": "async", "rgw_thread_pool_size": "9", "debug_rgw": "5"}, {}),
    ],
)
def test_of_options_that_are_set_twice_the_nearest_to_the_daemon_counts(name: str, told: dict, waits: dict) -> None:
    """As ``ConfigMap::generate_entity_map`` of Ceph has it; which daemons a mask is for, nobody says: not judged."""
    found = restarts.waiting({name: {"differs": {}, "told": told, "answers": True}}, CENTRAL)
    assert found == ({name: waits} if waits else {})


def test_what_the_host_itself_says_counts_besides() -> None:
    quiet = {"told": {}, "answers": True}
    daemons = {"osd.3": {"differs": {"program": ["old", "new"]}, **quiet}, "osd.4": {"differs": {}, **quiet}}
    assert restarts.waiting(daemons, []) == {"osd.3": {"program": ["old", "new"]}}


def test_of_a_daemon_that_does_not_answer_what_it_was_told_is_not_judged() -> None:
    hangs = {"differs": {"program": ["old", "new"]}, "told": {}, "answers": False}
    assert restarts.waiting({"osd.3": hangs}, CENTRAL) == {"osd.3": {"program": ["old", "new"]}}


@pytest.mark.parametrize(
    "answer", [None, [], {"osd.3": {}}, {"osd.3": {"differs": {}, "told": {"a": 1}, "answers": True}}, {1: {}}]
)
def test_an_answer_of_another_form_is_named(answer: object) -> None:
    with pytest.raises(InventoryError, match="daemons.settings"):
        restarts.waiting(answer, CENTRAL)
