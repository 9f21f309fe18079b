"""The client over loopback: matching, deadlines, loss, requests of the server, clean ends."""

import asyncio
import socket

import pytest

from remoting.acl import is_signed, sign
from remoting.aio.client import RemotingClient, split_address
from remoting.aio.server import ServerConn
from remoting.codes import SerializeType
from remoting.command import Command
from remoting.errors import BadCall, ConnectFailed, ConnectionLost, RemotingError, RequestTimedOut
from remoting.frame import encode_frame
from tests.ports import free_ports
from tests.remoting.aio.peers import echo, served
from tests.waiting import until

ASK = 34


def silent(conn: ServerConn, cmd: Command) -> None:
    """Answer nothing."""


@pytest.mark.parametrize("serialize", list(SerializeType))
async def test_concurrent_requests_share_a_connection(serialize: SerializeType) -> None:
    async def ask(client: RemotingClient, address: str, number: int) -> None:
        request = Command(code=ASK, body=b"%d" % number, serialize=serialize)
        answer = await client.invoke(address, request)
        assert answer.body == request.body
        assert answer.serialize == serialize

    async with served(echo) as (desk, client):
        await asyncio.gather(*[ask(client, desk.address, number) for number in range(300)])
        assert len(desk.conns) == 1


async def test_answers_may_come_in_any_order() -> None:
    waiting: list[Command] = []

    def backwards(conn: ServerConn, cmd: Command) -> None:
        waiting.append(cmd)
        if len(waiting) == 20:
            for one in reversed(waiting):
                echo(conn, one)

    async with served(backwards) as (desk, client):
        answers = await asyncio.gather(
            *[
                client.invoke(desk.address, Command(code=ASK, body=b"%d" % number))
                for number in range(20)
            ]
        )
        assert [answer.body for answer in answers] == [b"%d" % number for number in range(20)]


async def test_a_code_that_means_no_is_an_answer() -> None:
    async with served(lambda conn, cmd: conn.send_command(cmd.response(17))) as (desk, client):
        assert (await client.invoke(desk.address, Command(code=ASK))).code == 17


async def test_oneway_is_sent_and_not_waited_for() -> None:
    seen: list[Command] = []

    async with served(lambda _, cmd: seen.append(cmd)) as (desk, client):
        for _ in range(3):
            await client.invoke_oneway(desk.address, Command.request(ASK, oneway=True))
        await until(lambda: len(seen) == 3)
        assert all(cmd.is_oneway for cmd in seen)
        with pytest.raises(BadCall, match="not marked oneway"):
            await client.invoke_oneway(desk.address, Command(code=ASK))


async def test_no_answer_in_time_is_told_and_a_late_one_is_dropped() -> None:
    asked: list[tuple[ServerConn, Command]] = []

    async with served(lambda conn, cmd: asked.append((conn, cmd))) as (desk, client):
        late = client.invoke(desk.address, Command(code=ASK, body=b"2"), timeout_s=60)
        slow = asyncio.create_task(late)
        await until(lambda: len(asked) == 1)
        with pytest.raises(RequestTimedOut, match="did not answer HEART_BEAT in") as caught:
            await client.invoke(desk.address, Command(code=ASK), timeout_s=0.02)
        assert caught.value.address == desk.address
        assert caught.value.timeout_ms == 20
        await until(lambda: len(asked) == 2)
        for conn, cmd in asked:
            echo(conn, cmd)
            echo(conn, cmd)
        assert (await slow).body == b"2"


async def test_a_shorter_deadline_does_not_wait_for_a_longer_one() -> None:
    async with served(silent) as (desk, client):
        # With the connection made, only answers can be late.
        await client.invoke_oneway(desk.address, Command.request(1, oneway=True))
        long = asyncio.create_task(client.invoke(desk.address, Command(code=1), timeout_s=60))
        results = await asyncio.gather(
            *[
                client.invoke(desk.address, Command(code=1), timeout_s=timeout_s)
                for timeout_s in (0.03, 0.01, 0.02)
            ],
            return_exceptions=True,
        )
        assert [type(one) for one in results] == [RequestTimedOut] * 3
        assert not long.done()
        await client.close()
        with pytest.raises(ConnectionLost):
            await long


