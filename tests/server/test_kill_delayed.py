"""SIGKILL while delayed messages are delivered to topics that sends have just made.

Every life sends to a topic of its own, which the first send creates, so that some kills come
directly after the first acknowledgement. In the end each acknowledged message is in its topic
once: none is lost with its topic, and none is delivered twice. This holds with ASYNC_FLUSH as
well, because a SIGKILL leaves the page cache.
"""

import asyncio
import contextlib
import random
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

from mqclient import Producer
from mqclient.client.instance import MQClient
from mqclient.errors import ClientError
from mqclient.message import Message
from mqclient.producer.send_result import SendStatus
from tests.server.failover import all_messages
from tests.server.kills.supervisor import Supervisor
from tests.waiting import eventually, until

SEED = 20261122
SENDERS = 4


class Load:
    """Senders of delayed messages that note what was acknowledged."""

    def __init__(self, namesrv: str) -> None:
        self.namesrv = namesrv
        self.acknowledged: dict[str, set[bytes]] = {}

    async def run(self, life: int, more: int, kill: Callable[[], None]) -> None:
        """Send until some messages more than the first are acknowledged, then kill."""
        known = self.acknowledged[f"life_{life}"] = set()
        async with MQClient(self.namesrv, timeout_s=60) as client:
            producer = Producer(client)
            senders = [
                asyncio.create_task(self._send(producer, f"life_{life}", number, known))
                for number in range(SENDERS)
            ]
            await until(lambda: len(known) > more)
            kill()
            for sender in senders:
                sender.cancel()
            await asyncio.gather(*senders, return_exceptions=True)

    async def _send(self, producer: Producer, topic: str, number: int, known: set[bytes]) -> None:
        for count in range(1_000_000):
            body = b"%d-%d" % (number, count)
            try:
                result = await producer.send(Message(topic, body, delay_level=1))
            except ClientError:
                return
            if result.status is SendStatus.SEND_OK:
                known.add(body)

    async def stored(self, topic: str) -> Counter[bytes]:
        """Return how often each message can be read."""
        return Counter([one.body async for one in all_messages(self.namesrv, topic)])

    async def check(self) -> int:
        """Assert that each acknowledged message is there once; return how many there are."""
        count = 0
        for topic, known in self.acknowledged.items():
            found = await eventually(
                lambda topic=topic: self.stored(topic),
                lambda found, known=known: known <= found.keys(),
            )
            assert {body: times for body, times in found.items() if times > 1} == {}, topic
            count += len(known)
        return count


@pytest.mark.parametrize("flush", ["SYNC_FLUSH", "ASYNC_FLUSH"])
@pytest.mark.parametrize("kills", [4, pytest.param(100, marks=pytest.mark.soak)])
def test_kills_lose_no_new_topic_and_deliver_each_delayed_message_once(
    tmp_path: Path, kills: int, flush: str
) -> None:
    print(f"seed {SEED}")
    chance = random.Random(SEED)

    with contextlib.closing(Supervisor(tmp_path, target="ours", flush=flush)) as supervisor:
        load = Load(supervisor.namesrv)
        for life in range(kills):
            supervisor.start()
            # Long enough for deliveries in every other life.
            more = chance.choice([0, 1, 3]) if life % 2 else chance.randrange(200, 2_000)
            asyncio.run(load.run(life, more, supervisor.kill))
        supervisor.start()
        count = asyncio.run(load.check())

    print(f"{kills} kills, {count} acknowledged, each read once")
