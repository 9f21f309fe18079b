"""The port where slaves connect: who is let in, and who is thrown out."""

import asyncio
import logging
from pathlib import Path

import pytest

from remoting.aio.resources import Places
from server.broker.ha.frames import HEADER, REPORT
from server.broker.ha.links import Links
from server.broker.ha.receiving import tell_epoch
from server.broker.ha.sending import SendingSettings, SlaveServer
from server.runtime.clock import SystemClock
from server.store.store import MessageStore
from tests.server.store.stores import START_MS, open_store, put_all, small_config
from tests.waiting import until


def port_of(
    store: MessageStore, links: Links, *, allowed: bool = True, places: Places | None = None
) -> SlaveServer:
    return SlaveServer(
        store,
        links,
        settings=SendingSettings(batch_size=1_000, heartbeat_ms=50, housekeeping_ms=60_000),
        clock=SystemClock(),
        may_connect=lambda ip, local_ip: allowed,
        refused_hint="slaveAddresses",
        places=places,
    )


async def asked(store: MessageStore, links: Links, *reports: int, allowed: bool = True) -> bytes:
    """Connect, report, and return what came until the connection was closed."""
    server = port_of(store, links, allowed=allowed)
    port = await server.start("127.0.0.1", 0)
    came = b""
    try:
        async with asyncio.timeout(60):
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            try:
                for number, report in enumerate(reports):
                    if number:
                        # What it is sent comes after the first report was taken.
                        came += await reader.read(4096)
                    writer.write(REPORT.pack(report))
                while data := await reader.read(4096):
                    came += data
            except ConnectionError:
                return came
            finally:
                writer.close()
    finally:
        await server.stop()
    return came


async def test_stranger_gets_nothing_and_the_log_says_which_setting_lets_him_in(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    store = open_store(small_config(tmp_path))
    put_all(store, range(5))
    links = Links(behind_max=1, timeout_ms=1)

    with caplog.at_level(logging.WARNING):
        came = await asked(store, links, 0, allowed=False)
    store.close(START_MS)

    assert came == b""
    assert links.links == []
    assert "127.0.0.1 is not let in as a slave; allow it with slaveAddresses" in caplog.text


async def test_slaves_take_the_descriptors_that_other_connections_leave(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    store = open_store(small_config(tmp_path))
    links, places = Links(behind_max=1, timeout_ms=1), Places(1)

    server = port_of(store, links, places=places)
    port = await server.start("127.0.0.1", 0)
    _, first = await asyncio.open_connection("127.0.0.1", port)
    await until(lambda: links.links)
    reader, second = await asyncio.open_connection("127.0.0.1", port)
    taken = [places.count, len(await reader.read())]
    first.close()
    await until(lambda: not links.links)
    second.close()
    await server.stop()
    found = [*taken, places.count]
    store.close(START_MS)

    assert found == [1, 0, 0]
    assert "127.0.0.1 is not let in as a slave: no descriptor is left for it" in caplog.text


async def test_slave_that_acknowledges_more_than_it_was_sent_is_thrown_out(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    store = open_store(small_config(tmp_path))
    put_all(store, range(5))
    store.write(START_MS)
    links = Links(behind_max=1, timeout_ms=1)

    with caplog.at_level(logging.WARNING):
        came = await asked(store, links, 0, store.written_offset + 1)
    end = store.written_offset
    store.close(START_MS)

    assert HEADER.unpack_from(came)[0] == 0
    assert links.links == []
    assert f"it acknowledges {end + 1} after 0, and {end} was sent" in caplog.text


async def test_slave_of_a_newer_promotion_tells_its_epoch_and_is_let_go(tmp_path: Path) -> None:
    store = open_store(small_config(tmp_path))
    links = Links(behind_max=1, timeout_ms=1)

    heard: list[int] = []
    server = SlaveServer(
        store,
        links,
        settings=SendingSettings(batch_size=1_000, heartbeat_ms=50, housekeeping_ms=60_000),
        clock=SystemClock(),
        may_connect=lambda ip, local_ip: True,
        refused_hint="slaveAddresses",
        heard_epoch=lambda epoch, address: heard.append(epoch),
    )
    port = await server.start("127.0.0.1", 0)
    await tell_epoch(f"127.0.0.1:{port}", 1_795_000_000_000)
    await server.stop()
    heard = heard
    store.close(START_MS)

    assert heard == [1_795_000_000_000]
    assert links.links == []
