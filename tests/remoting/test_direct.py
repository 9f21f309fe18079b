"""The client without a loop: the same answers and errors as the one with a loop."""

import asyncio
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from remoting.acl import is_signed, sign
from remoting.aio.server import ServerConn
from remoting.aio.tls import ClientTls
from remoting.command import Command
from remoting.direct import DirectClient, drive
from remoting.errors import BadCall, ConnectFailed, ConnectionLost, RemotingError, RequestTimedOut
from tests.ports import free_ports
from tests.remoting.aio.certificates import server_tls, write
from tests.remoting.aio.peers import Desk, echo

ASK = 34
START_MAX_S = 30.0


@contextmanager
def serving(answer: Callable[[ServerConn, Command], None], **options: object) -> Iterator[Desk]:
    """Run a server in a loop of its own, since the client blocks this thread."""
    ready = threading.Event()
    made: list[tuple[Desk, asyncio.AbstractEventLoop, asyncio.Event]] = []

    async def serve() -> None:
        async with Desk(answer, **options) as desk:  # type: ignore[arg-type]
            over = asyncio.Event()
            made.append((desk, asyncio.get_running_loop(), over))
            ready.set()
            await over.wait()

    thread = threading.Thread(target=asyncio.run, args=(serve(),))
    thread.start()
    assert ready.wait(START_MAX_S)
    desk, loop, over = made[0]
    try:
        yield desk
    finally:
        loop.call_soon_threadsafe(over.set)
        thread.join()


@contextmanager
def client(**options: object) -> Iterator[DirectClient]:
    made = DirectClient(**options)  # type: ignore[arg-type]
    try:
        yield made
    finally:
        drive(made.close())


def test_requests_to_one_address_share_a_connection() -> None:
    with serving(echo) as desk, client() as asker:
        for size in (0, 5, 300_000):
            answer = drive(asker.invoke(desk.address, Command(code=ASK, body=b"x" * size)))

            assert answer.body == b"x" * size
        assert len(desk.conns) == 1


def test_a_code_that_means_no_is_an_answer() -> None:
    with (
        serving(lambda conn, cmd: conn.send_command(cmd.response(17))) as desk,
        client() as asker,
    ):
        assert drive(asker.invoke(desk.address, Command(code=ASK))).code == 17


def test_what_the_server_asks_and_late_answers_are_let_go() -> None:
    def chatty(conn: ServerConn, cmd: Command) -> None:
        conn.send_command(Command(code=40, opaque=cmd.opaque))
        stranger = cmd.response(body=b"another's")
        stranger.opaque += 1
        conn.send_command(stranger)
        echo(conn, cmd)

    with serving(chatty) as desk, client() as asker:
        assert drive(asker.invoke(desk.address, Command(code=ASK, body=b"mine"))).body == b"mine"


def test_no_answer_in_time_ends_the_connection() -> None:
    """An answer that still comes is never taken for that of the next request."""
    late: list[tuple[ServerConn, Command]] = []

    def slow(conn: ServerConn, cmd: Command) -> None:
        if cmd.body == b"slow":
            late.append((conn, cmd))
            return
        for at, one in late:
            echo(at, one)
        echo(conn, cmd)

    with serving(slow) as desk, client() as asker:
        with pytest.raises(RequestTimedOut, match="did not answer HEART_BEAT in") as caught:
            drive(asker.invoke(desk.address, Command(code=ASK, body=b"slow"), timeout_s=0.05))
        assert caught.value.address == desk.address
        assert caught.value.timeout_ms == 50

        assert drive(asker.invoke(desk.address, Command(code=ASK, body=b"2"))).body == b"2"


def test_nobody_there_is_told_as_with_a_loop() -> None:
    with client() as asker:
        address = f"127.0.0.1:{free_ports(1)}"

        with pytest.raises(ConnectFailed, match=f"{address}: Connection refused"):
            drive(asker.invoke(address, Command(code=ASK)))
        with pytest.raises(BadCall, match="is not host:port"):
            drive(asker.invoke("nowhere", Command(code=ASK)))


def test_a_connection_that_ends_is_told_and_the_next_request_makes_another() -> None:
    def answer(conn: ServerConn, cmd: Command) -> None:
        if cmd.body == b"bye":
            conn.close()
        else:
            echo(conn, cmd)

    with serving(answer) as desk, client() as asker:
        with pytest.raises(ConnectionLost, match="ended before the answer"):
            drive(asker.invoke(desk.address, Command(code=ASK, body=b"bye")))

        assert drive(asker.invoke(desk.address, Command(code=ASK, body=b"2"))).body == b"2"
        assert len(desk.conns) == 2


@pytest.mark.parametrize("garbage", [b"\xff" * 16, b"\x00\x00\x00\x06\x00\x00\x00\x02{}"])
def test_a_server_that_sends_garbage_loses_the_connection(garbage: bytes) -> None:
    with (
        serving(lambda conn, _: conn.send(garbage)) as desk,
        client() as asker,
        pytest.raises(ConnectionLost),
    ):
        drive(asker.invoke(desk.address, Command(code=ASK)))


def test_a_client_that_checks_meets_only_the_server_it_trusts(tmp_path: Path) -> None:
    mine, other = write(tmp_path, "mine"), write(tmp_path, "other")
    trusting, wary = (
        ClientTls(auth_server=True, trust_cert_path=files.cert) for files in (mine, other)
    )

    with serving(echo, tls=server_tls(mine)) as desk:
        with client(tls=trusting) as asker:
            for size in (0, 3_000_000):
                ask = asker.invoke(desk.address, Command(code=ASK, body=b"x" * size))
                assert drive(ask).body == b"x" * size
        assert len(desk.conns) == 1
        with client(tls=wary) as asker, pytest.raises(ConnectFailed, match="cannot connect to"):
            drive(asker.invoke(desk.address, Command(code=ASK)))


def test_requests_are_signed_and_observed() -> None:
    signed: list[bool] = []
    seen: list[tuple[int, object]] = []

    def server(conn: ServerConn, cmd: Command) -> None:
        signed.append(is_signed(cmd, "secret1234"))
        if cmd.code == 1:
            echo(conn, cmd)

    def observe(
        address: str, request: Command, outcome: Command | RemotingError | None, elapsed_ms: float
    ) -> None:
        assert elapsed_ms >= 0
        seen.append((request.code, outcome if outcome is None else type(outcome)))

    def signing(cmd: Command, address: str, ip: str) -> None:
        sign(cmd, "HFCTuser1", "secret1234")

    with serving(server) as desk, client(sign=signing, on_exchange=observe) as asker:
        drive(asker.invoke(desk.address, Command(code=1, ext={"a": "1"}, body=b"x")))
        drive(asker.invoke_oneway(desk.address, Command.request(3, oneway=True)))
        with pytest.raises(RequestTimedOut):
            drive(asker.invoke(desk.address, Command(code=2), timeout_s=0.05))
        with pytest.raises(BadCall, match="not marked oneway"):
            drive(asker.invoke_oneway(desk.address, Command(code=3)))

    assert signed[0]
    assert seen == [(1, Command), (3, None), (2, RequestTimedOut)]


def test_a_coroutine_that_needs_a_loop_is_refused() -> None:
    async def sleepy() -> None:
        await asyncio.Future(loop=loop)

    loop = asyncio.new_event_loop()
    try:
        with pytest.raises(BadCall, match="waits for an event loop"):
            drive(sleepy())
    finally:
        loop.close()
