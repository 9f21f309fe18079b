"""Requests that come faster than they are handled wait, and other connections have their share."""

import asyncio

import pytest

from remoting.aio.resources import Budget, Places, Resources
from remoting.aio.server import ServerConn
from remoting.aio.tls import ServerTls
from remoting.aio.turns import SLICE_S, Turns
from remoting.command import Command
from remoting.frame import encode_frame
from tests.remoting.aio.peers import Desk, echo, read_commands, request
from tests.waiting import until

COUNT = 1_000
GARBAGE = b"GET / HTTP/1.1\r\n\r\n"


class SlowDesk(Desk):
    """A server whose requests each take half of a slice, by a clock of its own."""

    def __init__(self, **options: object) -> None:
        self.time_s = 1.0
        self.handled: list[tuple[ServerConn, int]] = []
        resources = Resources(Places(), Budget(), Turns(lambda: self.time_s))
        super().__init__(self._slowly, resources=resources, **options)  # type: ignore[arg-type]

    def _slowly(self, conn: ServerConn, cmd: Command) -> None:
        self.time_s += SLICE_S / 2
        self.handled.append((conn, cmd.opaque))
        echo(conn, cmd)


def many(count: int = COUNT) -> bytes:
    return b"".join(map(request, range(count)))


async def test_flood_of_one_connection_lets_another_have_its_answer() -> None:
    async with SlowDesk() as desk:
        flood, flooding = await desk.plain_peer()
        quiet, asking = await desk.plain_peer()
        flooding.write(many())
        await until(lambda: len(desk.handled) > 0)
        asking.write(request(7))

        await read_commands(quiet, 1)

        assert len(desk.handled) < COUNT
        answers = await read_commands(flood, COUNT)
        assert [answer.opaque for answer in answers] == list(range(COUNT))


async def test_nothing_is_read_from_a_connection_whose_requests_wait() -> None:
    async with SlowDesk() as desk:
        reader, writer = await desk.plain_peer()
        writer.write(many())
        await until(lambda: len(desk.handled) > 0)
        (conn,) = desk.conns
        charged = conn.held_size
        writer.write(many())

        answers = await read_commands(reader, 2 * COUNT)

        assert charged > 0
        assert [answer.opaque for answer in answers] == 2 * list(range(COUNT))
        await until(lambda: conn.held_size == 0)
        assert [opaque for _, opaque in desk.handled] == 2 * list(range(COUNT))


@pytest.mark.parametrize("tls", [None, ServerTls()], ids=["plain", "tls"])
async def test_requests_before_bytes_that_are_no_frame_are_answered(tls: ServerTls | None) -> None:
    options = {} if tls is None else {"tls": tls}
    async with SlowDesk(**options) as desk:
        reader, writer = await desk.plain_peer()
        writer.write(many(100) + GARBAGE)

        answers = await read_commands(reader, 100)

        assert len(answers) == 100
        assert await reader.read() == b""
        await until(lambda: len(desk.closed) == 1)


async def test_requests_that_wait_end_with_their_connection() -> None:
    async with SlowDesk() as desk:
        _, writer = await desk.plain_peer()
        writer.write(many())
        await until(lambda: len(desk.handled) > 0)
        (conn,) = desk.conns
        conn.abort()
        count = len(desk.handled)
        await until(lambda: desk.closed == [conn])

        assert (len(desk.handled), conn.held_size) == (count, 0)
        *_, answers = await desk.answered_peer(request(3))
        assert [answer.opaque for answer in answers] == [3]


async def test_plain_sends_behind_requests_that_wait_do_not_overtake_them() -> None:
    """What the compiled path would take at once waits as well."""
    async with SlowDesk() as desk:
        taken: list[int] = []

        def take(conn: ServerConn, data: bytes) -> int:
            taken.append(len(desk.handled))
            return 0

        desk.server.on_bytes = take
        reader, writer = await desk.plain_peer()
        writer.write(many())
        await until(lambda: len(desk.handled) > 0)
        writer.write(encode_frame(Command(code=34, opaque=5)))

        await read_commands(reader, COUNT + 1)

        assert all(count in (0, COUNT) for count in taken)
        await asyncio.sleep(0)
