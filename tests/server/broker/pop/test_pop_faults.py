"""What a broker answers to pops and acknowledgements that cannot be, with the texts of 5.4.0."""

from pathlib import Path

import pytest

from mqserver.store.disk import mapped
from remoting.bodies import BatchAck, BatchAckMessageRequestBody
from remoting.codes import LaterCode, RequestCode
from remoting.command import Command
from remoting.headers import Notification, PeekMessage, PollingInfo
from remoting.receipt import ReceiptHandle
from storefmt.config.tables import SubscriptionGroup
from storefmt.formats.message import decode_records
from tests.server.broker.desk import GROUP, TOPIC, Desk, with_topic
from tests.server.broker.pop.popdesk import ack, ask_pop, bodies, hide, pop, pop_header
from tests.server.broker.pop.test_pop import open_count, sent
from tests.waiting import until

FAQ = "\nSee https://rocketmq.apache.org/docs/bestPractice/06FAQ for further details."
ILLEGAL_QUEUE = "queueId[9] is illegal, topic:[T] topicConfig.readQueueNums:[1] consumer:[/"


def seen(answer: Command) -> tuple[int, str]:
    return answer.code, answer.remark or ""


@pytest.mark.parametrize(
    ("changes", "code", "remark"),
    [
        ({"max_msg_nums": 33}, 29, "the broker[127.0.0.1] pop message's num is greater than 32"),
        ({"max_msg_nums": -1}, 29, "the broker[127.0.0.1] pop message's num is -1"),
        ({"topic": "nope"}, 17, f"topic[nope] not exist, apply first please! {FAQ}"),
        ({"queue_id": 9}, 29, ILLEGAL_QUEUE),
        ({"born_time": 1}, 210, "the broker[127.0.0.1] pop message is timeout too much"),
        ({"exp": "||"}, 23, "parse the consumer's subscription failed"),
        ({"exp": "a >", "exp_type": "SQL92"}, 23, "parse the consumer's subscription failed: "),
        ({"exp": "x" * 70_000}, 23, "the expression has 70000 characters, the limit is 65536"),
        ({"consumer_group": "no"}, 16, "subscription group no permission, no"),
        ({"consumer_group": "a" * 130}, 29, "the names of group and topic are too long together"),
    ],
)
async def test_pop_that_cannot_be_is_refused(
    desk: Desk, changes: dict[str, object], code: int, remark: str
) -> None:
    await sent(desk, 1)
    closed = SubscriptionGroup(group_name="no", consume_enable=False)
    desk.app.broker.groups.put(closed, now_ms=0)

    answer = await ask_pop(desk, **changes)

    assert (answer.code, (answer.remark or "")[: len(remark)]) == (code, remark)
    assert not open_count(desk)
    assert bodies(await pop(desk)) == [b"0"]


@pytest.mark.parametrize(
    ("changes", "code", "remark"),
    [
        ({"queue_id": 9}, 13, ILLEGAL_QUEUE),
        ({"queue_id": -1}, 13, "queueId[-1] is illegal"),
        ({"offset": 99}, 208, "offset is illegal, key:T@0, commit:99, store:0~1"),
        ({"topic": "nope"}, 17, f"topic[nope] not exist, apply first please! {FAQ}"),
        ({"extra_info": "x y"}, 1, "extraInfo 'x y': 2 words instead of 8 or 9"),
        ({"extra_info": "0 1 1 77 0 b 0 0"}, 13, "the receipt handle names queue 77"),
    ],
)
async def test_acknowledgement_that_cannot_be_is_refused_and_loses_nothing(
    desk: Desk, changes: dict[str, object], code: int, remark: str
) -> None:
    await sent(desk, 1)
    (one,) = await pop(desk)

    answer = await ack(desk, one.handle, **changes)
    longer = await hide(desk, one.handle, invisible_ms=9_000, **changes)

    assert answer.code == code
    assert remark in (answer.remark or "")
    assert longer.code == code
    await until(lambda: open_count(desk) == 1, what="the pop open")


async def test_acknowledgement_that_means_nothing_is_answered_as_by_5_4_0(desk: Desk) -> None:
    await sent(desk, 2)
    first, _ = await pop(desk)
    others = ReceiptHandle(0, 5, 60_000, 3, "0", "broker-a", 0, 1)

    answers = [
        await ack(desk, first.handle, group="other"),
        await ack(desk, others),
        await ack(desk, first.handle),
        await ack(desk, first.handle),
    ]

    assert [seen(answer) for answer in answers] == [(0, "")] * 4
    await until(lambda: _left(desk) == [1], what="one of two acknowledged")


async def batch(desk: Desk, *acks: BatchAck) -> Command:
    body = BatchAckMessageRequestBody(broker_name="broker-a", acks=list(acks)).encode()
    return await desk.ask(LaterCode.BATCH_ACK_MESSAGE, body=body)


