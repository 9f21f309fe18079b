"""How a group consumes a topic, PULL or POP: set, shown, and what of it is told elsewhere."""

from collections.abc import Callable
from functools import partial

from mqadmin.session.link import ServerLink
from mqadmin.shell.server import ServerAddresses
from mqclient.client.instance import MQClient
from mqclient.consumer.simple_consumer import SimpleConsumer
from mqclient.message import MessageExt
from remoting.bodies import ConsumeFromWhere
from tests.mqadmin.conftest import Result
from tests.waiting import wait


def test_a_mode_is_set_shown_and_put_back(at: Callable[..., Result]) -> None:
    at("topic", "create", "popped", "-q", "2")
    at("group", "create", "poppers")
    line = ("group", "consume-mode", "set", "poppers", "popped", "pop", "--share-queues", "3")

    dry = at(*line, "--dry-run", "-o", "json").rows
    made = at(*line, "-o", "json").rows
    shown = at("group", "consume-mode", "get", "poppers", "-o", "json").rows
    again = at(*line, "-o", "json").rows
    told = at("rebalance", "show", "poppers", "popped")
    at("group", "consume-mode", "set", "poppers", "popped", "PULL")
    after = at("group", "consume-mode", "get", "--topic", "popped", "-o", "json").rows

    assert [row["result"] for row in (*dry, *made, *again)] == [
        "would change",
        "changed",
        "unchanged",
    ]
    assert [(row["mode"], row["share_queues"]) for row in shown] == [("POP", 3)]
    assert "group poppers pops topic popped on " in told.out + told.err
    assert "shared by 3 more members" in told.out + told.err
    assert [(row["mode"], row["share_queues"]) for row in after] == [("PULL", 0)]


def test_a_mode_of_a_topic_that_is_not_there_or_a_retry_topic_is_refused(
    at: Callable[..., Result],
) -> None:
    for topic, code in (("nobody_made_this", "17 TOPIC_NOT_EXIST"), ("%RETRY%G", "16 NO_PERM")):
        done = at("group", "consume-mode", "set", "G", topic, "POP", "-o", "json")
        (row,) = done.rows

        assert (done.exit_code, row["result"], row["mode"]) == (1, "refused", "PULL")
        assert code in str(row["remark"])


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


def test_messages_that_a_group_has_popped_are_in_flight(
    at: Callable[..., Result], servers: ServerAddresses
) -> None:
    at("topic", "create", "in-flight", "-q", "1")
    at("group", "create", "holders")
    for number in range(3):
        at("message", "send", "in-flight", str(number))
    link = ServerLink()
    link.run(partial(receive, servers, "holders", "in-flight", 3))
    link.close()

    def inflight() -> list[object]:
        told = at("group", "lag", "holders", "in-flight", "-o", "json").rows
        return [row["inflight"] for row in told]

    wait(lambda: inflight() == [2], what="the acknowledgement")
    (shown,) = at("group", "show", "holders", "-o", "json").rows

    assert shown["inflight"] == 2
