"""What the connections of a server hold together: charged, bounded, and given back."""

import asyncio
import struct

import pytest

from remoting.aio.resources import Budget, Places, Resources
from remoting.aio.server import ServerConn
from remoting.aio.tls import ServerTls
from remoting.command import Command
from remoting.frame import FRAME_SIZE_MAX
from tests.remoting.aio.peers import Desk, echo, read_commands, request
from tests.waiting import until

MIB = 1 << 20
UNFINISHED = struct.pack(">iI", FRAME_SIZE_MAX, 0)


def desk_of(budget: Budget, answer=echo, *, places: Places | None = None, **options) -> Desk:
    return Desk(answer, resources=Resources(places or Places(), budget), **options)


async def closed(reader: asyncio.StreamReader) -> bool:
    """Wait for the end of a connection; True however it came."""
    try:
        return await reader.read() == b""
    except ConnectionError:
        return True


@pytest.mark.parametrize("tls", [None, ServerTls()])
async def test_unfinished_frames_beyond_the_budget_close_who_holds_most(
    tls: ServerTls | None,
) -> None:
    options = {} if tls is None else {"tls": tls}

    budget = Budget(8 * MIB)
    async with desk_of(budget, **options) as desk:
        _, small = await desk.plain_peer()
        small.write(UNFINISHED + bytes(MIB))
        await until(lambda: budget.used_size == MIB + 8)
        peers = [await desk.plain_peer() for _ in range(6)]
        for number, (_, writer) in enumerate(peers):
            writer.write(UNFINISHED + bytes((3 if number == 5 else 1) * MIB))
        await until(lambda: len(desk.closed) == 1)
        assert await closed(peers[5][0])
        assert budget.used_size <= 7 * MIB
        # Everybody else goes on, and an answered frame is nobody's charge any more.
        small.transport.abort()
        for _, writer in peers[:5]:
            writer.transport.abort()
        await until(lambda: len(desk.closed) == 7)
        assert budget.used_size == 0
        await desk.answered_peer(request(body=bytes(2 * MIB)))
        await until(lambda: budget.used_size == 0)


async def test_unread_answers_are_charged_to_their_peer_and_released() -> None:
    def answer(conn: ServerConn, cmd: Command) -> None:
        conn.send_command(cmd.response(body=bytes(12 * MIB)))

    budget = Budget(64 * MIB)
    async with desk_of(budget, answer) as desk:
        reader, writer = await desk.plain_peer()
        writer.write(request())
        await until(lambda: budget.used_size > MIB)
        assert budget.used_size == desk.conns[0].held_size == desk.conns[0].unsent_size
        await read_commands(reader, 1)
        writer.write(request()[:9])
        await until(lambda: desk.conns[0].waiting_size == 9)
        assert budget.used_size == 9
        writer.close()
        await until(lambda: budget.used_size == 0)


async def test_peers_that_do_not_read_beyond_the_budget_are_closed() -> None:
    def answer(conn: ServerConn, cmd: Command) -> None:
        conn.send_command(cmd.response(body=bytes(15 * MIB)))

    budget = Budget(32 * MIB)
    async with desk_of(budget, answer) as desk:
        peers = [await desk.plain_peer() for _ in range(4)]
        for _, writer in peers:
            writer.write(request())
        await until(lambda: len(desk.conns) == 4)
        await until(lambda: len(desk.closed) >= 2)
        assert budget.used_size <= budget.size_max
        for _, writer in peers:
            writer.transport.abort()
        await until(lambda: len(desk.closed) == 4)
        assert budget.used_size == 0


async def test_what_the_owner_keeps_for_a_peer_is_charged_until_it_is_gone() -> None:
    budget = Budget(8 * MIB)
    async with desk_of(budget) as desk:
        _, writer, _ = await desk.answered_peer(request())
        (conn,) = desk.conns
        sizes = []
        for size in (5_000, 3_000, -5_000):
            conn.count_held(size)
            sizes.append(budget.used_size)
        writer.close()
        await until(lambda: len(desk.closed) == 1)
        assert [*sizes, budget.used_size] == [5_000, 8_000, 3_000, 0]


async def test_a_connection_for_which_there_is_no_descriptor_is_closed_and_a_place_comes_free() -> (
    None
):
    places = Places(2)
    async with desk_of(Budget(), places=places, tls=ServerTls()) as desk:
        _, first = await desk.plain_peer()
        _, second = await desk.plain_peer()
        await until(lambda: places.count == 2)
        third_reader, third = await desk.plain_peer()
        assert await closed(third_reader)
        first.close()
        await until(lambda: places.count == 1)
        reader, writer = await desk.plain_peer()
        writer.write(request())
        await read_commands(reader, 1)
        for one in (second, third, writer):
            one.close()
        await until(lambda: places.count == 0)


async def test_a_header_that_is_too_long_closes_before_its_bytes_come() -> None:
    budget = Budget(8 * MIB)
    async with desk_of(budget) as desk:
        reader, writer = await desk.plain_peer()
        writer.write(struct.pack(">iI", 11 * MIB + 4, 11 * MIB))
        assert await closed(reader)
        assert budget.used_size == 0
        assert len(desk.closed) == 1
