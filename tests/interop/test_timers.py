"""Timer messages between our broker and the real 5.4.0: its client on ours, and stores both ways.

first: some delivered, some waiting, one recalled ── stop ──> second: delivers those, none twice
"""

import asyncio
import time
from pathlib import Path

import pytest

from mqclient.admin.admin import Admin
from mqclient.client.instance import MQClient
from mqclient.errors import NoRoute
from mqclient.message import Message
from mqclient.producer.producer import Producer
from remoting.bodies import MessageQueue
from storefmt.config.tables import TopicConfig
from storefmt.formats.properties import TIMER_DEL_UNIQUE_KEY, TIMER_DELIVER_MS
from tests.interop.kit.our_clients import make_topic, read_queue, run
from tests.interop.kit.servers import Broker, JavaSide, Namesrv, OurSide, Side, running_pair
from tests.interop.kit.toolbox import alone
from tests.waiting import eventually

TOPIC = "Timed"
QUEUE = MessageQueue(TOPIC, "timed", 0)
COUNT = 5
SOON_MS, LATE_MS = 2_000, 60_000
SETTLED_S = 3.0
TICK_MS = 1_000
LATENESS_MS = 15_000
"""How late a message may be on a machine that does much else; our own tests are strict."""
ILLEGAL = (
    "timer message illegal, the delay time should not be bigger than the max delay 259200000ms; "
    "or if set del msg, the delay time should be bigger than the current time"
)


@pytest.mark.parametrize("whose", ["java", "ours"])
def test_client_of_5x_delays_and_recalls(
    whose: str, five: JavaSide, our_side: OurSide, tmp_path: Path
) -> None:
    side: Side = five if whose == "java" else our_side
    with running_pair(
        side, tmp_path / "store", settings={"recallMessageEnable": "true"}
    ) as servers:
        make_topic(servers, TOPIC, 4)
        spec = {"namesrv": servers.namesrv.address, "topic": TOPIC, "broker": "broker-a"}
        spec["delay"] = "4000"
        lines = alone(five, "FiveTimers", spec, flags=())

    sent = {line["body"]: line for line in lines if line["event"] == "sent"}
    got = {line["body"]: line["stored"] for line in lines if line["event"] == "message"}
    (recalled,) = [line for line in lines if line["event"] == "recalled"]
    refused = {line["what"]: line for line in lines if line["event"] == "refused"}
    assert all(line["handle"] for line in sent.values())
    assert recalled["answer"] == recalled["key"]
    assert sorted(got) == ["at", "millis", "seconds"]
    for body, stored_ms in got.items():
        # The program noted the time before it sent those with a delay.
        assert -5 <= stored_ms - sent[body]["due"] <= TICK_MS + LATENESS_MS
    assert (refused["late"]["code"], refused["handle"]["code"]) == (13, 604)
    assert refused["late"]["text"].startswith(ILLEGAL)
    assert refused["handle"]["text"].startswith("recall failed, timestamp invalid")


