"""Delayed messages that one broker stored, and the other delivers.

first: some delivered, some waiting ── stop ──> second: delivers those, none twice
"""

import asyncio
from pathlib import Path

from mqclient.admin.admin import Admin
from mqclient.client.instance import MQClient
from mqclient.message import Message
from mqclient.producer.producer import Producer
from remoting.bodies import MessageQueue
from storefmt.config.tables import TopicConfig
from tests.interop.kit.our_clients import read_queue, run
from tests.interop.kit.servers import Broker, Namesrv, Side
from tests.waiting import eventually

TOPIC = "Delayed"
COUNT = 5
SETTLED_S = 1.0
SETTINGS = {"messageDelayLevel": "1s 15s"}


def test_the_other_broker_delivers_what_waits(
    sides: list[Side], our_namesrv: Namesrv, tmp_path: Path
) -> None:
    queue = MessageQueue(TOPIC, "delayed", 0)
    settings = {**SETTINGS, "brokerName": "delayed"}

    def start(side: Side) -> Broker:
        return Broker(
            side, store=tmp_path / "store", namesrv=our_namesrv.address, settings=settings
        ).await_ready()

    async def send(client: MQClient) -> None:
        admin, producer = Admin(client), Producer(client)
        await admin.create_topic(broker.address, TopicConfig(TOPIC, 1, 1))
        for number in range(COUNT):
            await producer.send(Message(TOPIC, b"soon %d" % number, delay_level=1), queue=queue)
            await producer.send(Message(TOPIC, b"late %d" % number, delay_level=2), queue=queue)
        await eventually(lambda: admin.max_offset(queue), lambda end: end >= COUNT)

    async def receive(client: MQClient) -> list[bytes]:
        admin = Admin(client)
        await eventually(lambda: admin.max_offset(queue), lambda end: end >= 2 * COUNT)
        # Whatever comes twice would come with the others of its level.
        await asyncio.sleep(SETTLED_S)
        messages = await read_queue(client, queue, await admin.max_offset(queue))
        return [message.body for message in messages]

    broker = start(sides[0])
    try:
        run(our_namesrv.address, send)
        assert broker.stop() in (0, 143)
        broker = start(sides[1])
        bodies = run(our_namesrv.address, receive)
    finally:
        broker.kill()

    assert bodies == [b"soon %d" % n for n in range(COUNT)] + [b"late %d" % n for n in range(COUNT)]
