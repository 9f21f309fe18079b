"""The port where slaves connect: which connections are accepted, and which are closed."""

import asyncio
import contextlib
import logging
import os
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from mqserver.broker.config import BrokerConfig
from mqserver.broker.ha import sending
from mqserver.broker.ha.frames import HEADER, REPORT
from mqserver.broker.ha.links import Links, SlaveLink
from mqserver.broker.ha.receiving import tell_epoch
from mqserver.broker.ha.sending import SlaveServer
from mqserver.runtime.clock import SystemClock
from mqserver.store.disk.nowait import ColdRead
from mqserver.store.store import MessageStore
from remoting.aio.resources import Places
from tests.server.store.stores import START_MS, message, open_store, put_all, small_config
from tests.waiting import TIMEOUT_S, until

LOG_SIZE = 64 << 20
"""Bytes of one log file."""


def port_of(
    store: MessageStore,
    links: Links,
    *,
    allowed: bool = True,
    heard_epoch: Callable[[int, str], None] = lambda epoch, address: None,
    places: Places | None = None,
    housekeeping_ms: int = 60_000,
    heartbeat_ms: int = 50,
) -> SlaveServer:
    return SlaveServer(
        store,
        links,
        config=BrokerConfig(
            ha_transfer_batch_size=1_000,
            ha_send_heartbeat_interval_ms=heartbeat_ms,
            ha_housekeeping_interval_ms=housekeeping_ms,
        ),
        clock=SystemClock(),
        may_connect=lambda ip, local_ip: allowed,
        heard_epoch=heard_epoch,
        places=places or Places(),
    )


class Port(NamedTuple):
    """A master's port for slaves that is open."""

    store: MessageStore
    links: Links
    address: tuple[str, int]


@asynccontextmanager
async def opened(root: Path, *, count: int = 0, **options: Any) -> AsyncIterator[Port]:
    """Open the port of a master that has some messages."""
    store = open_store(small_config(root))
    put_all(store, range(count))
    links = Links(BrokerConfig())
    server = port_of(store, links, **options)
    port = await server.start("127.0.0.1", 0)
    try:
        yield Port(store, links, ("127.0.0.1", port))
    finally:
        await server.stop()
        store.close(START_MS)


@asynccontextmanager
async def following(
    root: Path, *, count: int = 5
) -> AsyncIterator[tuple[MessageStore, SlaveServer, SlaveLink, asyncio.StreamReader]]:
    """Yield a master without heartbeats, and a slave that has read all that the master has."""
    store = open_store(small_config(root, log_file_size=LOG_SIZE))
    put_all(store, range(count))
    links = Links(BrokerConfig())
    server = port_of(store, links, heartbeat_ms=600_000, housekeeping_ms=600_000)
    port = await server.start("127.0.0.1", 0)
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    try:
        writer.write(REPORT.pack(0))
        await until(lambda: links.links, what="a slave")
        (link,) = links.links
        await until(lambda: link.sent_offset == store.written_offset, what="it was sent all")
        await log_bytes(reader, store.written_offset)
        yield store, server, link, reader
    finally:
        writer.close()
        await server.stop()
        store.close(START_MS)


async def log_bytes(reader: asyncio.StreamReader, size: int) -> bytes:
    """Return the next ``size`` bytes of the log, out of their frames."""
    data = bytearray()
    async with asyncio.timeout(TIMEOUT_S):
        while len(data) < size:
            _, part_size = HEADER.unpack(await reader.readexactly(HEADER.size))
            data += await reader.readexactly(part_size)
    return bytes(data)


async def asked(port: Port, *reports: int) -> bytes:
    """Connect, report, and return what came until the connection was closed."""
    came = b""
    reader, writer = await asyncio.open_connection(*port.address)
    with contextlib.closing(writer), contextlib.suppress(ConnectionError):
        async with asyncio.timeout(60):
            for number, report in enumerate(reports):
                if number:
                    # What it is sent comes after the first report was taken.
                    came += await reader.read(4096)
                writer.write(REPORT.pack(report))
            while data := await reader.read(4096):
                came += data
    return came