async def send(client: MQClient, address: str) -> int:
    """Send messages that are due soon, and others that are due late, of which one is recalled.

    Return when the late ones are due.
    """
    admin, producer = Admin(client), Producer(client)
    await eventually(
        lambda: admin.create_topic(address, TopicConfig(TOPIC, 1, 1)),
        lambda _: True,
        timeout_s=60,
    )

    async def timed(body: bytes, due_ms: int, **more: str) -> str:
        properties = {TIMER_DELIVER_MS: str(due_ms), **more}
        message = Message(TOPIC, body, properties=properties)
        return (await producer.send(message, queue=QUEUE)).unique_key

    late_ms = time.time_ns() // 1_000_000 + LATE_MS
    for number in range(COUNT):
        await timed(b"soon %d" % number, time.time_ns() // 1_000_000 + SOON_MS)
        await timed(b"late %d" % number, late_ms)
    recalled = await timed(b"recalled", late_ms)
    await timed(b"0", late_ms, **{TIMER_DEL_UNIQUE_KEY: recalled})
    await eventually(lambda: admin.max_offset(QUEUE), lambda end: end >= COUNT, timeout_s=60)
    # Let the first broker write its progress.
    await asyncio.sleep(SETTLED_S)
    return late_ms


async def receive(client: MQClient) -> list[tuple[bytes, int]]:
    """Return body and store time of what is delivered in the end."""
    admin = Admin(client)

    async def delivered() -> int:
        # Unlike 4.9, 5.4.0 says that it serves before the name server knows of it.
        try:
            return await admin.max_offset(QUEUE)
        except NoRoute:
            return 0

    await eventually(
        delivered,
        lambda end: end >= 2 * COUNT,
        timeout_s=LATE_MS / 1000 + 90,
    )
    # Whatever comes twice, or was recalled, would come with the others of its slot.
    await asyncio.sleep(SETTLED_S)
    messages = await read_queue(client, QUEUE, await admin.max_offset(QUEUE))
    return [(message.body, message.record.store_ms) for message in messages]


@pytest.mark.parametrize("order", ["java first", "ours first"])
@pytest.mark.parametrize("end", [pytest.param("stop", marks=pytest.mark.soak), "kill"])
def test_the_other_broker_delivers_what_waits(
    order: str, end: str, five: JavaSide, our_side: OurSide, our_namesrv: Namesrv, tmp_path: Path
) -> None:
    sides: list[Side] = [five, our_side]
    if order == "ours first":
        sides.reverse()

    def start(side: Side) -> Broker:
        return Broker(
            side,
            store=tmp_path / "store",
            namesrv=our_namesrv.address,
            settings={
                "brokerName": "timed",
                "mappedFileSizeTimerLog": "100000",
                # What a kill leaves must be that of a broker as it is.
                "timerFlushIntervalMs": "1000",
            },
        ).await_ready()

    broker = start(sides[0])
    try:
        late_ms = run(our_namesrv.address, lambda client: send(client, broker.address))
        if end == "stop":
            assert broker.stop() in (0, 143)
        else:
            broker.kill()
        broker = start(sides[1])
        found = run(our_namesrv.address, receive)
    finally:
        broker.kill()

    soon, late = found[:COUNT], found[COUNT:]
    assert {body for body, _ in soon} == {b"soon %d" % n for n in range(COUNT)}
    assert sorted(body for body, _ in late) == [b"late %d" % n for n in range(COUNT)]
    for _, stored_ms in late:
        assert stored_ms - late_ms >= 0


OTHER = "Suppressor"
RECALLED_MS = 15_000


async def recall_of_another_topic(client: MQClient, address: str) -> list[bytes]:
    """Return what is delivered of two messages, of which a third topic recalls the first."""
    admin, producer = Admin(client), Producer(client)
    for topic in (TOPIC, OTHER):
        made = TopicConfig(topic, 1, 1)
        await eventually(
            lambda made=made: admin.create_topic(address, made), lambda _: True, timeout_s=60
        )
    due_ms = time.time_ns() // 1_000_000 + RECALLED_MS
    timed = {TIMER_DELIVER_MS: str(due_ms)}
    victim = await producer.send(Message(TOPIC, b"victim", properties=timed), queue=QUEUE)
    await producer.send(Message(TOPIC, b"witness", properties=timed), queue=QUEUE)
    recall = {**timed, TIMER_DEL_UNIQUE_KEY: victim.unique_key}
    other = MessageQueue(OTHER, "timed", 0)
    await producer.send(Message(OTHER, b"0", properties=recall), queue=other)
    await eventually(lambda: admin.max_offset(QUEUE), lambda end: end >= 1, timeout_s=90)
    await asyncio.sleep(SETTLED_S)
    messages = await read_queue(client, QUEUE, await admin.max_offset(QUEUE))
    return sorted(message.body for message in messages)


@pytest.mark.parametrize(
    ("whose", "delivered"), [("java", [b"witness"]), ("ours", [b"victim", b"witness"])]
)
def test_recall_of_another_topic_reaches_a_message_of_java_and_not_ours(
    whose: str,
    delivered: list[bytes],
    five: JavaSide,
    our_side: OurSide,
    our_namesrv: Namesrv,
    tmp_path: Path,
) -> None:
    broker = Broker(
        five if whose == "java" else our_side,
        store=tmp_path / "store",
        namesrv=our_namesrv.address,
        settings={"brokerName": "timed"},
    ).await_ready()
    try:
        found = run(
            our_namesrv.address, lambda client: recall_of_another_topic(client, broker.address)
        )
    finally:
        broker.kill()

    assert found == delivered
