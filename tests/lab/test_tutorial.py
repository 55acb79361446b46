"""The tutorial from its own text, on a lab like `tiny`: each block is typed, what the page shows is printed."""

import time
from collections.abc import Callable

import pytest
from clusters import SUBNETS
from product import Product, cluster_file, until

from lab.session import Session
from lab.tutorial import steps

pytestmark = pytest.mark.big
SETTLES = 90  # seconds in which what a look shows may still come: a new cluster's health


def test_each_block_prints_what_the_page_shows(
    own_lab: Callable[[str], Session], tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = tmp_path_factory.mktemp("tutorial")
    product = Product(own_lab(cluster_file(folder, "tutorial", SUBNETS["tutorial"])))
    begin = time.monotonic()
    for step in steps():
        answer = product.type(step.typed).out
        if step.typed.startswith("ceph ") and step.lacking(answer):  # it only looks: nothing is done twice
            until(lambda step=step: not step.lacking(product.type(step.typed).out), SETTLES, f"{step.shown}")
            continue
        assert step.lacking(answer) == [], f"{step.typed}\n{answer}"
    print(f"\nthe tutorial: {time.monotonic() - begin:.0f} s")
    until(product.whole, SETTLES, "HEALTH_OK, 3 monitors, 6 OSDs, PGs active+clean")
