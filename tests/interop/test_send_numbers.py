"""Numbers of a send from their whole range: what the real broker stores, ours stores as well.

Each case is one send; compared are the code of the answer and the record, read by its offset.
"""

import asyncio
from collections.abc import Awaitable, Callable
from typing import NamedTuple

from remoting.aio.client import RemotingClient
from remoting.codes import RequestCode
from remoting.command import Command
from remoting.headers import ViewMessage
from storefmt.formats.message import decode_record
from storefmt.formats.sysflag import HOSTS_V6
from tests.interop.kit.servers import Broker
from tests.server.broker.desk import create, send

TOPIC = "SendNumbers"
INT_MIN, INT_MAX = -(1 << 31), (1 << 31) - 1
LONG_MIN, LONG_MAX = -(1 << 63), (1 << 63) - 1
# Without the bits for IPv6 hosts, with which the real broker writes a record that nobody can read.
FLAGS = (-1 & ~HOSTS_V6, INT_MIN, INT_MAX & ~HOSTS_V6, -1 & ~(HOSTS_V6 | 0xC), 0x4, 0x8, 0xC, 1, 2)
INTS = (INT_MIN, -1, 0, 1, INT_MAX, INT_MAX + 1, INT_MIN - 1)
LONGS = (LONG_MIN, -1, 0, 1, INT_MAX + 1, LONG_MAX, LONG_MAX + 1, LONG_MIN - 1)
NUMBERS = {
    "f": (*FLAGS, INT_MAX + 1, INT_MIN - 1),
    "g": LONGS,
    "h": INTS,
    "j": INTS,
    "l": INTS,
    "d": INTS,
    "e": (INT_MIN, INT_MAX, INT_MAX + 1, 4),
}


class Stored(NamedTuple):
    """What became of a send: the code of its answer, and the numbers of its record."""

    code: int
    numbers: tuple[int, ...] = ()


Ask = Callable[[Command], Awaitable[Command]]


async def stored(ask: Ask, name: str, value: int) -> Stored:
    command = Command.request(RequestCode.SEND_MESSAGE_V2, send(topic=TOPIC), body=b"body")
    command.ext = {**command.ext, name: str(value)}
    answer = await ask(command)
    if answer.code or "msgId" not in answer.ext:
        return Stored(answer.code)
    log_offset = int(answer.ext["msgId"][-16:], 16)
    look = ViewMessage(offset=log_offset)
    found = await ask(Command.request(RequestCode.VIEW_MESSAGE_BY_ID, look))
    if found.code:
        return Stored(answer.code, (found.code,))
    record = decode_record(found.body)
    return Stored(
        answer.code,
        (
            record.sys_flag, record.flag, record.born_ms, record.reconsume_times,
            record.prepared_transaction_offset, record.queue_id if name != "e" else 0,
        ),
    )  # fmt: skip


async def outcomes(broker: Broker) -> dict[tuple[str, int], Stored]:
    client = RemotingClient()

    async def ask(command: Command) -> Command:
        return await client.invoke(broker.address, command, timeout_s=60)

    try:
        await ask(Command.request(RequestCode.UPDATE_AND_CREATE_TOPIC, create(TOPIC, 4)))
        return {
            (name, value): await stored(ask, name, value)
            for name, values in NUMBERS.items()
            for value in values
        }
    finally:
        await client.close()


def test_both_store_the_same_numbers(java_broker: Broker, our_broker: Broker) -> None:
    java, ours = (asyncio.run(outcomes(broker)) for broker in (java_broker, our_broker))

    assert ours == java
    assert {one.code for one in java.values()} >= {0, 1}
