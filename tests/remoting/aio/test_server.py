"""The server over loopback: order, one write a turn, and peers that misbehave."""

import asyncio
import socket
import struct
from unittest.mock import Mock

import pytest

from remoting.aio.server import RemotingServer, ServerConn
from remoting.codes import SerializeType
from remoting.command import Command
from remoting.frame import encode_frame
from storefmt.formats.hosts import pack_host
from tests.remoting.aio.peers import Desk, echo, read_commands, request, run
from tests.waiting import until

MIB = 1024 * 1024


async def test_pipelined_requests_are_answered_in_order() -> None:
    async with Desk(echo) as desk:
        *_, answers = await desk.answered_peer(*map(request, range(500)))
        assert [answer.opaque for answer in answers] == list(range(500))


async def test_each_answer_is_in_the_serialisation_of_its_request() -> None:
    async with Desk(echo) as desk:
        commands = [Command(code=1, serialize=SerializeType(kind)) for kind in (0, 1, 1, 0)]
        *_, answers = await desk.answered_peer(*map(encode_frame, commands))
        assert [answer.serialize for answer in answers] == [0, 1, 1, 0]


async def test_all_frames_of_a_read_are_handled_before_one_write() -> None:
    seen: list[int] = []
    written: list[int] = []

    def answer(conn: ServerConn, cmd: Command) -> None:
        seen.append(cmd.opaque)
        transport = conn._transport
        if not written:
            written.append(0)

            def write(data: bytes) -> None:
                written.append(len(seen))
                transport.write(data)

            # A transport of uvloop has no place for a method of ours.
            conn._transport = Mock(wraps=transport, write=write)
        conn.send_command(cmd.response())

    async with Desk(answer) as desk:
        await desk.answered_peer(*map(request, range(20)))

    assert written == [0, 20]


def test_an_owner_may_flush_when_its_turn_is_over() -> None:
    def answer(conn: ServerConn, cmd: Command) -> None:
        conn.send_command(cmd.response())
        desk.server.outbox.flush()

    async def scene() -> None:
        async with desk:
            await desk.answered_peer(request())

    desk = Desk(answer)
    run(scene())


def test_server_that_starts_again_answers_though_its_first_loop_ended_within_a_turn() -> None:
    async def scene() -> list[Command]:
        async with desk:
            async with asyncio.timeout(60):
                *_, answers = await desk.answered_peer(request())
        # The loop ends before the owner's turn flushes.
        desk.server.outbox.defer_writes()
        return answers

    desk = Desk(echo)

    assert [len(run(scene())) for _ in range(2)] == [1, 1]


async def test_a_connection_knows_its_peer_and_sends_at_once() -> None:
    async with Desk(echo) as desk:
        _, writer, _ = await desk.answered_peer(request())
        conn = desk.conns[0]
        ip, port = writer.get_extra_info("sockname")
        assert conn.peer == (ip, port)
        assert conn.peer_host == pack_host(ip, port)
        assert conn.address == str(conn) == f"{ip}:{port}"
        assert conn.local_port == desk.port
        assert list(desk.server.connections) == [conn]
        raw = conn._transport.get_extra_info("socket")
        assert raw.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)
        writer.close()
        await until(lambda: desk.closed == [conn])


@pytest.mark.parametrize(
    "garbage",
    [
        b"GET / HTTP/1.1\r\n\r\n",
        struct.pack(">iI", 2**31 - 1, 0),
        struct.pack(">iI", 8, 9 << 24 | 4) + bytes(4),
        struct.pack(">iI", 6, 2) + b"{}",
    ],
)
async def test_a_peer_that_sends_garbage_is_closed_without_an_answer(garbage: bytes) -> None:
    async with Desk(echo) as desk:
        reader, writer = await desk.plain_peer()
        other_reader, other = await desk.plain_peer()
        writer.write(garbage)
        assert await reader.read() == b""
        other.write(request(5))
        assert [one.opaque for one in await read_commands(other_reader, 1)] == [5]
        writer.close()
        other.close()
        await until(lambda: len(desk.closed) == 2)


async def test_requests_before_the_garbage_are_still_answered() -> None:
    async with Desk(echo) as desk:
        reader, writer, (answer,) = await desk.answered_peer(request(1))
        writer.write(b"\xff" * 8)
        assert answer.opaque == 1
        assert await reader.read() == b""


async def test_a_handler_that_raises_costs_its_connection_only() -> None:
    def answer(conn: ServerConn, cmd: Command) -> None:
        if cmd.opaque == 13:
            raise ZeroDivisionError
        echo(conn, cmd)

    async with Desk(answer) as desk:
        reader, writer = await desk.plain_peer()
        writer.write(request(12) + request(13) + request(14))
        data = await reader.read()
        assert data.count(b'"opaque":12') == 1
        assert b'"opaque":14' not in data


