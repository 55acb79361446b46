"""Twice as many OSDs are twice the work of a removal, and not four times: nothing is gone through for each of them."""

import pytest

from proposals.cluster.removal import domains, items, room, told
from proposals.cluster.removal.items import Found, Item, Wanted
from runners.engine.removal.leaving import Look

HOSTS = [f"osd{number:04}" for number in range(50)]
LIMITS = {"backfillfull": 0.9, "full": 0.95, "max_pgs": 1000}


class Counted(list):
    """How often it is gone through."""

    times = 0

    def __iter__(self):
        self.times += 1
        return super().__iter__()

    def __contains__(self, item):
        self.times += 1
        return super().__contains__(item)


def host(number):
    return {"hostname": HOSTS[number], "osds": [f"f{number}-0", f"f{number}-1"], "parts": {}}


def test_osds_are_looked_up_once_for_all_hosts_that_leave():
    before = {minion: host(number) for number, minion in enumerate(HOSTS)}
    states = Counted({"id": 2 * n + k, "fsid": f"f{n}-{k}", "host": HOSTS[n], "state": "in-use"}
                     for n in range(50) for k in range(2))  # fmt: skip
    states.append({"id": 100, "fsid": None, "host": HOSTS[7], "state": "destroyed"})
    listed = items.leaving(before, Wanted({}), Found(states, hosts={}), [])
    assert len(listed) == 101 and states.times < 5
    look = Look(tuple(listed), (), (), before, Wanted({}), {}, states, None, (), {})
    assert [look.present([item]) for item in look.items if item.minion == HOSTS[7]] == [[14], [15], [100]]
    assert states.times < 8


def test_what_is_held_back_is_counted_once_for_all_hosts():
    listed = Counted(Item("osd", f"osd.{number}", minion, f"f{number}") for number, minion in enumerate(HOSTS))
    assert len(told.held_back(listed, HOSTS)) == len(told.past(listed)) == 1 and listed.times == 2


@pytest.mark.parametrize("pools", [1, 40])
def test_a_rule_is_computed_once_for_all_pools_that_have_it(pools, monkeypatch):
    buckets = [{"id": -2 - n, "name": f"h{n}", "type_name": "host", "items": [{"id": n, "weight": domains.ONE}]}
               for n in range(4)]  # fmt: skip
    inside = [{"id": each["id"], "weight": domains.ONE} for each in buckets]
    buckets.append({"id": -1, "name": "default", "type_name": "root", "items": inside})
    steps = [{"op": "take", "item": -1}, {"op": "chooseleaf_firstn", "num": 0, "type": "host"}, {"op": "emit"}]
    rule = {"rule_id": 0, "rule_name": "r", "steps": steps}
    crush = domains.Map({"buckets": buckets, "rules": [rule]}, dict.fromkeys(range(4), 1))
    asked, blocks = [], domains.Map.blocks
    monkeypatch.setattr(domains.Map, "blocks", lambda self, *words: asked.append(words) or blocks(self, *words))
    listed = [{"pool_name": f"p{n}", "size": 3, "crush_rule": 0, "pg_num": 8, "bytes_used": 400 // pools << 10}
              for n in range(pools)]  # fmt: skip
    usage = [{"id": n, "kb": 1000, "kb_used": 100, "kb_used_data": 100, "pgs": 1} for n in range(4)]
    found = room.room(crush, listed, usage, LIMITS, {0})
    assert (found.moves, round(found.then, 3), found.against) == (100 << 10, 0.133, ())
    assert len(domains.lacking(crush, listed, {0, 1})) == pools and len(domains.emptied(crush, listed, {0, 1})) == 1
    assert asked == [(0, 3)] * 4
