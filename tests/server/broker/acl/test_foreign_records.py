"""An account cannot get records of topics that it may not read, whatever request it sends."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from mqserver.broker.acl.gate import topic_at
from mqserver.runtime.clock import SystemClock
from remoting.acl import sign
from remoting.aio.client import RemotingClient
from remoting.bodies import HeartbeatData, ProducerData
from remoting.codes import RequestCode
from remoting.command import Command
from remoting.headers import ConsumerSendMsgBack, QueryMessage, UnregisterClient, ViewMessage
from storefmt.formats.batch import BatchEntry, join_batch
from storefmt.formats.javahash import index_key_hash, string_hash
from storefmt.formats.message import decode_record
from tests.records import record_bytes
from tests.server.broker.acl.homes import (
    ELSEWHERE,
    OTHER,
    SECRETS,
    USER,
    ask_as,
    control,
    make_topics,
    signed,
    write_home,
)
from tests.server.broker.desk import Desk, running, send, with_topic
from tests.waiting import until

DENIED = "org.apache.rocketmq.acl.common.AclException: "


async def put(desk: Desk, topic: str, body: bytes, properties: str, by: str) -> int:
    """Send a message and return its log offset."""
    header = send(topic=topic, properties=properties)
    answer = await ask_as(desk, by, Command.request(RequestCode.SEND_MESSAGE_V2, header, body=body))
    assert answer.code == 0, answer
    return int(answer.ext["msgId"][16:], 16)


@asynccontextmanager
async def accounts(root: Path, **settings: object) -> AsyncIterator[Desk]:
    """Run a broker where USER has topic T and OTHER has T2."""
    home = write_home(root / "home")
    async with running(root / "store", acl_enable=True, rocketmq_home=home, **settings) as desk:
        await make_topics(desk, "T", "T2")
        yield desk


def by_key(topic: str, key: str) -> Command:
    header = QueryMessage(
        topic=topic, key=key, max_num=32, begin_timestamp=0, end_timestamp=2**63 - 1
    )
    return Command.request(RequestCode.QUERY_MESSAGE, header)


def key_with_hash_of(topic: str, wanted: str) -> str:
    """Return a key of ``topic`` whose index hash is that of ``wanted``, a topic#key."""
    size = 7
    rest = string_hash(wanted) - string_hash(topic + "#") * 31**size
    rest = (rest - sum(40 * 31**place for place in range(size))) % 2**32
    digits = [rest // 31**place % 31 for place in reversed(range(size))]
    key = "".join(chr(40 + digit) for digit in digits)
    assert index_key_hash(f"{topic}#{key}") == index_key_hash(wanted)
    return key


async def test_key_with_the_hash_of_another_topics_key_finds_nothing(tmp_path: Path) -> None:
    async with accounts(tmp_path) as desk:
        await put(desk, "T2", b"secret", "KEYS\1order-1 more\2UNIQ_KEY\1U1", OTHER)
        *crafted, first, second, unique, whole = [
            await ask_as(desk, USER, by_key("T", key_with_hash_of("T", "T2#order-1"))),
            await ask_as(desk, USER, by_key("T", key_with_hash_of("T", "T2#U1"))),
            *[await ask_as(desk, OTHER, by_key("T2", key)) for key in ("order-1", "more", "U1")],
            await ask_as(desk, OTHER, by_key("T2", "order-1 more")),
        ]

    for answer in crafted:
        assert (answer.code, answer.body) == (22, b"")
        assert answer.ext["indexLastUpdateTimestamp"] == "0"
    assert [decode_record(one.body).body for one in (first, second, unique)] == [b"secret"] * 3
    assert whole.code == 22


async def test_key_is_compared_without_accounts_too(desk: Desk) -> None:
    await desk.send(b"secret", topic="T2", properties="KEYS\1order-1")
    crafted = by_key("T", key_with_hash_of("T", "T2#order-1"))
    answer = await desk.client.invoke(desk.address, crafted)

    assert (answer.code, answer.body) == (22, b"")


async def false_record(desk: Desk) -> int:
    """Return the log offset of what looks like a record of T and reaches over one of T2."""
    first = await put(desk, "T", b"", "", USER)
    data = desk.app.broker.store.reader.read_record(first) or b""
    record = decode_record(data)
    # The body of the next message begins 88 bytes behind the end of this one.
    log_offset = first + len(data) + 88
    reach = 1_000
    fake = record_bytes(
        log_offset=log_offset,
        store_ms=record.store_ms,
        store_host=record.store_host,
        body=b"x" * reach,
    )
    tail = fake[-4:]
    hidden = await put(desk, "T", fake[:88], "", USER)
    assert desk.app.broker.store.reader.read_record(hidden) is not None
    await put(desk, "T2", b"secret", "", OTHER)
    # The end of the false record: topic and properties, where its sizes say.
    gap = log_offset + 88 + reach - desk.app.broker.store.written_offset - 88
    await put(desk, "T", b"y" * gap + tail, "", USER)
    assert b"secret" in (desk.app.broker.store.reader.read_record(log_offset) or b"")
    return log_offset


@pytest.mark.parametrize("way", ["view", "send back"])
async def test_bytes_of_a_body_that_look_like_a_record_are_no_message(
    tmp_path: Path, way: str
) -> None:
    async with accounts(tmp_path) as desk:
        log_offset = await false_record(desk)
        view = Command.request(RequestCode.VIEW_MESSAGE_BY_ID, ViewMessage(offset=log_offset))
        back = ConsumerSendMsgBack(offset=log_offset, group="G", delay_level=-1)
        given = Command.request(RequestCode.CONSUMER_SEND_MSG_BACK, back)
        (answer,) = [await ask_as(desk, USER, view if way == "view" else given)]

    assert (answer.code, answer.body) == (1, b"")
    assert (answer.remark or "").startswith(f"{DENIED}No entry of a queue points to log offset")


@pytest.mark.parametrize("code", [10, 310, 320, 324, 325])
def test_a_message_is_copied_only_to_queues_that_its_sender_may_send_to(
    tmp_path: Path, code: int
) -> None:
    root = write_home(tmp_path)
    topic, properties = ("topic", "properties") if code in (10, 324) else ("b", "i")

    def refusal(text: str, body: bytes = b"") -> str:
        command = signed(code, body=body, **{topic: "T", properties: text})
        try:
            control(root).check(ELSEWHERE, command)
        except Exception as error:
            return str(error)
        return ""

    def batch(text: str) -> bytes:
        return join_batch([BatchEntry(0, b"a", b""), BatchEntry(0, b"b", text.encode())])

    mark = "INNER_MULTI_DISPATCH\1"
    assert refusal(f"{mark}P,T") == ""
    assert refusal(f"KEYS\1k\2{mark}P,T2") == "No default permission for topic:T2"
    assert refusal(f"{mark}%LMQ%a") == "No default permission for topic:%LMQ%a"
    assert refusal(f"{mark}%RETRY%G2") == "No default permission for group:G2"
    assert refusal("", batch(f"{mark}P")) == ""
    assert refusal("", batch(f"{mark}P,T2,")) == "No default permission for topic:T2"
    assert refusal("", f"a body about {mark}T2".encode()) == ""


def test_a_trace_may_not_be_copied_to_other_topics(tmp_path: Path) -> None:
    root = write_home(tmp_path)
    trace = {"b": "RMQ_SYS_TRACE_TOPIC"}

    control(root).check(ELSEWHERE, signed(RequestCode.SEND_MESSAGE_V2, **trace))
    with pytest.raises(Exception, match="No default permission for topic:T2"):
        control(root).check(
            ELSEWHERE,
            signed(RequestCode.SEND_MESSAGE_V2, **trace, i="INNER_MULTI_DISPATCH\1T2"),
        )


@pytest.mark.parametrize(
    "topic",
    [
        "SCHEDULE_TOPIC_XXXX",
        "RMQ_SYS_TRANS_HALF_TOPIC",
        "RMQ_SYS_TRANS_OP_HALF_TOPIC",
        "TRANS_CHECK_MAX_TIME_TOPIC",
    ],
)
def test_topics_in_which_messages_of_all_wait_are_in_no_default_permission(
    tmp_path: Path, topic: str
) -> None:
    open_to_all = {
        "accessKey": USER,
        "secretKey": SECRETS[USER],
        "defaultTopicPerm": "SUB",
        "topicPerms": ["T2=DENY"],
        "groupPerms": ["G=SUB"],
    }
    named = {**open_to_all, "topicPerms": [f"{topic}=SUB"]}
    asked = signed(RequestCode.PULL_MESSAGE, topic=topic, consumerGroup="G")

    by_default = control(write_home(tmp_path / "default", accounts=[open_to_all]))
    by_name = control(write_home(tmp_path / "named", accounts=[named]))

    with pytest.raises(Exception, match=f"No default permission for topic:{topic}"):
        by_default.check(ELSEWHERE, asked)
    by_name.check(ELSEWHERE, asked)


def test_the_filter_of_a_group_is_told_to_who_has_a_right_to_the_group(tmp_path: Path) -> None:
    root = write_home(tmp_path)
    code = RequestCode.QUERY_CONSUME_QUEUE

    control(root).check(ELSEWHERE, signed(code, topic="T"))
    control(root).check(ELSEWHERE, signed(code, topic="T", consumerGroup="G"))
    with pytest.raises(Exception, match="No default permission for group:G2"):
        control(root).check(ELSEWHERE, signed(code, topic="T", consumerGroup="G2"))


def as_producer(client_id: str, group: str) -> Command:
    body = HeartbeatData(client_id=client_id, producer_data_set=[ProducerData(group_name=group)])
    return Command.request(RequestCode.HEART_BEAT, body=body.encode())


async def test_a_half_message_is_shown_only_to_producers_that_may_send_to_its_topic(
    tmp_path: Path,
) -> None:
    seen = {name: asyncio.Event() for name in ("stranger", "owner")}
    bodies: list[bytes] = []
    settings = {
        "transaction_time_out_ms": 0,
        "transaction_check_interval_ms": 20,
        "transaction_check_max": 1_000_000,
    }
    async with accounts(tmp_path, **settings) as desk:

        def told(name: str) -> Callable[[str, Command], None]:
            def on_request(address: str, command: Command) -> None:
                bodies.append(command.body)
                seen[name].set()

            return on_request

        stranger = RemotingClient(on_request=told("stranger"))
        owner = RemotingClient(on_request=told("owner"))
        joined = as_producer("s", "PG")
        sign(joined, OTHER, SECRETS[OTHER])
        assert (await stranger.invoke(desk.address, joined)).code == 0
        # One that was born long ago would be given up at once.
        born_ms = SystemClock().now_ms()
        named = "TRAN_MSG\1true\2PGROUP\1PG"
        half = send(properties=named, sys_flag=4, born_timestamp=born_ms)
        sent = Command.request(RequestCode.SEND_MESSAGE_V2, half, body=b"secret")
        assert (await ask_as(desk, USER, sent)).code == 0
        joined = as_producer("o", "PG")
        sign(joined, USER, SECRETS[USER])
        assert (await owner.invoke(desk.address, joined)).code == 0
        # Questions go round: three of them pass the stranger by at least once.
        for _ in range(3):
            await asyncio.wait_for(seen["owner"].wait(), 60)
            seen["owner"].clear()
        await stranger.close()
        await owner.close()

    assert not seen["stranger"].is_set()
    assert b"secret" in bodies[0]


async def test_a_half_message_that_was_given_up_counts_for_its_real_topic(tmp_path: Path) -> None:
    given_up = "TRANS_CHECK_MAX_TIME_TOPIC"

    settings = {"transaction_time_out_ms": 0, "transaction_check_interval_ms": 20}
    async with with_topic(tmp_path, transaction_check_max=0, **settings) as desk:
        await desk.send(properties="TRAN_MSG\1true\2PGROUP\1PG", sys_flag=4)
        store = desk.app.broker.store
        await until(lambda: store.max_offset(given_up, 0) == 1, what="a message given up")
        ((log_offset, *_),) = store.reader.entries(given_up, 0, start=0, count=1)
        assert topic_at(store, log_offset) == "T"


def leave(group: str) -> Command:
    header = UnregisterClient(client_id="c", producer_group=group)
    return Command.request(RequestCode.UNREGISTER_CLIENT, header)


async def test_who_leaves_a_producer_group_is_in_it_or_has_its_right(tmp_path: Path) -> None:
    async with accounts(tmp_path) as desk:
        assert (await ask_as(desk, USER, as_producer("c", "PG"))).code == 0
        mine, with_right, left_already, others = [
            await ask_as(desk, USER, leave(group)) for group in ("PG", "G", "PG", "G2")
        ]

    assert (mine.code, with_right.code) == (0, 0)
    assert (left_already.code, left_already.remark) == (
        1, f"{DENIED}No default permission for group:PG",
    )  # fmt: skip
    assert (others.code, others.remark) == (1, f"{DENIED}No default permission for group:G2")


async def test_by_the_rules_of_java_anybody_leaves_any_producer_group(tmp_path: Path) -> None:
    async with accounts(tmp_path, acl_strict=False) as desk:
        assert (await ask_as(desk, USER, leave("G2"))).code == 0
