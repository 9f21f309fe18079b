"""Peers for the loopback tests: servers that answer oddly, clients that behave badly."""

import asyncio
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager
from typing import Any, TypeVar

from mqserver.runtime.program import event_loop
from remoting.aio.client import RemotingClient
from remoting.aio.server import RemotingServer, ServerConn
from remoting.command import Command
from remoting.frame import FrameReader, RawFrame, decode_frame, encode_frame

_T = TypeVar("_T")
LIMIT_S = 60.0
"""No test waits longer than this for anything; none should wait at all."""


def run(coroutine: Coroutine[object, object, _T]) -> _T:
    """Run a test's coroutine; a task left behind or an unseen error fails the test."""
    unseen: list[dict] = []

    async def guarded() -> _T:
        loop = asyncio.get_running_loop()
        loop.set_exception_handler(lambda _, context: unseen.append(context))
        async with asyncio.timeout(LIMIT_S):
            result = await coroutine
        left = asyncio.all_tasks() - {asyncio.current_task()}
        assert not left, f"tasks left behind: {left}"
        return result

    result = event_loop.run(guarded())
    assert unseen == []
    return result


def request(opaque: int = 0, body: bytes = b"") -> bytes:
    return encode_frame(Command(code=34, opaque=opaque, body=body))


class Desk:
    """A server whose every frame goes to one function; remembers who came and went."""

    def __init__(self, answer: Callable[[ServerConn, Command], None], **options: float) -> None:
        self.closed: list[ServerConn] = []
        self.conns: list[ServerConn] = []
        self._answer = answer
        self._peers: list[asyncio.StreamWriter] = []
        self.server = RemotingServer(
            on_frame=self._on_frame,
            on_close=self.closed.append,
            **options,  # type: ignore[arg-type]
        )
        self.port = 0

    def _on_frame(self, conn: ServerConn, raw: RawFrame) -> None:
        if conn not in self.conns:
            self.conns.append(conn)
        self._answer(conn, decode_frame(raw))

    @property
    def address(self) -> str:
        return f"127.0.0.1:{self.port}"

    async def __aenter__(self) -> "Desk":
        self.port = await self.server.start("127.0.0.1", 0)
        return self

    async def __aexit__(self, *_: object) -> None:
        for writer in self._peers:
            writer.close()
        await self.server.stop()

    async def plain_peer(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        """Connect without any of our code; the end of the desk closes the connection."""
        reader, writer = await asyncio.open_connection("127.0.0.1", self.port)
        self._peers.append(writer)
        return reader, writer

    async def answered_peer(
        self, *requests: bytes
    ) -> tuple[asyncio.StreamReader, asyncio.StreamWriter, list[Command]]:
        """Connect a plain peer that has the answer to each of its requests, and return these."""
        reader, writer = await self.plain_peer()
        writer.write(b"".join(requests))
        return reader, writer, await read_commands(reader, len(requests))


@asynccontextmanager
async def served(
    answer: Callable[[ServerConn, Command], None], **options: Any
) -> AsyncIterator[tuple[Desk, RemotingClient]]:
    """Run a server and a client with these options; both are closed in the end."""
    async with Desk(answer) as desk:
        client = RemotingClient(**options)
        try:
            yield desk, client
        finally:
            await client.close()


def echo(conn: ServerConn, request: Command) -> None:
    """Answer a request with its own body and fields."""
    if not request.is_oneway:
        response = request.response(body=request.body)
        response.ext = dict(request.ext)
        conn.send_command(response)


async def read_commands(reader: asyncio.StreamReader, count: int) -> list[Command]:
    """Read that many commands from a plain connection."""
    frames = FrameReader()
    found: list[Command] = []
    while len(found) < count:
        data = await reader.read(65_536)
        assert data, f"closed after {len(found)} of {count} frames"
        found += [decode_frame(raw) for raw in frames.feed(data)]
    return found
