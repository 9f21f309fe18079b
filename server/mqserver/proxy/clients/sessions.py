"""The clients of the proxy: which sessions are kept, for how long, and who is charged for them.

    of    the session that is kept for a client, or one for this call alone
    add_session: SESSIONS_PER_CONNECTION, SESSIONS_PER_ADDRESS, bytes ──> a session in the table
    its Telemetry stream ends ──────── it leaves its groups, its connections to brokers are closed
    goodbye, its connection ends ───── it is forgotten; while messages of it are hidden longer, only
                                       after client_idle_ms, and then they are visible soon

Source: ours; 5.4.0's proxy keeps what clients send until they are silent for two minutes.
"""

import asyncio
import logging
from collections import Counter
from collections.abc import Awaitable, Callable, Coroutine, Iterator
from functools import partial
from typing import Any, Final

from mqserver.proxy.clients.session import ClientSession, SessionKey, key_of
from mqserver.proxy.clients.transactions import Transactions
from mqserver.proxy.cluster import Cluster
from mqserver.proxy.context import ProxyContext
from mqserver.proxy.grpc_status import ProxyRefused
from mqserver.proxy.http2.stream import StreamConnection
from mqserver.proxy.protocol.codes import Code
from mqserver.proxy.proxy_config import ProxyConfig
from remoting.aio.lanes import FairLane
from remoting.aio.resources import Places, Resources

LOG = logging.getLogger(__name__)

SESSIONS_PER_CONNECTION: Final = 256
SESSIONS_PER_ADDRESS: Final = 4_096
LINK_SHARE: Final = 4
"""The connections of all clients to brokers use at most one in this many descriptors."""
AT_ONCE: Final = 16
"""How many sessions send heartbeats, renew or leave at a time."""


class _Entry:
    """A session in the table, as the budget sees it.

    Args:
        session: the client.
        end: forgets it.
    """

    def __init__(self, session: ClientSession, end: Callable[[], None]) -> None:
        self.session = session
        self.ip = session.ip
        self.give_way = end

    def __str__(self) -> str:
        return f"the session of gRPC client {self.session.client_id}"

    @property
    def held_size(self) -> int:
        """The bytes that it takes."""
        return self.session.held_size


