"""What the server asks of the client over the same connection."""

import asyncio
from collections.abc import Awaitable

import pytest

from remoting.aio.server import ServerConn
from remoting.codes import SerializeType
from remoting.command import Command
from tests.remoting.aio.peers import echo, served
from tests.waiting import until


@pytest.mark.parametrize("serialize", list(SerializeType))
@pytest.mark.parametrize("later", [False, True])
async def test_requests_of_the_server_are_answered_in_their_serialisation(
    serialize: SerializeType, later: bool
) -> None:
    answers: list[Command] = []

    def server(conn: ServerConn, cmd: Command) -> None:
        if cmd.is_response:
            answers.append(cmd)
            return
        echo(conn, cmd)
        # The same opaque as the client's own request: it must not be taken for the answer.
        conn.send_command(Command(code=307, opaque=cmd.opaque, body=b"you?", serialize=serialize))
        conn.send_command(Command(code=40, opaque=99, flag=2))

    async def eventually(answer: Command) -> Command:
        await asyncio.sleep(0)
        return answer

    def on_request(address: str, cmd: Command) -> Command | Awaitable[Command | None] | None:
        asked.append((address, cmd.code))
        if cmd.code == 40:
            return cmd.response()
        answer = cmd.response(body=b"me")
        return eventually(answer) if later else answer

    asked: list[tuple[str, int]] = []

    async with served(server, on_request=on_request) as (desk, client):
        assert (await client.invoke(desk.address, Command(code=1, body=b"hi"))).body == b"hi"
        await until(lambda: bool(answers) and len(asked) == 2)
        assert asked == [(desk.address, 307), (desk.address, 40)]
        # The oneway request was not answered.
        [answer] = answers
        assert answer.body == b"me"
        assert answer.opaque == 0
        assert answer.serialize == serialize


async def test_a_request_of_the_server_that_cannot_be_handled_is_answered_with_code_1() -> None:
    answers: list[Command] = []

    def server(conn: ServerConn, cmd: Command) -> None:
        if cmd.is_response:
            answers.append(cmd)
        else:
            echo(conn, cmd)
            conn.send_command(Command(code=307, opaque=1))

    def on_request(address: str, cmd: Command) -> Command:
        raise ZeroDivisionError(address)

    async with served(server, on_request=on_request) as (desk, client):
        await client.invoke(desk.address, Command(code=1))
        await until(lambda: bool(answers))
        assert answers[0].code == 1
        assert answers[0].remark == f"ZeroDivisionError: {desk.address}"


async def test_requests_of_the_server_are_ignored_without_a_handler() -> None:
    def server(conn: ServerConn, cmd: Command) -> None:
        conn.send_command(Command(code=307, opaque=cmd.opaque))
        echo(conn, cmd)

    async with served(server) as (desk, client):
        assert (await client.invoke(desk.address, Command(code=1))).is_response
