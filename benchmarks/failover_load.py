"""The load of ``benchmarks.failover``: senders and readers that follow the master of a group.

    Compass  asks the name server every 100 ms where the master is
    Sender   sends one message after the other to that address, or to a fixed one
    Reader   reads a queue from its start on, and goes on there at each new master

A sender does not follow routes by itself, so that what is measured is the cluster and not a
client: a stock Java producer may hold an old route for 30 s.

Rule: only an answer with code 0 (SEND_OK) counts as acknowledged. A send is given up after
``SEND_TIMEOUT_S``, and its message counts as one of unknown fate.
"""

import asyncio
import contextlib
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final

from mqclient.admin.admin import Admin
from mqclient.client.instance import MQClient
from mqclient.consumer.pull_consumer import PullConsumer
from mqclient.errors import ClientError
from remoting.aio.client import RemotingClient
from remoting.bodies import MessageQueue
from remoting.codes import RequestCode
from remoting.command import Command
from remoting.errors import RemotingError
from remoting.headers import SendMessageResponse, SendMessageV2

TOPIC: Final = "FailoverTopic"
QUEUES: Final = 4
SEND_TIMEOUT_S: Final = 0.6
ASK_EVERY_S: Final = 0.1
PAUSE_S: Final = 0.02
BODY_SIZE: Final = 400

Place = tuple[int, int]
"""Queue id and queue offset."""


@dataclass(slots=True)
class Seen:
    """Everything that was sent, acknowledged and read, and when sends were acknowledged."""

    sent: set[bytes] = field(default_factory=set)
    acknowledged: dict[bytes, Place] = field(default_factory=dict)
    by_old_route: set[bytes] = field(default_factory=set)
    """Those of ``acknowledged`` that went to a fixed address."""
    read: dict[Place, bytes] = field(default_factory=dict)
    taken_back: set[Place] = field(default_factory=set)
    """Places at which readers found one message first, and another one later."""
    ok_s: list[float] = field(default_factory=list)
    """When senders that follow the master were answered SEND_OK, by the steady clock."""
    ok_address: list[str] = field(default_factory=list)
    """Who answered, for each of ``ok_s``."""

    def longest_gap(self, begin_s: float, end_s: float) -> float:
        """Return the longest time without an accepted send, of those that touch a span."""
        last_s = begin_s
        longest = 0.0
        for ok_s in (*(at for at in self.ok_s if begin_s <= at <= end_s), end_s):
            longest = max(longest, ok_s - last_s)
            last_s = ok_s
        return longest


class Compass:
    """Knows where the name server says that the master is."""

    def __init__(self, namesrv: str, broker_name: str) -> None:
        self.master = ""
        self._namesrv = namesrv
        self._broker_name = broker_name

    async def follow(self) -> None:
        """Ask again and again, until this is cancelled."""
        async with MQClient(self._namesrv, timeout_s=2) as client:
            admin = Admin(client)
            while True:
                with contextlib.suppress(ClientError):
                    info = await admin.cluster_info()
                    data = info.broker_addr_table.get(self._broker_name)
                    self.master = data.broker_addrs.get(0, "") if data else ""
                await asyncio.sleep(ASK_EVERY_S)


def send_command(body: bytes, queue_id: int) -> Command:
    """Return a send of one message."""
    header = SendMessageV2(
        producer_group="failover",
        topic=TOPIC,
        default_topic="TBW102",
        default_topic_queue_nums=QUEUES,
        queue_id=queue_id,
        sys_flag=0,
        born_timestamp=time.time_ns() // 1_000_000,
        flag=0,
        properties=f"KEYS\1{body[:24].decode()}\2WAIT\1true",
        reconsume_times=0,
        unit_mode=False,
        batch=False,
    )
    return Command.request(RequestCode.SEND_MESSAGE_V2, header, body=body)


async def send_on(
    seen: Seen, name: str, where: Callable[[], str], *, is_old_route: bool = False
) -> None:
    """Send one message after the other until this is cancelled."""
    client = RemotingClient()
    try:
        for number in range(1_000_000_000):
            address = where()
            body = f"{name}-{number}".encode().ljust(BODY_SIZE, b".")
            if address and await _send(client, seen, address, body, number % QUEUES):
                if is_old_route:
                    seen.by_old_route.add(body)
                else:
                    seen.ok_s.append(time.monotonic())
                    seen.ok_address.append(address)
            await asyncio.sleep(PAUSE_S)
    finally:
        await client.close()


async def _send(
    client: RemotingClient, seen: Seen, address: str, body: bytes, queue_id: int
) -> bool:
    seen.sent.add(body)
    try:
        command = send_command(body, queue_id)
        answer = await client.invoke(address, command, timeout_s=SEND_TIMEOUT_S)
    except (RemotingError, OSError):
        return False
    if answer.code != 0:
        return False
    said = answer.header(SendMessageResponse)
    seen.acknowledged[body] = (said.queue_id, said.queue_offset)
    return True


async def read_on(seen: Seen, namesrv: str, broker_name: str, queue_id: int) -> None:
    """Read a queue from its start on until this is cancelled."""
    next_offset = 0
    while True:
        async with MQClient(namesrv, timeout_s=2) as client:
            consumer = PullConsumer(client, "failover_readers")
            queue = MessageQueue(TOPIC, broker_name, queue_id)
            with contextlib.suppress(ClientError):
                while True:
                    pulled = await consumer.pull(queue, queue_offset=next_offset)
                    for message in pulled.messages:
                        place = (queue_id, message.queue_offset)
                        if seen.read.setdefault(place, message.body) != message.body:
                            seen.taken_back.add(place)
                        next_offset = message.queue_offset + 1
                    if not pulled.messages:
                        # After a switch the queue may end before what was read of it.
                        next_offset = min(next_offset, pulled.max_offset)
                        await asyncio.sleep(ASK_EVERY_S)
        await asyncio.sleep(ASK_EVERY_S)


async def read_all(namesrv: str, broker_name: str) -> dict[Place, bytes]:
    """Return every message that the master has in the end, by its place."""
    found: dict[Place, bytes] = {}
    async with MQClient(namesrv, timeout_s=60) as client:
        consumer = PullConsumer(client, "failover_check")
        for queue_id in range(QUEUES):
            queue, next_offset = MessageQueue(TOPIC, broker_name, queue_id), 0
            while True:
                pulled = await consumer.pull(queue, queue_offset=next_offset)
                if not pulled.messages:
                    break
                for message in pulled.messages:
                    found[queue_id, message.queue_offset] = message.body
                    next_offset = message.queue_offset + 1
    return found
