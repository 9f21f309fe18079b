"""The ports of a broker: what its settings make of them."""

import socket

import pytest

from mqserver.broker.config import BrokerConfig
from mqserver.broker.ports import server_of


async def test_as_many_connections_may_wait_as_the_settings_say(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    asked: list[int] = []
    listen = socket.socket.listen

    def spied(self: socket.socket, backlog: int) -> None:
        asked.append(backlog)
        listen(self, backlog)

    server = server_of(
        BrokerConfig(server_socket_backlog=7),
        on_frame=lambda conn, raw: None,
        on_close=lambda conn: None,
    )
    monkeypatch.setattr(socket.socket, "listen", spied)
    await server.start("127.0.0.1", 0)
    await server.stop()
    assert set(asked) == {7}
