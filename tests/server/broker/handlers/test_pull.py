"""Pulls over the wire: statuses, filters, and pulls that are held and woken."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path

import pytest

from mqserver.broker.pull.pull_check import TAGS_SIZE_MAX
from remoting.aio.client import RemotingClient
from remoting.codes import LaterCode, RequestCode, ResponseCode, SerializeType
from remoting.command import Command
from remoting.headers import DeleteTopic, GetMaxOffset, PullMessageResponse
from storefmt.config.tables import SubscriptionGroup
from tests.server.broker.desk import GROUP, TOPIC, Desk, heartbeat, pull, with_topic
from tests.waiting import until

WAIT = 2
COMMIT = 1
HELD = {"sys_flag": 4 | WAIT, "queue_offset": 4, "suspend_timeout_millis": 60_000}
"""A pull behind what ``filled`` sends, which therefore waits."""


@asynccontextmanager
async def filled_in(root: Path, **settings: object) -> AsyncIterator[Desk]:
    """Run a broker with four messages in the topic."""
    async with with_topic(root, **settings) as desk:
        for at, tag in enumerate("ABAB"):
            await desk.send(b"m%d" % at, properties=f"TAGS\1{tag}")
        yield desk


@pytest.fixture
def filled(tmp_path: Path) -> AbstractAsyncContextManager[Desk]:
    return filled_in(tmp_path)


async def held(desk: Desk, **changes: object) -> asyncio.Task[Command]:
    """Send a pull behind what ``filled`` sent; return when the broker holds it."""
    header = pull(**{**HELD, **changes})
    waiting = asyncio.create_task(desk.ask(RequestCode.PULL_MESSAGE, header))
    # The task sends its pull first, so that the pull is held when the other request is answered.
    await asyncio.sleep(0)
    queue = GetMaxOffset(topic=header.topic, queue_id=header.queue_id)
    await desk.ask(RequestCode.GET_MAX_OFFSET, queue)
    return waiting


@pytest.mark.parametrize("serialize", list(SerializeType))
async def test_found_messages_come_with_the_next_offset(
    filled: Desk, serialize: SerializeType
) -> None:
    answer = await filled.ask(RequestCode.PULL_MESSAGE, pull(max_msg_nums=3), serialize=serialize)

    assert (answer.code, answer.remark, answer.serialize) == (0, "FOUND", serialize)
    assert answer.header(PullMessageResponse) == PullMessageResponse(
        suggest_which_broker_id=0, next_begin_offset=3, min_offset=0, max_offset=4
    )
    assert answer.body.count(b"TAGS\1") == 3


STATUSES = [
    ({"queue_offset": 4}, 19, "OFFSET_OVERFLOW_ONE", 4),
    ({"queue_offset": 9}, 21, "OFFSET_OVERFLOW_BADLY", 4),
    ({"queue_offset": -1}, 21, "OFFSET_TOO_SMALL", 0),
    ({"subscription": "Z"}, 20, "NO_MATCHED_MESSAGE", 4),
    ({"subscription": "A || B", "queue_offset": 2}, 0, "FOUND", 4),
]


@pytest.mark.parametrize(("changes", "code", "remark", "next_offset"), STATUSES)
async def test_status_and_next_offset_are_javas(
    filled: Desk, changes: dict[str, object], code: int, remark: str, next_offset: int
) -> None:
    answer = await filled.pull(**changes)

    assert (answer.code, answer.remark) == (code, remark)
    assert answer.ext["nextBeginOffset"] == str(next_offset)


@pytest.mark.parametrize(("queue_offset", "code"), [(0, 19), (7, 21)])
async def test_empty_queue_is_not_found_at_its_start_and_moved_elsewhere(
    desk: Desk, queue_offset: int, code: int
) -> None:
    await desk.create_topic()
    answer = await desk.pull(queue_offset=queue_offset)

    assert (answer.code, answer.remark) == (code, "NO_MESSAGE_IN_QUEUE")
    assert answer.ext["nextBeginOffset"] == "0"


REFUSED = [
    ({"topic": "Nowhere"}, 17, "topic[Nowhere] not exist, apply first please!"),
    ({"queue_id": 7}, 1, "queueId[7] is illegal, topic:[T] topicConfig.readQueueNums:[1]"),
    ({"sys_flag": 0}, 24, "the consumer's group info not exist"),
    ({"expression_type": "SQL92", "subscription": "a > 1"}, 1, "filter message by SQL92"),
    ({"subscription": "||"}, 23, "parse the consumer's subscription failed"),
    ({"consumer_group": "bad/group"}, 26, "subscription group [bad/group] does not exist"),
]


@pytest.mark.parametrize(("changes", "code", "text"), REFUSED)
async def test_bad_pulls_are_refused_in_javas_words(
    filled: Desk, changes: dict[str, object], code: int, text: str
) -> None:
    answer = await filled.pull(**changes)

    assert answer.code == code
    assert text in (answer.remark or "")
    assert answer.body == b""


async def test_more_tags_than_a_pull_may_carry_are_refused(filled: Desk) -> None:
    most = "A || B".ljust(TAGS_SIZE_MAX)

    assert (await filled.pull(subscription=most)).code == ResponseCode.SUCCESS
    answer = await filled.pull(subscription=most + " ")

    assert (answer.code, answer.remark) == (
        ResponseCode.SUBSCRIPTION_PARSE_FAILED,
        "the tags have 65537 characters, the limit is 65536",
    )


async def test_topic_that_may_not_be_read_is_refused(desk: Desk) -> None:
    await desk.create_topic(perm=2)
    answer = await desk.pull()

    assert (answer.code, answer.remark) == (16, "the topic[T] pulling message is forbidden")


async def test_registered_subscription_filters_and_must_be_new_enough(filled: Desk) -> None:
    await filled.ask(RequestCode.HEART_BEAT, body=heartbeat(expression="B", version=5))
    known = await filled.pull(sys_flag=0, sub_version=5)
    newer = await filled.pull(sys_flag=0, sub_version=6)
    other_topic = await filled.pull(sys_flag=0, topic="TBW102")

    assert (known.code, known.body.count(b"TAGS\1B"), known.body.count(b"TAGS\1A")) == (0, 2, 0)
    assert (newer.code, newer.remark) == (25, "the consumer's subscription not latest")
    assert other_topic.code == 24


async def test_pull_commits_the_offset_it_carries(filled: Desk) -> None:
    await filled.pull(sys_flag=4 | COMMIT, commit_offset=3)
    assert filled.app.broker.offsets.get(GROUP, TOPIC, queue_id=0) == 3


async def test_held_pull_is_woken_by_a_message_that_suits_it(filled: Desk) -> None:
    waiting = await held(filled, subscription="B")
    await filled.send(b"other", properties="TAGS\1A")
    assert not waiting.done()
    await filled.send(b"wanted", properties="TAGS\1B")
    answer = await waiting

    assert (answer.code, answer.ext["nextBeginOffset"]) == (0, "6")
    assert b"wanted" in answer.body
    assert b"other" not in answer.body


async def test_waking_a_held_pull_needs_no_timer(filled: Desk) -> None:
    turns_max = 5

    # With the producer's answer, or some turns of the loop later: far less than 10 ms.
    found = []
    for at in range(20):
        waiting = await held(filled, queue_offset=4 + at)
        await filled.send(b"wanted")
        for _ in range(turns_max):
            await asyncio.sleep(0)
        found.append(waiting.done())
        await waiting
    assert found == [True] * 20


async def test_held_pull_is_answered_at_its_deadline(filled: Desk) -> None:
    answer = await filled.pull(**{**HELD, "suspend_timeout_millis": 30})

    assert (answer.code, answer.remark) == (19, "OFFSET_OVERFLOW_ONE")
    assert len(filled.app.broker.puller.held) == 0


async def test_held_pull_of_a_closed_connection_is_forgotten(filled: Desk) -> None:
    waiting = await held(filled)
    assert len(filled.app.broker.puller.held) == 1
    await filled.client.close()
    await asyncio.gather(waiting, return_exceptions=True)
    await until(lambda: not list(filled.app._server.connections))
    assert len(filled.app.broker.puller.held) == 0


@pytest.mark.parametrize(
    ("expression", "kind", "size_min"),
    [
        ("wanted || " + " || ".join(map(str, range(2_000))), "TAG", 100_000),
        ("wanted = 1 OR " + " OR ".join(["a > b"] * 200), "SQL92", 400_000),
    ],
)
@pytest.mark.parametrize("is_deleted", [True, False])
async def test_expression_of_a_held_pull_counts_as_in_flight_until_it_is_answered(
    tmp_path: Path, expression: str, kind: str, size_min: int, *, is_deleted: bool
) -> None:
    async with filled_in(tmp_path, enable_property_filter=True) as desk:
        waiting = await held(desk, subscription=expression, expression_type=kind)
        (conn,) = desk.app._server.connections
        held_size = conn.held_size
        if is_deleted:
            await desk.ask(RequestCode.DELETE_TOPIC_IN_BROKER, DeleteTopic(topic=TOPIC))
        else:
            await desk.send(properties="TAGS\1wanted\2wanted\0011")
        answer = await waiting
        left_size = conn.held_size

    assert held_size > size_min
    assert answer.code == (ResponseCode.TOPIC_NOT_EXIST if is_deleted else ResponseCode.SUCCESS)
    assert left_size == 0


async def test_lite_pull_of_newer_clients_is_the_same_request(filled: Desk) -> None:
    assert (await filled.ask(LaterCode.LITE_PULL_MESSAGE, pull())).remark == "FOUND"


async def test_offset_that_is_not_there_leaves_an_event(filled: Desk) -> None:
    await filled.pull(queue_offset=77)
    (event,) = await filled.messages(topic="OFFSET_MOVED_EVENT")
    assert event.tags == GROUP
    assert event.body == (
        b'{"consumerGroup":"G","messageQueue":{"brokerName":"broker-a","queueId":0,"topic":"T"},'
        b'"offsetNew":4,"offsetRequest":77}'
    )


async def test_connection_may_hold_only_so_many_pulls(
    filled: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("mqserver.broker.pull.pull_hold.OWNED_COUNT_MAX", 1)
    first = await held(filled)
    answer = await filled.pull(**HELD)
    await filled.send()
    await first

    assert answer.code == 19


async def test_pulls_that_wait_are_bounded_over_all_connections(tmp_path: Path) -> None:
    async with filled_in(tmp_path, held_pull_count_max=1) as desk:
        first = await held(desk)
        other = RemotingClient()
        request = Command.request(RequestCode.PULL_MESSAGE, pull(**HELD))
        answer = await other.invoke(desk.address, request, timeout_s=60)
        await other.close()
        await desk.send()
        await first

    assert answer.code == 19


async def test_others_are_served_while_many_pulls_are_woken(filled: Desk) -> None:
    count = 1_000
    waiting = [asyncio.create_task(filled.pull(**HELD)) for _ in range(count)]
    await until(lambda: len(filled.app.broker.puller.held) == count)
    await filled.send()

    assert len(filled.app.broker.puller.held) > 0
    assert {answer.code for answer in await asyncio.gather(*waiting)} == {0}


@pytest.mark.parametrize(
    ("now", "code", "tags"), [("A", 0, 1), ("B", 20, 0), ("A || B", 0, 1), (None, 24, 0)]
)
async def test_held_pull_is_answered_by_the_subscription_of_now(
    filled: Desk, now: str | None, code: int, tags: int
) -> None:
    await filled.ask(RequestCode.HEART_BEAT, body=heartbeat(expression="A", version=1))
    waiting = await held(filled, sys_flag=WAIT, sub_version=1)
    changed = heartbeat(topics=(TOPIC,) if now else (), expression=now or "", version=2)
    await filled.ask(RequestCode.HEART_BEAT, body=changed)
    await filled.send(b"a", properties="TAGS\1A")
    answer = await waiting

    assert (answer.code, answer.body.count(b"TAGS\1A")) == (code, tags)


@pytest.mark.parametrize(("enabled", "suggested"), [(False, "0"), (True, "3")])
async def test_group_is_sent_to_its_broker_when_slaves_may_be_read(
    tmp_path: Path, enabled: bool, suggested: str
) -> None:
    async with with_topic(tmp_path, slave_read_enable=enabled) as desk:
        group = SubscriptionGroup(group_name=GROUP, broker_id=3)
        desk.app.broker.groups.put(group, now_ms=0)
        await desk.send()
        answer = await desk.pull()

        assert answer.ext["suggestWhichBrokerId"] == suggested


async def test_short_polling_waits_for_its_own_time_and_not_the_clients(tmp_path: Path) -> None:
    settings = {"long_polling_enable": False, "short_polling_time_ms": 50}
    async with with_topic(tmp_path, **settings) as desk:
        answer = await desk.pull(sys_flag=4 | WAIT, suspend_timeout_millis=60_000)

        assert (answer.code, answer.ext["nextBeginOffset"]) == (19, "0")
