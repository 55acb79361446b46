"""Which address lies in which network; text that is none lies nowhere."""

import pytest

from proposals.text.addresses import beside, inside, network


@pytest.mark.parametrize(
    ("addresses", "net", "expected"),
    [
        (["10.0.1.5/24", "10.0.0.5/24", "10.0.0.4"], "10.0.0.0/24", ["10.0.0.5", "10.0.0.4"]),
        (["fd00::5/64", "10.0.0.5/24"], "fd00::/64", ["fd00::5"]),
        (["{{ 7 * 7 }}", "", None], "10.0.0.0/8", []),
        (["10.0.0.5"], "10.0.0.1/24", []),  # an address in a network is no network
        (["10.0.0.5"], None, []),
    ],
)
def test_addresses_inside_a_network(addresses, net, expected):
    assert inside(addresses, network(net)) == expected


@pytest.mark.parametrize(
    ("address", "own", "expected"),
    [
        ("10.0.0.254", "10.0.0.5/24", True),
        ("10.0.1.254", "10.0.0.5/24", False),
        ("10.0.0.254/24", "10.0.0.5/24", False),  # a gateway has no prefix length
        ("fd00::1", "10.0.0.5/24", False),
        ("router", "10.0.0.5/24", False),
        ("10.0.0.254", "eth0", False),
    ],
)
def test_an_address_beside_another(address, own, expected):
    assert beside(address, own) is expected
