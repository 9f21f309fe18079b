"""TLS and plain connections on one port, told apart by their first byte."""

import asyncio
import contextlib
import ssl
from pathlib import Path

import pytest

from remoting.aio.client import RemotingClient
from remoting.aio.server import ServerConn
from remoting.aio.tls import ClientAuth, ClientTls, ServerTls, TlsMode, client_context
from remoting.command import Command
from remoting.errors import ConnectFailed, RemotingError
from tests.remoting.aio.certificates import server_tls, write
from tests.remoting.aio.peers import Desk, echo, read_commands, request, run
from tests.waiting import until

MIB = 1024 * 1024


def desk(mode: TlsMode = TlsMode.PERMISSIVE, **options: object) -> Desk:
    return Desk(echo, **{"tls": ServerTls(mode=mode), **options})  # type: ignore[arg-type]


async def ask(address: str, tls: ClientTls | None, *, body: bytes = b"x") -> bytes:
    client = RemotingClient(tls=tls)
    try:
        return (await client.invoke(address, Command(code=34, body=body))).body
    finally:
        await client.close()


async def outcome(address: str, tls: ClientTls | None) -> str:
    try:
        await ask(address, tls)
    except RemotingError as error:
        return type(error).__name__
    return "answered"


@pytest.mark.parametrize(
    ("mode", "plain", "secured"),
    [
        (TlsMode.DISABLED, "answered", "ConnectFailed"),
        (TlsMode.PERMISSIVE, "answered", "answered"),
        (TlsMode.ENFORCING, "ConnectionLost", "answered"),
    ],
)
async def test_the_mode_says_who_is_served(mode: TlsMode, plain: str, secured: str) -> None:
    async with desk(mode) as served:
        found = await outcome(served.address, None), await outcome(served.address, ClientTls())
        await until(lambda: len(served.closed) == 2)
        assert found == (plain, secured)


@pytest.mark.parametrize("tls", [None, ClientTls()])
async def test_large_frames_go_both_ways(tls: ClientTls | None) -> None:
    body = bytes(range(256)) * (3 * MIB // 256)

    async with desk() as served:
        assert await ask(served.address, tls, body=body) == body


async def test_requests_right_behind_the_handshake_are_answered_under_tls() -> None:
    async with desk() as served:
        reader, writer = await asyncio.open_connection(
            "127.0.0.1", served.port, ssl=client_context(ClientTls()), server_hostname="x"
        )
        for opaque in range(50):
            writer.write(request(opaque))
        answers = await read_commands(reader, 50)
        writer.close()
        assert [answer.opaque for answer in answers] == list(range(50))


async def test_a_plain_frame_may_come_byte_by_byte() -> None:
    async with desk() as served:
        reader, writer = await served.plain_peer()
        for byte in request(7):
            writer.write(bytes((byte,)))
            await writer.drain()
            await asyncio.sleep(0)
        (answer,) = await read_commands(reader, 1)
        writer.close()
        assert answer.opaque == 7


@pytest.mark.parametrize("data", [b"", b"\x16", b"\x16\x03\x01\x00\x05hello", b"\x16" + bytes(300)])
async def test_peers_that_leave_before_or_in_the_handshake_are_forgotten(data: bytes) -> None:
    async with desk() as served:
        _, writer = await served.plain_peer()
        writer.write(data)
        await writer.drain()
        await until(lambda: len(list(served.server.connections)) == 1)
        writer.close()
        await until(lambda: len(served.closed) == 1)
        assert await outcome(served.address, ClientTls()) == "answered"
        await until(lambda: len(served.closed) == 2)
        assert len(list(served.server.connections)) == 0


@pytest.mark.parametrize("data", [b"", b"\x16\x03\x01"])
async def test_a_silent_peer_is_swept_and_does_not_keep_a_server_from_stopping(data: bytes) -> None:
    async with desk(idle_s=120) as served:
        peers = [await served.plain_peer() for _ in range(2)]
        for _, writer in peers[:1]:
            writer.write(data)
        await until(lambda: len(list(served.server.connections)) == 2)
        served.server.sweep(0.0)
        served.server.sweep(121.0)
        assert len(served.closed) == 2
        for reader, _ in peers:
            with contextlib.suppress(ConnectionResetError):
                assert await reader.read() == b""
        reader, writer = await served.plain_peer()
        writer.write(data)
        await until(lambda: len(list(served.server.connections)) == 1)
    assert len(served.closed) == 3
    writer.close()


async def test_a_client_that_checks_meets_only_the_server_it_trusts(tmp_path: Path) -> None:
    mine, other = write(tmp_path, "mine"), write(tmp_path, "other")

    async with desk(tls=server_tls(mine)) as served:
        assert [
            await outcome(served.address, ClientTls(auth_server=True, trust_cert_path=path))
            for path in (mine.cert, other.cert)
        ] == ["answered", "ConnectFailed"]


async def test_a_server_that_requires_a_certificate_serves_only_those_it_trusts(
    tmp_path: Path,
) -> None:
    mine, good, bad = (write(tmp_path, name) for name in ("mine", "good", "bad"))
    tls = server_tls(
        mine, need_client_auth=ClientAuth.REQUIRE, auth_client=True, trust_cert_path=good.cert
    )

    async with desk(tls=tls) as served:
        shown = [None, bad, good]
        assert [
            await outcome(
                served.address,
                ClientTls()
                if files is None
                else ClientTls(cert_path=files.cert, key_path=files.key),
            )
            == "answered"
            for files in shown
        ] == [False, False, True]


async def test_a_certificate_that_cannot_be_read_stops_the_start(tmp_path: Path) -> None:
    with pytest.raises(RemotingError, match=r"gone\.crt"):
        async with desk(tls=server_tls(write(tmp_path), cert_path=Path("gone.crt"))):
            pass


async def test_a_secured_peer_that_never_reads_is_cut() -> None:
    def answer(conn: ServerConn, cmd: Command) -> None:
        conn.send_command(cmd.response(body=bytes(MIB)))

    options = {"tls": ServerTls(), "write_buffer_max": 2 * MIB}
    async with Desk(answer, **options) as served:  # type: ignore[arg-type]
        context = client_context(ClientTls())
        _, writer = await asyncio.open_connection(
            "127.0.0.1", served.port, ssl=context, server_hostname="x", limit=1
        )
        writer.write(request() * 64)
        await until(lambda: bool(served.conns) and served.conns[0].write_paused)
        conn = served.conns[0]
        left = conn.unsent_size
        conn.abort()
        await until(lambda: len(served.closed) == 1)
        writer.transport.abort()
        assert left <= 4 * MIB


def test_a_refused_handshake_is_a_failed_connection_with_its_reason() -> None:
    async def scene() -> str:
        async with desk(TlsMode.DISABLED) as served:
            with pytest.raises(ConnectFailed) as failed:
                await ask(served.address, ClientTls())
            return str(failed.value)

    assert "cannot connect to 127.0.0.1" in run(scene())


async def test_the_oldest_protocols_are_not_spoken() -> None:
    async with desk() as served:
        context = client_context(ClientTls())
        context.minimum_version = ssl.TLSVersion.TLSv1_2
        _, writer = await asyncio.open_connection(
            "127.0.0.1", served.port, ssl=context, server_hostname="x"
        )
        assert writer.get_extra_info("ssl_object").version() in ("TLSv1.2", "TLSv1.3")
