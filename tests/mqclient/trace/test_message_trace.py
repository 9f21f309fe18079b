"""Traces: text equal to that of Java's encoder, and the traces of one message."""

import asyncio

from mqclient.client.instance import MQClient
from mqclient.consumer.consumer_settings import PushSettings
from mqclient.consumer.listener.listeners import (
    ConsumeConcurrentlyContext,
    ConsumeConcurrentlyStatus,
)
from mqclient.consumer.push_consumer import PushConsumer
from mqclient.message import Message, MessageExt
from mqclient.producer.producer import Producer
from mqclient.trace.message_trace import MessageTrace
from mqclient.trace.trace_data import MessageType, keys_of, record
from remoting.bodies import ConsumeFromWhere
from storefmt.names import TRACE_TOPIC
from tests.mqclient.consuming import polling


def shown(text: str) -> str:
    return text.replace("\x01", "|").replace("\x02", "#")


def test_records_equal_those_of_the_java_encoder() -> None:
    pub = record(
        "Pub", 111, "R", "G", "TP", "MID", "TG", "K1 K2", "1.2.3.4:10911", 5, 7,
        MessageType.NORMAL, "OID", True,
    )  # fmt: skip
    after = record("SubAfter", "REQ", "MID", 7, True, "K1 K2", 3, 111, "G")

    assert shown(pub) == "Pub|111|R|G|TP|MID|TG|K1 K2|1.2.3.4:10911|5|7|0|OID|true#"
    assert shown(after) == "SubAfter|REQ|MID|7|true|K1 K2|3|111|G#"
    assert keys_of("MID", "K1 K2") == {"K1", "K2", "MID"}


async def test_a_message_leaves_three_records_under_its_id(client: MQClient) -> None:
    trace = MessageTrace(client)
    producer = Producer(client)
    producer.register_send_hook(trace)
    sent = await producer.send(Message("Traced", b"x", tags="A", keys="k1"))
    done = asyncio.Event()
    settings = PushSettings(consume_from_where=ConsumeFromWhere.CONSUME_FROM_FIRST_OFFSET)
    async with PushConsumer(client, "traced", settings) as consumer:
        consumer.subscribe("Traced")
        consumer.register_consume_hook(trace)

        @consumer.concurrently
        async def listen(
            messages: list[MessageExt], context: ConsumeConcurrentlyContext
        ) -> ConsumeConcurrentlyStatus:
            done.set()
            return ConsumeConcurrentlyStatus.CONSUME_SUCCESS

        await consumer.start()
        await asyncio.wait_for(done.wait(), 60)
    await trace.shutdown()
    async with polling(client, "trace-reader", TRACE_TOPIC) as reader:
        found: list[MessageExt] = []
        # The records may be in messages of several queues.
        kinds = b"Pub", b"SubBefore", b"SubAfter"
        async with asyncio.timeout(60):
            while not all(kind in b"".join(each.body for each in found) for kind in kinds):
                found += await reader.poll(1000)
    assert all({sent.unique_key, "k1"} <= set(each.keys) for each in found)
    found.sort(key=lambda each: each.log_offset)

    text = shown("".join(each.body.decode() for each in found))
    parts = [part.partition("|")[0] for part in text.split("#")[:-1]]
    assert parts == ["Pub", "SubBefore", "SubAfter"]
    assert "|Traced|" in text
    assert "|true|k1|0|" in text
