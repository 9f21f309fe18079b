"""Ports are held until a server listens there, and nobody is there before."""

import socket

from tests.ports import HOST, free_ports


def test_a_server_may_listen_on_a_held_port_and_nobody_else_is_given_it() -> None:
    first = free_ports(3)

    for port in range(first, first + 3):
        with socket.socket() as early:
            assert early.connect_ex((HOST, port)) != 0
        with socket.create_server((HOST, port)), socket.create_connection((HOST, port)):
            pass
    assert free_ports(3) not in range(first - 2, first + 3)
