"""What still waits for a topic, as brokers of each kind can say it."""

import asyncio
from types import SimpleNamespace
from typing import cast

import pytest

from mqadmin.cluster.brokers import ServerNode
from mqadmin.health import waiting_counts
from mqadmin.health.waiting_counts import WaitingCounts, count_waiting
from mqadmin.shell.server import ServerAddresses
from mqclient.admin.admin import Admin
from mqclient.client.instance import MQClient
from mqclient.errors import BrokerRefused, NotFound
from remoting.bodies import MessageQueue, OpenTransactions, TopicOffset
from remoting.codes import RequestCode, ResponseCode
from storefmt.names import HALF_TOPIC
from tests.mqadmin.conftest import Run
from tests.server.broker.desk import send
from tests.waiting import wait

NODE = ServerNode(cluster="C", broker="b", broker_id=0, address="127.0.0.1:1")


@pytest.mark.parametrize(
    ("counts", "text"),
    [
        (WaitingCounts(), ""),
        (WaitingCounts(timer=2), "2 timer message(s)"),
        (WaitingCounts(1, 2, 3), "1 delayed, 2 timer and 3 half message(s)"),
        (WaitingCounts(half_complete=False), "at least 0 half message(s)"),
        (
            WaitingCounts(4, delayed_complete=False) + WaitingCounts(1, half=1),
            "at least 5 delayed and 1 half message(s)",
        ),
    ],
)
def test_counts_are_said_in_words(counts: WaitingCounts, text: str) -> None:
    assert counts.text() == text


class Java:
    """A broker of 4.9: neither timers nor a list of transactions."""

    def __init__(self, *, half_end: int = 12) -> None:
        self._half_end = half_end

    async def timer_metrics(self, address: str) -> dict[str, int]:
        raise BrokerRefused("no such code", code=ResponseCode.REQUEST_CODE_NOT_SUPPORTED)

    async def topic_stats_at(self, address: str, topic: str) -> dict[MessageQueue, TopicOffset]:
        if topic != HALF_TOPIC:
            raise NotFound("no such topic", code=ResponseCode.TOPIC_NOT_EXIST)
        ends = TopicOffset(min_offset=2, max_offset=self._half_end)
        return {MessageQueue(topic, "b", 0): ends}

    async def all_consumer_offsets(self, address: str) -> dict[tuple[str, str], dict[int, int]]:
        return {(HALF_TOPIC, "CID_RMQ_SYS_TRANS"): {0: 9}}

    async def open_transactions(self, address: str) -> OpenTransactions | None:
        return None


class Refusing(Java):
    """A broker that lists part of its transactions and refuses everything else."""

    async def timer_metrics(self, address: str) -> dict[str, int]:
        raise BrokerRefused("no permission", code=ResponseCode.NO_PERMISSION)

    async def topic_stats_at(self, address: str, topic: str) -> dict[MessageQueue, TopicOffset]:
        raise BrokerRefused("no permission", code=ResponseCode.NO_PERMISSION)

    async def open_transactions(self, address: str) -> OpenTransactions | None:
        mine, other = SimpleNamespace(topic="T"), SimpleNamespace(topic="OTHER")
        return cast(
            OpenTransactions, SimpleNamespace(transactions=[mine, other], is_complete=False)
        )


async def count(admin: Java) -> WaitingCounts:
    async with MQClient("127.0.0.1:1") as client:
        return await count_waiting(cast(Admin, admin), client, [NODE], "T")


def test_a_java_broker_says_how_many_half_messages_there_are_at_most() -> None:
    counts = asyncio.run(count(Java()))

    assert counts.text() == ""
    assert counts.unknown == ("b does not list the topics of its half messages (at most 3)",)
    assert asyncio.run(count(Java(half_end=9))) == WaitingCounts()


def test_what_a_broker_refuses_is_not_known() -> None:
    counts = asyncio.run(count(Refusing()))

    assert counts.text() == "at least 1 half message(s)"
    assert len(counts.unknown) == 2
    assert all("no permission" in text for text in counts.unknown)


async def prepare(servers: ServerAddresses, topic: str, properties: str, sys_flag: int) -> None:
    header = send(topic=topic, properties=properties, sys_flag=sys_flag)
    async with MQClient(servers.namesrv, timeout_s=60) as client:
        await client.call(
            servers.broker, RequestCode.SEND_MESSAGE_V2, header, what="send", body=b"x"
        )


def test_a_delete_says_what_still_waits(
    at: Run, servers: ServerAddresses, monkeypatch: pytest.MonkeyPatch
) -> None:
    topic = "WAITED_FOR"
    at("topic", "create", topic, "-q", "1")
    at("topic", "create", "WAITED_FOR_NOT", "-q", "1")
    for name in (topic, topic, "WAITED_FOR_NOT"):
        at("message", "send", name, "later", "--delay-level", "17")
    half = "TRAN_MSG\1true\2PGROUP\1PG\2UNIQ_KEY\1WAITED"
    asyncio.run(prepare(servers, topic, half, 4))
    asyncio.run(prepare(servers, topic, "TIMER_DELAY_SEC\0013600\2UNIQ_KEY\1TIMED", 0))
    # The wheel takes a message in a moment after it is stored.
    wait(lambda: topic in {row["topic"] for row in at.rows("delay", "list")})

    planned = at("topic", "delete", topic, "--dry-run")
    asked = at("topic", "delete", topic, stdin="n\n", can_ask=True)
    with monkeypatch.context() as patch:
        patch.setattr(waiting_counts, "DELAYED_READ_MAX", 1)
        bounded = at("topic", "delete", topic, "--dry-run")
    done = at("topic", "delete", topic, "-y")
    at("topic", "create", "NOTHING_WAITS", "-q", "1")
    without = at("topic", "delete", "NOTHING_WAITS", "--dry-run")

    text = "2 delayed, 1 timer and 1 half message(s)"
    assert f"{text} of {topic} still wait: once due, they go to rmq_sys_UNDELIVERED" in planned.err
    assert f"for which {text} still wait" in asked.err
    # The one that is read may be of another topic.
    assert "at least 0 delayed" in bounded.err or "at least 1 delayed" in bounded.err
    assert (done.exit_code, text in done.err) == (0, True)
    assert (without.exit_code, "still wait" in without.err) == (0, False)
