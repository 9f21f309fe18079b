"""What may not be stored is refused with the real broker's code, in its words.

Each case is one frame, sent to the real broker and to ours; only the number of the port and
what is said about the disk are blanked out.
"""

import asyncio
import re
from dataclasses import dataclass, field

from remoting.codes import RequestCode
from remoting.command import Command
from remoting.headers import GetMaxOffset
from storefmt.formats.batch import BatchEntry, join_batch
from tests.interop.kit.our_clients import asking
from tests.interop.kit.servers import Broker
from tests.server.broker.desk import create, pull, send
from tests.waiting import eventually

TOPIC = "PutChecks"
MOST = 4 << 20
ONE = join_batch([BatchEntry(0, b"one", b"TAGS\1A")])
LARGE = join_batch([BatchEntry(0, b"x" * MOST, b"")])


@dataclass(frozen=True)
class Case:
    """One send, or several in one batch."""

    name: str
    body: bytes = b"body"
    changes: dict[str, object] = field(default_factory=dict)
    code: int = RequestCode.SEND_MESSAGE_V2
    with_remark: bool = True
    """False where Java answers the text of an exception, stack and all."""


def batch(name: str, body: bytes, *, with_remark: bool = True, **changes: object) -> Case:
    return Case(name, body, {"batch": True, **changes}, RequestCode.SEND_BATCH_MESSAGE, with_remark)


CASES = [
    Case("a message"),
    Case("a body too large", b"x" * (MOST + 1)),
    Case("no body", b""),
    Case("properties that fit", changes={"properties": "KEYS\1" + "k" * 32_730}),
    Case("properties too large", changes={"properties": "KEYS\1" + "k" * 32_763}),
    Case("with CLUSTER too large", changes={"properties": "KEYS\1" + "k" * 32_750}),
    Case("properties too large in bytes", changes={"properties": "KEYS\1" + "é" * 20_000}),
    Case("a topic of 127", changes={"topic": "t" * 127}),
    Case("a topic of 128", changes={"topic": "t" * 128}),
    Case("a topic with a dot", changes={"topic": "a.b"}),
    Case("a topic with a slash", changes={"topic": "../a"}),
    Case("no topic", changes={"topic": ""}),
    Case("a topic of the broker's own", changes={"topic": "SCHEDULE_TOPIC_XXXX"}),
    Case("half messages", changes={"topic": "RMQ_SYS_TRANS_HALF_TOPIC"}),
    Case("no such topic", changes={"topic": "Nowhere", "default_topic": "Neither"}),
    Case("no such queue", changes={"queue_id": 99}),
    Case("any queue", changes={"queue_id": -1}),
    Case("a level that is too high", changes={"properties": "DELAY\00199"}),
    Case("a level below", changes={"properties": "DELAY\1-1"}),
    Case("a level that is none", changes={"properties": "DELAY\1x"}, with_remark=False),
    batch("a batch", ONE),
    batch("a batch too large", LARGE),
    batch("a delayed batch", ONE, properties="DELAY\0011"),
    batch("a batch with a level below", ONE, properties="DELAY\1-2"),
    batch("a delayed message in a batch", join_batch([BatchEntry(0, b"x", b"DELAY\0011")])),
    batch("a batch in a transaction", ONE, sys_flag=4),
    batch("a batch to no such queue", ONE, queue_id=99),
    batch("half a batch", ONE[:-1], with_remark=False),
]


async def answers(broker: Broker) -> dict[str, Command]:
    """Return what a broker answers to each case."""
    found = {}
    async with asking(broker.address) as ask:
        await ask(RequestCode.UPDATE_AND_CREATE_TOPIC, create(TOPIC))
        for case in CASES:
            header = send(**{"topic": TOPIC, **case.changes})
            found[case.name] = await ask(case.code, header, case.body)
    return found


def told(answer: Command, *, with_remark: bool) -> tuple[int, str | None]:
    remark = answer.remark if with_remark else None
    return answer.code, remark and re.sub(r"127\.0\.0\.1:\d+", "<client>", remark)


def test_message_larger_than_a_log_file_is_refused_where_java_loses_it(
    java_broker: Broker, our_broker: Broker
) -> None:
    async def scene(broker: Broker) -> tuple[int, bool]:
        topic = "LargerThanAFile"
        large, look = send(topic=topic), GetMaxOffset(topic=topic, queue_id=0)
        async with asking(broker.address) as ask:

            async def stored() -> str:
                return (await ask(RequestCode.GET_MAX_OFFSET, look)).ext["offset"]

            await ask(RequestCode.UPDATE_AND_CREATE_TOPIC, create(topic))
            answer = await ask(RequestCode.SEND_MESSAGE_V2, large, b"x" * (2 << 20))
            before = await stored()
            await ask(RequestCode.SEND_MESSAGE_V2, large, b"small")
            await eventually(stored, lambda offset: offset != before)
            first = await ask(RequestCode.PULL_MESSAGE, pull(topic=topic, queue_offset=0))
            return answer.code, b"small" in first.body

    assert asyncio.run(scene(our_broker)) == (13, True)
    # Java says it is stored, and the next message has its place.
    assert asyncio.run(scene(java_broker)) == (0, True)


def test_both_refuse_the_same_sends_in_the_same_words(
    java_broker: Broker, our_broker: Broker
) -> None:
    java, ours = (asyncio.run(answers(broker)) for broker in (java_broker, our_broker))

    def all_told(found: dict[str, Command]) -> dict[str, tuple[int, str | None]]:
        return {case.name: told(found[case.name], with_remark=case.with_remark) for case in CASES}

    assert all_told(ours) == all_told(java)
    assert {java[case.name].code for case in CASES} >= {0, 1, 13, 16, 17}