async def test_batch_acknowledges_several_messages_at_once(desk: Desk) -> None:
    await sent(desk, 12)
    popped = await pop(desk)
    handle = popped[0].handle
    most = BatchAck(
        consumer_group=GROUP,
        topic=TOPIC,
        start_offset=handle.start_offset,
        revive_queue_id=handle.revive_queue_id,
        pop_time=handle.pop_time_ms,
        invisible_time=handle.invisible_ms,
        # Bits 0 to 10, as Java writes a BitSet.
        bits="/wc=",
    )
    answer = await batch(desk, most)
    await until(lambda: _left(desk) == [11], what="eleven of twelve acknowledged")
    await ack(desk, popped[11].handle)
    await until(lambda: not open_count(desk), what="the pop closed")
    empty = await desk.ask(LaterCode.BATCH_ACK_MESSAGE)
    bad = await batch(desk, BatchAck(consumer_group=GROUP, topic=TOPIC, bits="?"))

    assert seen(answer) == (0, "")
    assert empty.code == 208
    assert bad.code == 1
    assert "BatchAck.b is not Base64" in (bad.remark or "")


def _left(desk: Desk) -> list[int]:
    queues = desk.app.broker.pops.revive._queues
    found = [queue.oldest() for queue in queues]
    return [at for pop in found if pop is not None for at in pop.left()]


async def test_peek_polling_info_and_notification(desk: Desk) -> None:
    await sent(desk, 3)
    queue = {"consumer_group": GROUP, "topic": TOPIC, "queue_id": -1}
    header = PeekMessage(**queue, max_msg_nums=2)
    notification = Notification(**queue, poll_time=0, born_time=0)

    peeked = await desk.ask(LaterCode.PEEK_MESSAGE, header)
    there = await desk.ask(LaterCode.NOTIFICATION, notification)
    popped = await pop(desk)
    gone = await desk.ask(LaterCode.PEEK_MESSAGE, header)
    none = await desk.ask(LaterCode.NOTIFICATION, notification)

    assert [record.body for record in decode_records(peeked.body)] == [b"0", b"1"]
    assert peeked.ext["restNum"] == "1"
    assert len(popped) == 3
    assert (gone.code, gone.remark) == (19, "NO_MESSAGE_IN_QUEUE")
    assert there.ext == {"hasMsg": "true", "pollingFull": "false"}
    assert none.ext == {"hasMsg": "false", "pollingFull": "false"}
    for code in (LaterCode.PEEK_MESSAGE, LaterCode.POLLING_INFO, LaterCode.NOTIFICATION):
        wrong = PollingInfo(consumer_group=GROUP, topic=TOPIC, queue_id=9)
        ext = {**pop_header().to_ext(), **wrong.to_ext()}
        command = Command(code=code, ext=ext, ext_written=True)
        answer = await desk.client.invoke(desk.address, command, timeout_s=60)
        assert answer.code == 29
        assert (answer.remark or "").startswith(ILLEGAL_QUEUE)


async def test_pop_of_much_is_answered_although_others_wait(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    # As if the messages were not in the mapped part of the log.
    monkeypatch.setattr(mapped, "_join", lambda view, parts, base: None)
    await desk.create_topic(queues=2)
    await desk.heartbeat()
    for number in range(10):
        # So far apart that each is a read of its own.
        await desk.send(body=b"%d " % number * 2_500)
        await desk.send(body=bytes(12_000), queue_id=1)
    desk.app.broker.cold.slices.is_waited_for = lambda: True

    found = await pop(desk, queue_id=0)

    assert [one.body[:1] for one in found] == [b"%d" % number for number in range(10)]


async def test_sql_filter_passes_over_what_it_does_not_want(tmp_path: Path) -> None:
    async with with_topic(tmp_path, enable_property_filter=True) as desk:
        for number in range(10):
            await desk.send(b"%d" % number, properties=f"a\x01{number}")

        found = await pop(desk, exp="a > 3 AND a < 6", exp_type="SQL92")

        assert bodies(found) == [b"4", b"5"]
        assert await pop(desk) == []


async def test_a_group_that_begins_at_the_end_gets_what_is_young(desk: Desk) -> None:
    await sent(desk, 3)

    # As in Java: all of a queue whose first message is in memory.
    assert len(await pop(desk, init_mode=1)) == 3


async def test_deleted_topic_answers_what_waits_and_forgets_what_was_popped(desk: Desk) -> None:
    await sent(desk, 1)
    await pop(desk, invisible_time=1)
    desk.app.broker.topics.delete(TOPIC, now_ms=0)

    await until(lambda: not open_count(desk), what="the pop closed")

    assert not desk.app.broker.store.has(f"%RETRY%{GROUP}_{TOPIC}")


async def test_one_way_pop_takes_nothing(desk: Desk) -> None:
    await sent(desk, 1)
    command = Command.request(LaterCode.POP_MESSAGE, pop_header(), oneway=True)
    await desk.client.invoke_oneway(desk.address, command)
    await desk.ask(RequestCode.GET_ALL_DELAY_OFFSET)

    assert bodies(await pop(desk)) == [b"0"]
