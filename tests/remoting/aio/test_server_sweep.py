"""The sweep: what was silent, unfinished or deaf for too long is closed. Time is the test's."""

import contextlib

from remoting.aio.server import HANDSHAKE_S, ServerConn
from remoting.aio.tls import ServerTls
from remoting.command import Command
from tests.remoting.aio.peers import Desk, echo, read_commands, request
from tests.waiting import until

MIB = 1024 * 1024


async def test_sweep_closes_what_is_idle_and_keeps_what_moves() -> None:
    async with Desk(echo, idle_s=120) as desk:
        reader, _ = await desk.plain_peer()
        busy_reader, busy = await desk.plain_peer()
        await until(lambda: len(list(desk.server.connections)) == 2)
        desk.server.sweep(1_000.0)
        busy.write(request(1))
        await read_commands(busy_reader, 1)
        desk.server.sweep(1_119.0)
        assert len(list(desk.server.connections)) == 2
        desk.server.sweep(1_120.0)
        assert await reader.read() == b""
        await until(lambda: len(list(desk.server.connections)) == 1)
        desk.server.sweep(1_240.0)
        assert await busy_reader.read() == b""


async def test_sweep_keeps_a_slow_reader_as_long_as_it_takes_something() -> None:
    def answer(conn: ServerConn, cmd: Command) -> None:
        conn.send_command(cmd.response(body=bytes(16 * MIB - 1000)))

    async with Desk(answer, idle_s=120) as desk:
        reader, writer = await desk.plain_peer()
        writer.write(request(1))
        await until(lambda: bool(desk.conns) and desk.conns[0].write_paused)
        conn = desk.conns[0]
        desk.server.sweep(0.0)
        before = conn.unsent_size
        while conn.unsent_size == before:
            await reader.read(65_536)
        desk.server.sweep(120.0)
        assert not conn.is_closing
        left = conn.unsent_size
        desk.server.sweep(240.0)
        assert conn.is_closing or conn.unsent_size != left
        conn.abort()


async def test_sweep_closes_a_frame_that_never_ends() -> None:
    async with Desk(echo, partial_frame_s=30) as desk:
        reader, writer = await desk.plain_peer()
        writer.write(request(1) + request(2)[:-1])
        await read_commands(reader, 1)
        desk.server.sweep(0.0)
        writer.write(request(2)[-1:] + request(3)[:10])
        await read_commands(reader, 1)
        # Another frame is unfinished now, so its time begins anew.
        desk.server.sweep(29.0)
        desk.server.sweep(31.0)
        assert desk.closed == []
        desk.server.sweep(59.0)
        assert await reader.read() == b""


async def test_sweep_does_not_blame_a_connection_between_frames() -> None:
    async with Desk(echo, partial_frame_s=30) as desk:
        reader, writer, _ = await desk.answered_peer(request(1))
        desk.server.sweep(0.0)
        desk.server.sweep(31.0)
        writer.write(request(2)[:9])
        await until(lambda: desk.conns[0].waiting_size == 9)
        desk.server.sweep(60.0)
        desk.server.sweep(61.0)
        assert not desk.conns[0].is_closing
        writer.write(request(2)[9:])
        await read_commands(reader, 1)


async def test_sweep_closes_a_handshake_that_does_not_end_and_then_who_says_nothing() -> None:
    async with Desk(echo, tls=ServerTls(), partial_frame_s=30) as desk:  # type: ignore[arg-type]
        silent_reader, _ = await desk.plain_peer()
        reader, writer = await desk.plain_peer()
        writer.write(b"\x16\x03\x01")
        await until(lambda: len(list(desk.server.connections)) == 2)
        conns = list(desk.server.connections)
        await until(lambda: any(conn.first_byte.is_securing for conn in conns))
        desk.server.sweep(0.0)
        desk.server.sweep(HANDSHAKE_S - 1)
        assert desk.closed == []
        desk.server.sweep(HANDSHAKE_S)
        with contextlib.suppress(ConnectionResetError):
            assert await reader.read() == b""
        assert len(desk.closed) == 1
        desk.server.sweep(30.0)
        assert await silent_reader.read() == b""
        assert len(desk.closed) == 2


async def test_time_of_a_handshake_begins_with_its_first_byte() -> None:
    async with Desk(echo, tls=ServerTls(), partial_frame_s=30) as desk:  # type: ignore[arg-type]
        reader, writer = await desk.plain_peer()
        await until(lambda: len(list(desk.server.connections)) == 1)
        (conn,) = desk.server.connections
        desk.server.sweep(0.0)
        writer.write(b"\x16")
        await until(lambda: conn.first_byte.is_securing)
        desk.server.sweep(29.0)
        desk.server.sweep(29.0 + HANDSHAKE_S - 1)
        assert desk.closed == []
        desk.server.sweep(29.0 + HANDSHAKE_S)
        with contextlib.suppress(ConnectionResetError):
            assert await reader.read() == b""
        assert len(desk.closed) == 1