async def test_a_peer_that_never_reads_is_paused_then_cut_and_others_go_on() -> None:
    def answer(conn: ServerConn, cmd: Command) -> None:
        if cmd.body:
            conn.send_command(cmd.response(body=bytes(MIB)))
        else:
            echo(conn, cmd)

    async with Desk(answer, write_buffer_max=8 * MIB) as desk:
        deaf = socket.create_connection(("127.0.0.1", desk.port))
        deaf.setblocking(False)
        deaf.send(request(0, b"x") * 100)
        await until(lambda: bool(desk.conns) and desk.conns[0].write_paused)
        conn = desk.conns[0]
        # Paused: what it asks for now is not read, so nothing more piles up.
        deaf.send(request(0, b"x") * 50)
        *_, (answered,) = await desk.answered_peer(request(7))
        assert answered.opaque == 7
        assert conn.unsent_size <= 8 * MIB
        assert desk.closed == []
        # What the server sends on its own passes the limit in the end.
        sent = 0
        while not conn.is_closing:
            conn.send(bytes(MIB))
            desk.server.outbox.flush()
            sent += 1
        assert sent <= 9
        await until(lambda: desk.closed == [conn])
        conn.send(b"dropped")
        deaf.close()


async def test_requests_whose_answers_fill_the_socket_wait_for_the_reader() -> None:
    handled: list[int] = []

    def answer(conn: ServerConn, cmd: Command) -> None:
        handled.append(cmd.opaque)
        conn.send_command(cmd.response(body=bytes(MIB)))

    async with Desk(answer, write_buffer_max=8 * MIB) as desk:
        reader, writer = await desk.plain_peer()
        # Far more than the limit, asked for in one read by a peer that does read.
        writer.write(b"".join(request(number) for number in range(100)))
        await until(lambda: bool(desk.conns) and desk.conns[0].write_paused)
        assert len(handled) < 20
        answers = await read_commands(reader, 100)
        assert [answer.opaque for answer in answers] == handled == list(range(100))


def test_a_slow_reader_gets_everything_and_is_read_again() -> None:
    async def scene() -> None:
        async with Desk(echo) as desk:
            reader, writer = await desk.plain_peer()
            body = bytes(200_000)
            sender = asyncio.create_task(send_many(writer, 40, body))
            await until(lambda: bool(desk.conns) and desk.conns[0].write_paused)
            answers = await read_commands(reader, 40)
            await sender
            assert [len(answer.body) for answer in answers] == [len(body)] * 40
            assert not desk.conns[0].write_paused

    async def send_many(writer: asyncio.StreamWriter, count: int, body: bytes) -> None:
        for number in range(count):
            writer.write(request(number, body))
            await writer.drain()

    run(scene())


@pytest.mark.parametrize("limit", ["connections_max", "per_address_max"])
async def test_connections_beyond_the_cap_are_told_busy_and_not_announced(limit: str) -> None:
    async with Desk(echo, **{limit: 1}) as desk:
        _, writer, _ = await desk.answered_peer(request())
        second_reader, second, (told,) = await desk.answered_peer(request(7))
        assert told.code == 2
        assert told.opaque == 7
        assert told.is_response is True
        assert await second_reader.read() == b""
        assert desk.closed == []
        writer.close()
        await until(lambda: len(desk.closed) == 1)
        second.close()
        await desk.answered_peer(request())


async def test_an_address_that_is_not_let_in_is_closed_and_not_announced() -> None:
    asked: list[str] = []

    def may_connect(ip: str) -> bool:
        asked.append(ip)
        return len(asked) > 1

    async with Desk(echo, may_connect=may_connect) as desk:  # type: ignore[arg-type]
        reader, _ = await desk.plain_peer()
        assert await reader.read() == b""
        await desk.answered_peer(request())
        assert asked == ["127.0.0.1", "127.0.0.1"]
        assert desk.closed == []


async def test_stop_sends_what_is_queued_and_tells_once() -> None:
    desk = Desk(echo)
    await desk.__aenter__()
    reader, writer = await desk.plain_peer()
    writer.write(request(1))
    await until(lambda: len(desk.conns) == 1)
    desk.conns[0].send(b"last words")
    await desk.server.stop()
    assert (await reader.read()).endswith(b"last words")
    assert desk.closed == desk.conns
    await desk.server.stop()
    writer.close()


def test_a_server_that_was_not_started_stops_at_once() -> None:
    server = RemotingServer(on_frame=lambda *_: None, on_close=lambda _: None)

    run(server.stop())


async def test_an_owner_that_raises_on_close_does_not_stop_the_server() -> None:
    def on_close(conn: ServerConn) -> None:
        raise ZeroDivisionError(conn.address)

    server = RemotingServer(on_frame=lambda *_: None, on_close=on_close)
    port = await server.start("127.0.0.1", 0)
    _, writer = await asyncio.open_connection("127.0.0.1", port)
    await until(lambda: bool(list(server.connections)))
    writer.close()
    await until(lambda: not list(server.connections))
    await server.stop()


async def test_a_port_in_use_is_told() -> None:
    async with Desk(echo) as desk:
        other = RemotingServer(on_frame=lambda *_: None, on_close=lambda _: None)
        with pytest.raises(OSError, match="in use"):
            await other.start("127.0.0.1", desk.port)


@pytest.mark.skipif(not socket.has_ipv6, reason="no IPv6")
async def test_an_ipv6_peer_has_a_20_byte_host() -> None:
    desk = Desk(echo)
    try:
        port = await desk.server.start("::1", 0)
    except OSError:
        pytest.skip("no IPv6 loopback")
    reader, writer = await asyncio.open_connection("::1", port)
    writer.write(request(1))
    await read_commands(reader, 1)
    assert len(desk.conns[0].peer_host) == 20
    assert desk.conns[0].address.startswith("[::1]:")
    writer.close()
    await desk.server.stop()
