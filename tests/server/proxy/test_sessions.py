"""Sessions of gRPC clients: what they cost, when they end, and what needs none of them."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

import pytest

from mqclient.client.instance import MQClient
from mqserver.proxy.clients.sessions import (
    LINK_SHARE,
    SESSIONS_PER_CONNECTION,
    Sessions,
)
from mqserver.proxy.clients.telemetry_commands import COMMANDS_MAX, CommandQueue
from mqserver.proxy.clients.transactions import Transactions
from mqserver.proxy.cluster import Cluster
from mqserver.proxy.context import ProxyContext
from mqserver.proxy.grpc_status import ProxyRefused
from mqserver.proxy.protocol.codes import Code
from mqserver.proxy.protocol.definitions import Publishing, Settings
from mqserver.proxy.protocol.requests import TelemetryCommand
from mqserver.proxy.proxy_config import ProxyConfig
from remoting.aio import costs
from remoting.aio.resources import Budget, Places, Resources


class Connection:
    """A connection of a client, as sessions see it."""

    def __init__(self) -> None:
        self.is_full = False
        self.ip = "1.2.3.4"
        self.endings: dict[object, Callable[[], None]] = {}
        self.lingering_count = 0
        self.share_size = 1 << 20

    def end(self) -> None:
        for ending in list(self.endings.values()):
            ending()


def context(connection: Connection, client_id: str = "c") -> ProxyContext:
    return ProxyContext(client_id, "JAVA", "5.0.7", "1.2.3.4:5", None, None, connection)  # type: ignore[arg-type]


@asynccontextmanager
async def table(resources: Resources | None = None) -> AsyncIterator[Sessions]:
    async with MQClient("127.0.0.1:1") as client:
        cluster, config = Cluster(client), ProxyConfig()
        transactions = Transactions(config, client.now_ms)
        sessions = Sessions(config, cluster, transactions, resources=resources or Resources())
        yield sessions
        await sessions.close()
        await cluster.close()


async def test_a_call_alone_keeps_no_session() -> None:
    async with table() as sessions:
        for number in range(1_000):
            sessions.of(context(Connection(), str(number)))

        assert sessions.count == 0


async def test_settings_are_charged_also_when_they_change() -> None:
    budget = Budget()
    async with table(Resources(budget=budget)) as sessions:
        session = sessions.of(context(Connection()))
        for size in (3_000_000, 1_000_000):
            session.note_settings(Settings(publishing=Publishing()), size)
            sessions.add_session(session)

            assert budget.used_size == costs.SESSION.size + size


async def test_a_connection_has_a_limit_of_sessions_and_takes_them_with_it() -> None:
    budget, connection = Budget(), Connection()
    async with table(Resources(budget=budget)) as sessions:
        for number in range(SESSIONS_PER_CONNECTION):
            sessions.add_session(sessions.of(context(connection, str(number))))
        used_size = budget.used_size

        with pytest.raises(ProxyRefused, match="too many gRPC clients") as refused:
            sessions.add_session(sessions.of(context(connection, "one more")))
        sessions.add_session(sessions.of(context(Connection(), "elsewhere")))
        connection.end()

        assert refused.value.code is Code.TOO_MANY_REQUESTS
        assert used_size >= SESSIONS_PER_CONNECTION * 16_384
        assert sessions.count == 1
        assert budget.used_size < 2 * 17_000


async def test_a_session_with_messages_outlives_its_connection_until_it_is_silent() -> None:
    connection = Connection()
    async with table() as sessions:
        session = sessions.of(context(connection))
        sessions.add_session(session)
        session.renewals._watched["key"] = None  # type: ignore[index,assignment]
        connection.end()
        kept = sessions.count
        session.renewals._watched.clear()

        await sessions.heartbeats(session.seen_ms + 121_000)

        assert kept == 1
        assert sessions.count == 0


async def test_sessions_are_closed_when_the_memory_is_short() -> None:
    budget = Budget(10 * 16_384)
    async with table(Resources(budget=budget)) as sessions:
        for number in range(12):
            sessions.add_session(sessions.of(context(Connection(), str(number))))

        assert sessions.count < 10
        assert budget.used_size <= budget.size_max


async def test_connections_to_brokers_are_counted_and_given_back_with_the_stream() -> None:
    places, connection = Places(4 * LINK_SHARE), Connection()
    async with table(Resources(places=places)) as sessions:
        kept = [sessions.of(context(connection, str(number))) for number in range(5)]
        for session in kept:
            sessions.add_session(session)
            without_a_stream = session._link_to("127.0.0.1:1")
            session.commands = CommandQueue(lambda size: None)
        links = [session._link_to("127.0.0.1:1") for session in kept[:4]]

        with pytest.raises(ProxyRefused, match="no descriptor is left"):
            kept[4]._link_to("127.0.0.1:1")
        count = places.count
        for session in kept:
            sessions.stream_ended(session)
        await sessions.close()

        assert without_a_stream not in links
        assert (count, places.count) == (4, 0)


async def test_a_client_that_does_not_read_its_commands_is_not_read_from() -> None:
    held: list[int] = []
    queue, written = CommandQueue(held.append), []
    may_write = asyncio.Event()

    async def write(data: bytes) -> None:
        await may_write.wait()
        written.append(data)

    taken = [queue.queue_command(TelemetryCommand()) for _ in range(COMMANDS_MAX + 1)]
    room = asyncio.create_task(queue.wait_for_room())
    writing = asyncio.create_task(queue.write_all(write))
    for _ in range(3):
        await asyncio.sleep(0)
    had_room = room.done()
    may_write.set()
    await room
    while len(written) < COMMANDS_MAX:
        await asyncio.sleep(0)

    assert taken == [True] * COMMANDS_MAX + [False]
    assert not had_room
    assert sum(held) == 0
    writing.cancel()
