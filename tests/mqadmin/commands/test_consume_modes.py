"""How a group consumes a topic, PULL or POP: set, shown, and what of it is told elsewhere."""

import asyncio

from mqadmin.shell.server import ServerAddresses
from mqclient.client.instance import MQClient
from mqclient.consumer.simple_consumer import SimpleConsumer
from mqclient.message import MessageExt
from remoting.bodies import ConsumeFromWhere
from tests.mqadmin.conftest import Run, cells
from tests.waiting import wait


def test_a_mode_is_set_shown_and_put_back(at: Run) -> None:
    at("topic", "create", "popped", "-q", "2")
    at("group", "create", "poppers")
    line = ("group", "consume-mode", "set", "poppers", "popped", "pop", "--share-queues", "3")

    dry = at.rows(*line, "--dry-run")
    made = at.rows(*line)
    shown = at.rows("group", "consume-mode", "get", "poppers")
    again = at.rows(*line)
    told = at("rebalance", "show", "poppers", "popped")
    at("group", "consume-mode", "set", "poppers", "popped", "PULL")
    after = at.rows("group", "consume-mode", "get", "--topic", "popped")

    assert [row["result"] for row in (*dry, *made, *again)] == [
        "would change",
        "changed",
        "unchanged",
    ]
    assert cells(shown, "mode", "share_queues") == [("POP", 3)]
    assert "group poppers pops topic popped on " in told.out + told.err
    assert "shared by 3 more members" in told.out + told.err
    assert cells(after, "mode", "share_queues") == [("PULL", 0)]


def test_a_mode_of_a_topic_that_is_not_there_or_a_retry_topic_is_refused(at: Run) -> None:
    for topic, code in (("nobody_made_this", "17 TOPIC_NOT_EXIST"), ("%RETRY%G", "16 NO_PERM")):
        done = at("group", "consume-mode", "set", "G", topic, "POP", "-o", "json")
        (row,) = done.rows

        assert (done.exit_code, row["result"], row["mode"]) == (1, "refused", "PULL")
        assert code in row["remark"]


async def receive(servers: ServerAddresses, group: str, topic: str, count: int) -> list[MessageExt]:
    """Receive so many messages and acknowledge the first one."""
    first = ConsumeFromWhere.CONSUME_FROM_FIRST_OFFSET
    found: list[MessageExt] = []
    async with (
        MQClient(servers.namesrv, timeout_s=60) as client,
        SimpleConsumer(client, group, consume_from_where=first) as consumer,
    ):
        consumer.subscribe(topic, "*")
        while len(found) < count:
            found += await consumer.receive(invisible_ms=600_000, wait_ms=5_000)
        await consumer.ack(found[0])
    return found


def test_messages_that_a_group_has_popped_are_in_flight(at: Run, servers: ServerAddresses) -> None:
    at("topic", "create", "in-flight", "-q", "1")
    at("group", "create", "holders")
    for number in range(3):
        at("message", "send", "in-flight", str(number))
    asyncio.run(receive(servers, "holders", "in-flight", 3))

    def inflight() -> list[object]:
        told = at.rows("group", "lag", "holders", "in-flight")
        return [row["inflight"] for row in told]

    wait(lambda: inflight() == [2], what="the acknowledgement")
    shown = at.row("group", "show", "holders")

    assert shown["inflight"] == 2
