"""A listening port: how many connections a turn takes, and what happens without descriptors."""

import asyncio
import errno
import logging
import socket
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from remoting.aio import listener as listeners
from remoting.aio.listener import ACCEPT_S_MAX, ACCEPT_SHARE, ACCEPTS_A_TURN, Listener
from tests.remoting.aio.peers import run
from tests.waiting import until


@contextmanager
def clients(port: int, count: int) -> Iterator[None]:
    """Connections that the system has taken, and the listener not yet."""
    connected = [socket.create_connection(("127.0.0.1", port)) for _ in range(count)]
    try:
        yield
    finally:
        for one in connected:
            one.close()


@pytest.mark.parametrize(
    ("turn_s", "count_max"),
    [
        (0.0, ACCEPTS_A_TURN),
        (0.002, ACCEPTS_A_TURN),
        (0.01, int(0.01 * ACCEPT_SHARE / 0.0001)),
        (1.0, int(ACCEPT_S_MAX / 0.0001)),
    ],
)
async def test_a_turn_takes_a_few_connections_and_a_long_turn_more_however_many_wait(
    turn_s: float, count_max: int
) -> None:
    taken: list[socket.socket] = []
    batches, count = [0], 120

    def now_s() -> float:
        """A connection takes 0.1 ms, and all else until the next ones as long as it is told to."""
        return batches[0] * turn_s + len(taken) * 0.0001

    listener = Listener(lambda sock, peer: taken.append(sock), backlog=count, now_s=now_s)
    port = await listener.start("127.0.0.1", 0)
    counts = []
    batches[0] = 1
    with clients(port, count):
        while len(taken) < count:
            before = len(taken)
            await asyncio.sleep(0)
            if len(taken) > before:
                counts.append(len(taken) - before)
                batches[0] += 1
    listener.close()
    for sock in taken:
        sock.close()

    assert abs(max(counts) - count_max) <= 1


@pytest.mark.parametrize("code", [errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM])
def test_a_port_without_descriptors_rests_says_so_once_and_goes_on(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, code: int
) -> None:
    monkeypatch.setattr(listeners, "REST_S", 0)
    accept = socket.socket.accept
    calls = 0

    def failing(self: socket.socket) -> tuple[socket.socket, object]:
        nonlocal calls
        calls += 1
        if calls <= 3:
            raise OSError(code, "too many open files")
        return accept(self)

    monkeypatch.setattr(socket.socket, "accept", failing)
    peers: list[tuple[str, int]] = []

    def take(sock: socket.socket, peer: tuple[str, int]) -> None:
        peers.append(peer)
        sock.close()

    async def scene() -> None:
        listener = Listener(take, backlog=100)
        with clients(await listener.start("127.0.0.1", 0), 2):
            await until(lambda: len(peers) == 2)
        listener.close()

    with caplog.at_level(logging.WARNING):
        run(scene())

    (record,) = caplog.records
    assert "too many open files" in record.getMessage()
    assert "raise `ulimit -n`" in record.getMessage()
    assert record.exc_info is None


async def test_a_port_that_rests_may_be_closed(monkeypatch: pytest.MonkeyPatch) -> None:
    def failing(self: socket.socket) -> tuple[socket.socket, object]:
        raise OSError(errno.EMFILE, "too many open files")

    monkeypatch.setattr(socket.socket, "accept", failing)

    listener = Listener(lambda sock, peer: None, backlog=100)
    with clients(await listener.start("127.0.0.1", 0), 1):
        await until(lambda: listener._is_told)
        listener.close()
        assert bool(listener._sockets) is False
