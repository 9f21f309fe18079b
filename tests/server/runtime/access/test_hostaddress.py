"""Addresses: the own address, loopback, and their text."""

import ipaddress
import socket

import pytest

from mqserver.runtime.access.hostaddress import is_any_address, is_loopback, join_address, local_ip


def test_local_ip_is_an_address() -> None:
    assert ipaddress.ip_address(local_ip())


def test_without_any_route_it_is_loopback(monkeypatch) -> None:
    def no_network(*args: object) -> socket.socket:
        raise OSError("network is unreachable")

    monkeypatch.setattr(socket, "socket", no_network)

    assert local_ip() == "127.0.0.1"


@pytest.mark.parametrize(
    ("ip", "expected"),
    [
        ("127.0.0.1", True),
        ("127.8.0.1", True),
        ("::1", True),
        ("::ffff:127.0.0.1", True),
        ("10.0.0.1", False),
        ("::ffff:10.0.0.1", False),
        ("1270.0.0.1", False),
        ("", False),
    ],
)
def test_is_loopback(ip: str, expected: bool) -> None:
    assert is_loopback(ip) is expected


@pytest.mark.parametrize(
    ("ip", "expected"), [("0.0.0.0", True), ("::", True), ("", True), ("127.0.0.1", False)]
)
def test_is_any_address(ip: str, expected: bool) -> None:
    assert is_any_address(ip) is expected


def test_join_address_brackets_ipv6() -> None:
    assert join_address("1.2.3.4", 5) == "1.2.3.4:5"
    assert join_address("::1", 5) == "[::1]:5"
