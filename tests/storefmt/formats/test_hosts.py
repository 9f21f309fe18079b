"""Packed hosts and their text."""

import pytest

from storefmt.errors import BadCall
from storefmt.formats.hosts import address_text, host_text, pack_host, parse_host, port_of


@pytest.mark.parametrize(
    ("packed", "text"),
    [
        ("7f000001 00002a9f", "127.0.0.1:10911"),
        ("00000000000000000000000000000001 00002a9f", "[::1]:10911"),
        ("fd000000000000000000000000000002 0000ffff", "[fd00::2]:65535"),
    ],
)
def test_packed_host_and_its_text_are_the_same(packed: str, text: str) -> None:
    assert host_text(bytes.fromhex(packed)) == text
    assert parse_host(text) == bytes.fromhex(packed)
    assert pack_host(address_text(bytes.fromhex(packed)), port_of(bytes.fromhex(packed))) == (
        bytes.fromhex(packed)
    )


def test_java_writes_long_ipv6_and_it_is_read() -> None:
    assert host_text(parse_host("[0:0:0:0:0:0:0:1]:47874")) == "[::1]:47874"
    assert host_text(parse_host("0:0:0:0:0:0:0:1:47874")) == "[::1]:47874"


def test_zone_of_an_address_is_dropped() -> None:
    assert pack_host("fe80::1%eth0", 1) == pack_host("fe80::1", 1)


@pytest.mark.parametrize("text", ["", "127.0.0.1", "localhost:1", "1.2.3.4:x", "1.2.3.4:²", ":1"])
def test_text_that_is_no_host_is_refused(text: str) -> None:
    with pytest.raises(BadCall):
        parse_host(text)


def test_port_out_of_range_is_refused() -> None:
    with pytest.raises(BadCall, match="65536"):
        pack_host("127.0.0.1", 65536)


def test_stored_port_may_be_any_number() -> None:
    assert host_text(b"\1\2\3\4\xff\xff\xff\xff") == "1.2.3.4:-1"


def test_host_of_another_length_is_refused() -> None:
    with pytest.raises(BadCall, match="9 bytes"):
        host_text(bytes(9))
