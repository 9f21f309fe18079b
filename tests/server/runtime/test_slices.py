"""Requests that run in slices."""

import asyncio

from mqserver.runtime.request import Request
from mqserver.runtime.slices import Slices, Steps
from remoting.codes import RequestCode
from remoting.command import Command
from tests.server.doubles import FakeConn
from tests.waiting import until


async def test_a_request_in_slices_counts_as_in_flight_until_it_is_answered() -> None:
    conn, slices = FakeConn(), Slices()
    slices.open(asyncio.get_running_loop())
    command = Command.request(RequestCode.LOCK_BATCH_MQ, body=bytes(1_000))
    command.ext["a"] = "x" * 200

    def steps() -> Steps[Command]:
        yield None
        return command.response()

    answer = slices.begin(steps(), Request(conn, command, 0))  # type: ignore[arg-type]
    held_size = conn.kept_size
    await until(lambda: bool(conn.sent))
    slices.close()

    assert answer is None
    assert held_size == 1_201
    assert conn.kept_size == 0
