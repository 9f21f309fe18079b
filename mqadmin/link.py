"""The way to the servers: one event loop in a thread, one client per address list.

    main thread                       loop thread
    run(coroutine) ---- submit ---->  MQClient (keep-alive)
         |  <---- question, result ----  |

The main thread waits on a queue, so that Ctrl-C reaches it and cancels the coroutine, and
so that a command in the loop can have a question asked where standard input belongs.

Rule: nothing is started before the first request; a one-shot command and the shell use
the same code, the shell just keeps it.
"""

import asyncio
import threading
from collections.abc import Callable, Coroutine
from concurrent.futures import Future
from dataclasses import dataclass, field
from queue import SimpleQueue
from typing import TYPE_CHECKING, Generic, TypeVar

from mqadmin.tlsfiles import TlsFiles

if TYPE_CHECKING:
    from mqclient.instance import MQClient
    from remoting.aio.client import OnExchange
    from remoting.command import Command
    from remoting.errors import RemotingError

T = TypeVar("T")

STOP_WAIT_S = 2.0


@dataclass(frozen=True, slots=True)
class Target:
    """Whom to talk to, as whom; clients are kept by this."""

    namesrv: str
    timeout_s: float
    access_key: str | None
    secret_key: str | None = field(repr=False)
    address_map: tuple[tuple[str, str], ...] = ()
    tls: TlsFiles | None = None


@dataclass(frozen=True, slots=True)
class Question(Generic[T]):
    """Something that the loop wants done in the main thread."""

    ask: Callable[[], T]
    answer: "asyncio.Future[T]"


class Link:
    """Runs coroutines and keeps connections between commands.

    Attributes:
        observer: told of every request of every client, for ``--explain``.
    """

    def __init__(self) -> None:
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None
        self._clients: dict[Target, MQClient] = {}
        self._inbox: SimpleQueue[Question[bool] | None] = SimpleQueue()
        self.observer: OnExchange | None = None

    def run(self, work: Coroutine[None, None, T]) -> T:
        """Run ``work`` in the loop and return its result; Ctrl-C cancels it."""
        # A queue of this run alone: one that was cancelled may still report its end.
        inbox = self._inbox = SimpleQueue()
        future = self.submit(work)
        future.add_done_callback(lambda _: inbox.put(None))
        try:
            while (question := inbox.get()) is not None:
                self._answer(question)
        except KeyboardInterrupt:
            future.cancel()
            raise
        return future.result()

    def submit(self, work: Coroutine[None, None, T]) -> "Future[T]":
        """Start ``work`` in the loop and return at once."""
        return asyncio.run_coroutine_threadsafe(work, self._started())

    async def ask(self, question: Callable[[], bool]) -> bool:
        """Have ``question`` called in the main thread; for coroutines inside ``run``."""
        answer: asyncio.Future[bool] = asyncio.get_running_loop().create_future()
        self._inbox.put(Question(question, answer))
        return await answer

    async def client(self, target: Target) -> "MQClient":
        """Return the client for ``target``, started on first use."""
        from mqclient.instance import MQClient

        client = self._clients.get(target)
        if client is None:
            client = MQClient(
                target.namesrv,
                timeout_s=target.timeout_s,
                access_key=target.access_key,
                secret_key=target.secret_key,
                address_map=dict(target.address_map),
                tls=target.tls.client_tls() if target.tls is not None else None,
                on_exchange=self._observe,
            )
            self._clients[target] = await client.__aenter__()
        return client

    def close(self) -> None:
        """Close all connections and stop the loop."""
        loop, thread = self._loop, self._thread
        if loop is None or thread is None:
            return
        closing = self.submit(self._close_clients())
        try:
            closing.result(STOP_WAIT_S)
        finally:
            loop.call_soon_threadsafe(loop.stop)
            thread.join(STOP_WAIT_S)
            loop.close()
            self._loop = self._thread = None

    async def _close_clients(self) -> None:
        for task in asyncio.all_tasks() - {asyncio.current_task()}:
            task.cancel()
        clients, self._clients = self._clients, {}
        for client in clients.values():
            await client.__aexit__(None, None, None)

    def _observe(
        self,
        address: str,
        request: "Command",
        answer: "Command | RemotingError | None",
        elapsed_ms: float,
    ) -> None:
        if self.observer is not None:
            self.observer(address, request, answer, elapsed_ms)

    def _answer(self, question: Question[bool]) -> None:
        said = question.ask()
        loop = self._started()
        loop.call_soon_threadsafe(_settle, question.answer, said)

    def _started(self) -> asyncio.AbstractEventLoop:
        if self._loop is None:
            self._loop = asyncio.new_event_loop()
            self._thread = threading.Thread(
                target=self._loop.run_forever, name="mqadmin-loop", daemon=True
            )
            self._thread.start()
        return self._loop


def _settle(answer: "asyncio.Future[bool]", said: bool) -> None:
    if not answer.done():
        answer.set_result(said)
