"""Ports are held until a server listens there, and nobody is there before."""

import socket

import pytest

from tests.ports import HOST, free_ports, hold


def test_a_server_may_listen_on_a_held_port_and_nobody_else_is_given_it() -> None:
    first = free_ports(3)

    for port in range(first, first + 3):
        with socket.socket() as early:
            assert early.connect_ex((HOST, port)) != 0
        with socket.create_server((HOST, port)), socket.create_connection((HOST, port)):
            pass
    assert free_ports(3) not in range(first - 2, first + 3)


@pytest.mark.parametrize("host", [HOST, "127.0.0.2", ""])
def test_held_port_is_held_once_and_served_on_any_address(host: str) -> None:
    """Ports in a row are asked for by number, by other processes, too."""
    port = free_ports(1)

    assert hold(port) is None
    with socket.create_server((host, port)):
        assert hold(port) is None
    assert hold(port) is None