async def test_nobody_there_is_told_with_the_address() -> None:
    client = RemotingClient()
    address = f"127.0.0.1:{free_ports(1)}"
    results = await asyncio.gather(
        *[client.invoke(address, Command(code=1)) for _ in range(3)], return_exceptions=True
    )
    assert [type(one) for one in results] == [ConnectFailed] * 3
    assert address in str(results[0])
    await client.close()


async def test_a_connection_attempt_ends_in_time() -> None:
    # A full backlog: the system drops what would connect now.
    with socket.socket() as deaf:
        deaf.bind(("127.0.0.1", 0))
        deaf.listen(0)
        address = f"127.0.0.1:{deaf.getsockname()[1]}"
        fillers = [socket.socket() for _ in range(4)]
        for filler in fillers:
            filler.setblocking(False)
            filler.connect_ex(deaf.getsockname())
        client = RemotingClient(connect_timeout_s=0.05)
        with pytest.raises(ConnectFailed, match=r"no connection in 0\.05 s"):
            await client.invoke(address, Command(code=1))
        await client.close()
        for filler in fillers:
            filler.close()


async def test_a_lost_connection_fails_what_waits_and_the_next_request_connects_again() -> None:
    def answer(conn: ServerConn, cmd: Command) -> None:
        if cmd.body == b"bye":
            conn.close()
        elif cmd.body:
            echo(conn, cmd)

    async with served(answer) as (desk, client):
        results = await asyncio.gather(
            *[client.invoke(desk.address, Command(code=1, body=b)) for b in (b"", b"", b"bye")],
            return_exceptions=True,
        )
        assert [type(one) for one in results] == [ConnectionLost] * 3
        again = await client.invoke(desk.address, Command(code=1, body=b"again"))
        assert again.body == b"again"
        assert len(desk.conns) == 2


@pytest.mark.parametrize("garbage", [b"\xff" * 16, b"\x00\x00\x00\x06\x00\x00\x00\x02{}"])
async def test_a_server_that_sends_garbage_loses_the_connection(garbage: bytes) -> None:
    async with served(lambda conn, _: conn.send(garbage)) as (desk, client):
        with pytest.raises(ConnectionLost):
            await client.invoke(desk.address, Command(code=1))


async def test_every_request_is_signed_anew() -> None:
    def server(conn: ServerConn, cmd: Command) -> None:
        signed.append(is_signed(cmd, "secret1234"))
        echo(conn, cmd)

    signed: list[bool] = []

    scene = served(server, sign=lambda cmd, address, ip: sign(cmd, "HFCTuser1", "secret1234"))
    async with scene as (desk, client):
        request = Command(code=1, ext={"a": "1"}, body=b"x")
        await client.invoke(desk.address, request)
        request.ext["a"] = "2"
        await client.invoke(desk.address, request)
        assert signed == [True, True]


async def test_the_observer_sees_every_exchange() -> None:
    seen: list[tuple[int, object]] = []

    def observe(
        address: str, request: Command, outcome: Command | RemotingError | None, elapsed_ms: float
    ) -> None:
        assert elapsed_ms >= 0
        seen.append((request.code, outcome if outcome is None else type(outcome)))

    def server(conn: ServerConn, cmd: Command) -> None:
        if cmd.code == 1:
            echo(conn, cmd)

    async with served(server, on_exchange=observe) as (desk, client):
        await client.invoke(desk.address, Command(code=1))
        with pytest.raises(RequestTimedOut):
            await client.invoke(desk.address, Command(code=2), timeout_s=0.01)
        await client.invoke_oneway(desk.address, Command.request(3, oneway=True))
        with pytest.raises(ConnectFailed):
            await client.invoke(f"127.0.0.1:{free_ports(1)}", Command(code=4))

    assert seen == [(1, Command), (2, RequestTimedOut), (3, None), (4, ConnectFailed)]