async def test_stranger_gets_nothing_and_the_log_says_which_setting_lets_him_in(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async with opened(tmp_path, count=5, allowed=False) as port:
        assert await asked(port, 0) == b""

    assert port.links.links == []
    assert "refused 127.0.0.1 as a slave; allow it with slaveAddresses" in caplog.text


async def test_slaves_take_the_descriptors_that_other_connections_leave(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    places = Places(1)
    async with opened(tmp_path, places=places) as port:
        _, first = await asyncio.open_connection(*port.address)
        await until(lambda: port.links.links)
        reader, second = await asyncio.open_connection(*port.address)
        assert (places.count, await reader.read()) == (1, b"")
        first.close()
        await until(lambda: not port.links.links)
        second.close()

    assert places.count == 0
    assert "refused 127.0.0.1 as a slave: no file descriptor is left" in caplog.text


async def test_slave_that_acknowledges_more_than_it_was_sent_is_thrown_out(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async with opened(tmp_path, count=5) as port:
        port.store.write(START_MS)
        end = port.store.written_offset
        came = await asked(port, 0, end + 1)

    assert HEADER.unpack_from(came)[0] == 0
    assert port.links.links == []
    assert f"it acknowledges {end + 1} after 0, but was sent {end}" in caplog.text


async def test_slave_of_a_newer_promotion_tells_its_epoch_and_is_let_go(tmp_path: Path) -> None:
    heard: list[tuple[int, str]] = []
    async with opened(tmp_path, heard_epoch=lambda *told: heard.append(told)) as port:
        await tell_epoch("{}:{}".format(*port.address), 1_795_000_000_000)

    assert [epoch for epoch, _ in heard] == [1_795_000_000_000]
    assert port.links.links == []


async def test_new_bytes_leave_in_the_turn_that_wrote_them(tmp_path: Path) -> None:
    async with following(tmp_path) as (store, server, link, reader):
        begin = store.written_offset
        put_all(store, range(5, 8))

        # Nothing else of the loop runs between these two lines.
        server.notify()
        assert link.sent_offset == store.written_offset

        came = await log_bytes(reader, store.written_offset - begin)
        assert came == store.raw.read(begin, 1 << 20)


async def test_a_turn_that_wrote_nothing_sends_nothing(tmp_path: Path) -> None:
    async with following(tmp_path) as (store, server, _, reader):
        server.notify()
        begin = store.written_offset
        put_all(store, range(5, 6))
        server.notify()

        async with asyncio.timeout(TIMEOUT_S):
            header = await reader.readexactly(HEADER.size)
        assert HEADER.unpack(header) == (begin, store.written_offset - begin)


async def test_bytes_that_are_not_in_memory_are_read_by_a_thread_and_sent(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with following(tmp_path) as (store, server, link, reader):
        begin = store.written_offset
        put_all(store, range(5, 8))
        read, cold = store.raw.read, [ColdRead(0, 1, 0), ColdRead(0, 1, 0)]
        for one in cold:
            one.drop()

        def read_cold(log_offset: int, size_max: int) -> bytes:
            if cold:
                raise cold.pop()
            return read(log_offset, size_max)

        monkeypatch.setattr(store.raw, "read", read_cold)
        server.notify()
        assert link.sent_offset == begin

        await until(lambda: link.sent_offset == store.written_offset, what="it was sent all")
        assert await log_bytes(reader, store.written_offset - begin) == read(begin, 1 << 20)


async def test_log_that_cannot_be_read_ends_the_connection(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def read(log_offset: int, size_max: int) -> bytes:
        raise OSError("no such disk")

    with caplog.at_level(logging.INFO):
        async with following(tmp_path) as (store, server, _, reader):
            put_all(store, range(5, 8))
            monkeypatch.setattr(store.raw, "read", read)
            server.notify()
            async with asyncio.timeout(TIMEOUT_S):
                with pytest.raises((asyncio.IncompleteReadError, ConnectionError)):
                    await reader.readexactly(1)

    assert "no such disk" in caplog.text


async def test_slave_that_does_not_read_is_sent_no_more_until_it_does(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sending, "UNSENT_MAX", 1_000)
    monkeypatch.setattr(sending, "READ_SIZE", 256 << 10)
    async with following(tmp_path) as (store, server, link, reader):
        begin = store.written_offset
        for number in range(5, 165):
            store.put(message(number, body=os.urandom(100_000)), START_MS)
        store.write(START_MS)
        server.notify()
        (slave,) = server._slaves
        await until(lambda: slave.is_full, what="the socket is full")
        server.notify()
        assert link.sent_offset < store.written_offset

        came = await log_bytes(reader, store.written_offset - begin)

        assert link.sent_offset == store.written_offset
        assert len(came) == store.written_offset - begin
        assert came[-1_000:] == store.raw.read(store.written_offset - 1_000, 1_000)


async def test_slave_that_is_silent_is_disconnected(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async with opened(tmp_path, housekeeping_ms=20) as port:
        assert await asked(port) == b""
        await until(lambda: not port.links.links, what="it is gone")

    assert "it said nothing for 0.02 s" in caplog.text
