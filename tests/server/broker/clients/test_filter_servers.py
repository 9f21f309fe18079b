"""Filter servers are listed while their connection is open and not silent."""

from typing import cast

from mqserver.broker.clients.filter_servers import COUNT_MAX, SILENCE_MS_MAX, FilterServers
from remoting.aio.server import ServerConn
from tests.server.doubles import FakeConn


def conn() -> ServerConn:
    return cast(ServerConn, FakeConn())


def test_addresses_are_told_once_and_sorted() -> None:
    servers = FilterServers()
    first, second = conn(), conn()

    changes = [
        servers.register(one, address, now_ms=0)
        for one, address in ((first, "b:1"), (second, "a:1"), (first, "b:1"), (first, "c:1"))
    ]

    assert changes == [True, True, False, True]
    assert servers.addresses() == ["a:1", "c:1"]


def test_closed_connection_takes_its_address_off() -> None:
    servers = FilterServers()
    one = conn()
    servers.register(one, "a:1", now_ms=0)

    assert (servers.drop(conn()), servers.drop(one)) == (False, True)
    assert servers.addresses() == []


def test_silence_takes_an_address_off() -> None:
    servers = FilterServers()
    silent, speaking = conn(), conn()
    servers.register(silent, "a:1", now_ms=0)
    servers.register(speaking, "b:1", now_ms=0)
    servers.register(speaking, "b:1", now_ms=1)

    assert not servers.drop_silent(SILENCE_MS_MAX)
    assert servers.drop_silent(SILENCE_MS_MAX + 1)
    assert servers.addresses() == ["b:1"]


def test_there_are_not_more_than_the_limit() -> None:
    servers = FilterServers()
    for number in range(COUNT_MAX + 5):
        servers.register(conn(), f"a:{number}", now_ms=0)

    assert len(servers.addresses()) == COUNT_MAX