async def test_a_server_that_does_not_read_stops_the_sender_and_not_the_clock() -> None:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen()
        address = f"127.0.0.1:{listener.getsockname()[1]}"
        client = RemotingClient()
        # With the connection made, only answers can be late.
        await client.invoke_oneway(address, Command.request(1, oneway=True))
        big = bytes(8 * 1024 * 1024)
        results = await asyncio.gather(
            *[client.invoke(address, Command(code=1, body=big), timeout_s=0.1) for _ in range(3)],
            return_exceptions=True,
        )
        assert [type(one) for one in results] == [RequestTimedOut] * 3
        with pytest.raises(RequestTimedOut):
            await client.invoke(address, Command(code=1), timeout_s=0.02)
        flood = asyncio.create_task(
            client.invoke_oneway(address, Command.request(1, body=big, oneway=True))
        )
        await asyncio.sleep(0.01)
        assert not flood.done()
        await client.close()
        with pytest.raises(ConnectionLost):
            await flood


async def test_a_cancelled_request_leaves_nothing_behind() -> None:
    async with served(silent) as (desk, client):
        task = asyncio.create_task(client.invoke(desk.address, Command(code=1)))
        await until(lambda: bool(desk.conns))
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert [len(one.pending) for one in client._channels.values()] == [0]


async def test_a_closed_client_says_so() -> None:
    async with served(echo) as (desk, client):
        await client.close()
        with pytest.raises(BadCall, match="the client is closed"):
            await client.invoke(desk.address, Command(code=1))


async def test_close_ends_attempts_to_connect() -> None:
    client = RemotingClient()
    # A reserved address: nothing answers, not even with a refusal.
    task = asyncio.create_task(client.invoke("240.0.0.1:1", Command(code=1)))
    await asyncio.sleep(0)
    await client.close()
    with pytest.raises((ConnectFailed, BadCall)):
        await task


async def test_what_cannot_be_encoded_is_told_and_the_connection_lives() -> None:
    async with served(echo) as (desk, client):
        with pytest.raises(BadCall):
            await client.invoke(desk.address, Command(code=1, remark="\ud800"))
        await client.invoke(desk.address, Command(code=1))
        assert len(desk.conns) == 1


async def test_an_answer_in_pieces_is_put_together() -> None:
    async def pieces(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read(1000)
        for byte in encode_frame(Command(code=0, flag=1, body=b"slowly")):
            writer.write(bytes([byte]))
            await writer.drain()
        writer.close()

    server = await asyncio.start_server(pieces, "127.0.0.1", 0)
    client = RemotingClient()
    address = f"127.0.0.1:{server.sockets[0].getsockname()[1]}"
    assert (await client.invoke(address, Command(code=1))).body == b"slowly"
    await client.close()
    server.close()
    await server.wait_closed()


@pytest.mark.parametrize(
    ("address", "expected"),
    [
        ("h:1", ("h", 1)),
        ("127.0.0.1:10911", ("127.0.0.1", 10911)),
        ("[::1]:9876", ("::1", 9876)),
        ("::1:9876", ("::1", 9876)),
    ],
)
def test_addresses_are_split(address: str, expected: tuple[str, int]) -> None:
    assert split_address(address) == expected


@pytest.mark.parametrize(
    "address", ["", "h", ":1", "h:", "h:x", "h:0", "h:65536", "h:²", "h:99999999999"]
)
def test_addresses_that_are_none_are_our_fault(address: str) -> None:
    with pytest.raises(BadCall, match="is not host:port"):
        split_address(address)


@pytest.mark.parametrize("passes", range(8))
@pytest.mark.parametrize("refused", [True, False])
async def test_request_that_is_cancelled_while_its_connection_ends_is_cancelled(
    monkeypatch: pytest.MonkeyPatch, passes: int, refused: bool
) -> None:
    """A service of a server that did not notice would run on, and the server would never stop."""
    attempt = asyncio.get_running_loop().create_future()

    async def connect(self: RemotingClient, address: str) -> object:
        return await attempt

    monkeypatch.setattr(RemotingClient, "_connect", connect)
    client = RemotingClient()
    asking = asyncio.create_task(client.invoke("127.0.0.1:1", Command(code=ASK)))
    for _ in range(3):
        await asyncio.sleep(0)

    if refused:
        attempt.set_exception(ConnectionRefusedError())
    else:
        attempt.cancel()
    for _ in range(passes):
        await asyncio.sleep(0)
    took_it = asking.cancel()

    with pytest.raises(asyncio.CancelledError if took_it else ConnectFailed):
        await asking
    await client.close()