class Sessions:
    """All clients of one proxy.

    Args:
        config: the settings of the proxy.
        cluster: the brokers.
        transactions: the transactions that are not ended.
        resources: the descriptors and the memory that are shared with others.
    """

    def __init__(
        self,
        config: ProxyConfig,
        cluster: Cluster,
        transactions: Transactions,
        *,
        resources: Resources,
    ) -> None:
        self._config = config
        self._cluster = cluster
        self._transactions = transactions
        self._budget = resources.budget
        self._links = _Links(resources.places)
        self._known: dict[SessionKey, _Entry] = {}
        self._counts: Counter[str] = Counter()
        """The sessions of each address."""
        self._of_connection: dict[StreamConnection, set[SessionKey]] = {}
        self._leaving: set[asyncio.Task[None]] = set()
        self._lane = FairLane(AT_ONCE)

    @property
    def count(self) -> int:
        """The sessions that are kept."""
        return len(self._known)

    def of(self, context: ProxyContext) -> ClientSession:
        """Return the session of the client that calls: the one that is kept, or one for the call.

        A call needs no memory of others, so its session is kept only by ``add_session``.
        """
        entry = self._known.get(key_of(context))
        if entry is None:
            return ClientSession(
                context, self._config, self._cluster, self._transactions, self._links
            )
        session = entry.session
        session.seen_ms = self._cluster.client.now_ms()
        if session.connection is not context.connection:
            self._attach(session, context.connection)
        return session

    def add_session(self, session: ClientSession) -> None:
        """Keep a session until its connection ends or it says goodbye, and charge its bytes.

        Raises:
            ProxyRefused: its connection or its address has too many.
        """
        entry = self._known.get(session.key) or self._enter(session)
        self._budget.charge(entry, entry.held_size)

    def _enter(self, session: ClientSession) -> _Entry:
        count = len(self._of_connection.get(session.connection, ())) if session.connection else 0
        if count >= SESSIONS_PER_CONNECTION or self._counts[session.ip] >= SESSIONS_PER_ADDRESS:
            text = (
                f"too many gRPC clients: one connection may have {SESSIONS_PER_CONNECTION} and "
                f"one address {SESSIONS_PER_ADDRESS}"
            )
            raise ProxyRefused(Code.TOO_MANY_REQUESTS, text)
        entry = _Entry(session, partial(self._end_soon, session.key))
        self._known[session.key] = entry
        self._counts[session.ip] += 1
        self._attach(session, session.connection)
        return entry

    def stream_ended(self, session: ClientSession) -> None:
        """Let a client leave its groups, since its Telemetry stream has ended."""
        session.commands = None
        self._do_soon(session.ip, session.leave())

    async def end(self, context: ProxyContext) -> None:
        """Forget a client that says goodbye."""
        session = self._forget(key_of(context))
        if session is not None:
            await session.close()

    async def heartbeats(self, now_ms: int) -> None:
        """Send the heartbeats of all clients, and forget those that were silent for too long."""

        async def beat(session: ClientSession) -> None:
            is_silent = now_ms - session.seen_ms > self._config.client_idle_ms
            if session.commands is None and is_silent:
                LOG.info("gRPC client %s was silent for too long", session.client_id)
                self._end_soon(session.key)
            elif session.commands is not None:
                await session.heartbeat()
            entry = self._known.get(session.key)
            if entry is not None:
                self._budget.charge(entry, entry.held_size)

        await self._for_each(beat)

    async def renew(self, now_ms: int) -> None:
        """Extend the invisible time of messages that clients still work on."""
        await self._for_each(lambda session: session.renewals.renew(now_ms))

    async def _for_each(self, work: Callable[[ClientSession], Awaitable[None]]) -> None:
        """Call ``work`` for each session, a few at a time, so that a slow one delays no other."""

        async def some(sessions: Iterator[ClientSession]) -> None:
            for session in sessions:
                await work(session)

        sessions = iter([entry.session for entry in self._known.values()])
        await asyncio.gather(*(some(sessions) for _ in range(AT_ONCE)))

    async def close(self) -> None:
        """End every session."""
        for key in list(self._known):
            self._end_soon(key)
        while self._leaving:
            await asyncio.gather(*self._leaving, return_exceptions=True)

    def _attach(self, session: ClientSession, connection: StreamConnection | None) -> None:
        """Note on which connection a client calls."""
        self._detach(session)
        session.connection = connection
        if connection is not None:
            if connection not in self._of_connection:
                self._of_connection[connection] = set()
                connection.endings[self] = partial(self._connection_ended, connection)
            self._of_connection[connection].add(session.key)

    def _detach(self, session: ClientSession) -> None:
        if session.connection is not None:
            self._of_connection.get(session.connection, set()).discard(session.key)

    def _connection_ended(self, connection: StreamConnection) -> None:
        for key in self._of_connection.pop(connection, set()):
            entry = self._known.get(key)
            if entry is None or entry.session.connection is not connection:
                continue
            entry.session.connection = None
            if not entry.session.renewals.watched_count:
                self._end_soon(key)

    def _end_soon(self, key: SessionKey) -> None:
        session = self._forget(key)
        if session is not None:
            self._do_soon(session.ip, session.close())

    def _forget(self, key: SessionKey) -> ClientSession | None:
        entry = self._known.pop(key, None)
        if entry is None:
            return None
        session = entry.session
        self._budget.charge(entry, 0)
        self._counts[session.ip] -= 1
        if not self._counts[session.ip]:
            del self._counts[session.ip]
        self._detach(session)
        return session

    def _do_soon(self, ip: str, work: Coroutine[Any, Any, None]) -> None:
        async def in_turn() -> None:
            async with self._lane.turn(ip):
                await work

        task = asyncio.create_task(in_turn())
        self._leaving.add(task)
        task.add_done_callback(self._leaving.discard)


class _Links(Places):
    """The descriptors for connections to brokers, a share of those of the process.

    Args:
        places: those of the process.
    """

    def __init__(self, places: Places) -> None:
        super().__init__(max(1, places.count_max // LINK_SHARE))
        self._places = places

    def reserve(self) -> bool:
        """Reserve a descriptor; return False if such connections use all of their share."""
        if not super().reserve():
            return False
        if not self._places.reserve():
            super().give_back()
            return False
        return True

    def give_back(self) -> None:
        """Give a descriptor back."""
        super().give_back()
        self._places.give_back()
