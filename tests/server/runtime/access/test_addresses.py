"""Every form of an address pattern, and texts that are no pattern."""

import pytest

from mqserver.runtime.access.addresses import (
    AddressList,
    AddressPattern,
    BadAddress,
    split_patterns,
)


@pytest.mark.parametrize(
    ("pattern", "ip", "expected"),
    [
        ("*", "10.0.0.1", True),
        ("*.*.*.*", "::1", True),
        ("*:*:*:*:*:*:*:*", "10.0.0.1", True),
        ("", "10.0.0.1", False),
        ("10.1.2.3", "10.1.2.3", True),
        ("10.1.2.3", "10.1.2.30", False),
        ("10.1.2.*", "10.1.2.255", True),
        ("10.1.2.*", "10.1.20.1", False),
        ("10.1.*.*", "10.1.9.9", True),
        ("10.*.*.*", "11.1.9.9", False),
        ("10.1.2.1-20", "10.1.2.20", True),
        ("10.1.2.1-20", "10.1.2.21", False),
        ("10.1.1-3.*", "10.1.2.9", True),
        ("10.1.*.7", "10.1.2.8", False),
        ("10.1.2.{1,2}", "10.1.2.2", True),
        ("10.1.2.{1,2}", "10.1.2.3", False),
        ("10.1.2.3,10.1.2.4", "10.1.2.4", True),
        ("10.1.2.*", "fe80::1", False),
        ("10.1.2.*", "no address", False),
        ("fe80::1", "FE80:0:0:0:0:0:0:1", True),
        ("fe80::1", "fe80::2", False),
        ("fe80::5:*", "fe80::5:ffff", True),
        ("fe80::5:*", "fe80::6:1", False),
        ("fe80::*", "fe80::9", True),
        ("fe80::*", "fe80::1:9", False),
        ("fe80::5:1-20", "fe80::5:1f", True),
        ("fe80::5:1-20", "fe80::5:21", False),
        ("fe80::1-20:*", "fe80::1f:9", True),
        ("fe80::1-20:*", "fe80::21:9", False),
        ("1:2:3:4:5:6:7:*", "1:2:3:4:5:6:7:9", True),
        ("fe80::5:{1,2f}", "fe80::5:2f", True),
        ("fe80::5:{1,2f}", "fe80::5:3", False),
        ("fe80::1,fe80::2", "fe80::2", True),
    ],
)
def test_a_pattern_matches_what_it_says(pattern: str, ip: str, expected: bool) -> None:
    assert AddressPattern(pattern).matches(ip) is expected


@pytest.mark.parametrize(
    "pattern",
    [
        "10.1.2",
        "10.1.2.256",
        "10.1.2.*.*",
        "*.1.2.3",
        "10.1.2.9-3",
        "10.1.2.-3",
        "10.1.2.1_0-20",
        "10.1.2.1-300",
        "10.1.2.{1,999}",
        "10.1.2{1}",
        "10.1.2.3}",
        "10.1.2.3,x",
        "x.1.*.*",
        "fe80::1-5:3",
        "fe80:*:1::1",
        "fe80::-5",
        "1:2:3:*",
        "fe80::1-fffff",
        "localhost",
    ],
)
def test_what_is_no_pattern_is_an_error_that_names_it(pattern: str) -> None:
    with pytest.raises(BadAddress, match="Netaddress examine Exception netaddress is "):
        AddressPattern(pattern)


def test_a_list_is_split_at_commas_outside_of_braces() -> None:
    text = " 127.0.0.1, 10.1.2.{1,2} ,,fe80::*"

    assert split_patterns(text) == ["127.0.0.1", "10.1.2.{1,2}", "fe80::*"]
    found = AddressList.read(text)
    assert [found.matches(ip) for ip in ("127.0.0.1", "10.1.2.2", "10.1.2.3")] == [
        True,
        True,
        False,
    ]


def test_an_empty_list_means_nobody_and_a_star_everybody() -> None:
    assert not AddressList.read("")
    assert not AddressList.read("").matches("127.0.0.1")
    assert AddressList.read("10.0.0.1,*").is_everybody
    assert not AddressList.read("10.*.*.*").is_everybody
