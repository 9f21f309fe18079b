"""The way to the servers: one client per address list, with an event loop or without.

    run_coroutine(work, direct=True)  main thread alone, blocking sockets, gone when it ends
    run_coroutine(work)               the loop of ``loop_thread.py``, whose connections are kept

A command that is declared ``direct`` sends one request after another and does not need a loop,
which takes longer to load than most requests take. If a loop runs anyway, as in the shell once it
completes names, every command uses it.

Rule: nothing is started before the first request; a one-shot command and the shell use the same
code, except that the shell keeps its connections.
"""

from collections.abc import Callable, Coroutine
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeVar

from mqadmin.session.tls_files import TlsFiles

if TYPE_CHECKING:
    from concurrent.futures import Future

    from mqadmin.session.loop_thread import LoopThread
    from mqclient.client.instance import MQClient
    from remoting.aio.client import OnExchange
    from remoting.command import Command
    from remoting.errors import RemotingError

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class ServerTarget:
    """The servers to connect to, and as whom; the key of kept clients.

    ``namesrv`` is empty if only one broker is asked, by its address.
    """

    namesrv: str
    timeout_s: float
    access_key: str | None
    secret_key: str | None = field(repr=False)
    address_map: tuple[tuple[str, str], ...] = ()
    tls: TlsFiles | None = None


class ServerLink:
    """Runs coroutines and keeps connections between commands.

    Attributes:
        observer: is called with every request of every client, for ``--explain``.
    """

    def __init__(self) -> None:
        self._thread: LoopThread | None = None
        self._clients: dict[ServerTarget, MQClient] = {}
        self._direct: dict[ServerTarget, MQClient] | None = None
        self.observer: OnExchange | None = None

    def run_coroutine(
        self, work: Callable[[], Coroutine[None, None, T]], *, direct: bool = False
    ) -> T:
        """Run the coroutine that ``work`` makes and return its result; Ctrl-C cancels it.

        Args:
            direct: it only waits for requests, so it may run without a loop.
        """
        if direct and self._thread is None:
            return self._run_direct(work)
        return self._started().run_coroutine(work)

    def submit(self, work: Coroutine[None, None, T]) -> "Future[T]":
        """Start ``work`` in the loop and return at once."""
        return self._started().submit(work)

    async def ask_in_main_thread(self, question: Callable[[], bool]) -> bool:
        """Have ``question`` called in the main thread; for coroutines inside ``run_coroutine``."""
        if self._direct is not None:
            return question()
        return await self._started().ask_in_main_thread(question)

    async def client(self, target: ServerTarget) -> "MQClient":
        """Return the client for ``target``, started on first use."""
        from mqclient.client.instance import MQClient

        clients = self._clients if self._direct is None else self._direct
        client = clients.get(target)
        if client is None:
            client = MQClient(
                target.namesrv or None,
                timeout_s=target.timeout_s,
                access_key=target.access_key,
                secret_key=target.secret_key,
                address_map=dict(target.address_map),
                tls=target.tls.client_tls() if target.tls is not None else None,
                on_exchange=self._observe,
                direct=self._direct is not None,
            )
            clients[target] = await client.__aenter__()
        return client

    def close(self) -> None:
        """Close all connections and stop the loop."""
        thread, self._thread = self._thread, None
        if thread is not None:
            thread.stop(self._close_clients())

    def _run_direct(self, work: Callable[[], Coroutine[None, None, T]]) -> T:
        # Only ``direct`` commands come this way.
        from remoting.direct import drive

        clients = self._direct = {}
        coroutine = work()
        try:
            return drive(coroutine)
        finally:
            # Ctrl-C may have come before its first step.
            coroutine.close()
            self._direct = None
            for client in clients.values():
                drive(client.close())

    async def _close_clients(self) -> None:
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

    def _started(self) -> "LoopThread":
        if self._thread is None:
            # Loading asyncio takes a third as long as the rest of a command.
            from mqadmin.session.loop_thread import LoopThread

            self._thread = LoopThread()
        return self._thread
