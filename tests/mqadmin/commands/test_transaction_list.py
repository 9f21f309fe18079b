"""``transaction list`` against a running broker."""

import asyncio
from types import SimpleNamespace
from typing import cast

from mqadmin.commands.transaction import given_up_row, undecided_at_most
from mqadmin.shell.server import ServerAddresses
from mqclient.admin.admin import Admin
from mqclient.client.instance import MQClient
from mqclient.errors import NotFound
from mqclient.message import MessageExt
from remoting.bodies import MessageQueue, TopicOffset
from remoting.codes import RequestCode, ResponseCode
from storefmt.names import HALF_TOPIC
from tests.mqadmin.conftest import Run
from tests.server.broker.desk import send

TOPIC = "OPEN_TOPIC"
PROPERTIES = "TRAN_MSG\1true\2PGROUP\1PG\2UNIQ_KEY\1K1"


async def prepare(servers: ServerAddresses) -> None:
    header = send(topic=TOPIC, properties=PROPERTIES, sys_flag=4)
    async with MQClient(servers.namesrv, timeout_s=60) as client:
        await client.call(
            servers.broker, RequestCode.SEND_MESSAGE_V2, header, what="send", body=b"x"
        )


def test_open_transactions_are_listed(at: Run, servers: ServerAddresses) -> None:
    at("topic", "create", TOPIC)
    asyncio.run(prepare(servers))

    row = at.row("transaction", "list", "--topic", TOPIC)
    other = at.rows("transaction", "list", "--topic", "OTHER")

    assert (row["topic"], row["queue_id"], row["check_times"]) == (TOPIC, 0, 0)
    assert (row["producer_group"], row["unique_key"]) == ("PG", "K1")
    assert row["state"] == "open"
    assert other == []


def test_what_was_given_up_is_shown_as_its_half_message_was() -> None:
    properties = {
        "REAL_TOPIC": TOPIC, "REAL_QID": "3", "PGROUP": "PG", "UNIQ_KEY": "K1",
        "TRANSACTION_CHECK_TIMES": "15",
    }  # fmt: skip
    record = SimpleNamespace(msg_id="0A", log_offset=7)
    message = SimpleNamespace(properties=properties, born_ms=1, queue_offset=2, record=record)

    row = given_up_row(cast(MessageExt, message), "b")

    assert (row.state, row.topic, row.queue_id, row.check_times) == ("given up", TOPIC, 3, 15)
    assert (row.producer_group, row.unique_key, row.msg_id) == ("PG", "K1", "0A")


class Java:
    """What a broker says that has no request for open transactions."""

    def __init__(self, *, has_topic: bool = True) -> None:
        self._has_topic = has_topic

    async def topic_stats_at(self, address: str, topic: str) -> dict[MessageQueue, TopicOffset]:
        if not self._has_topic:
            raise NotFound("no such topic", code=ResponseCode.TOPIC_NOT_EXIST)
        return {MessageQueue(topic, "b", 0): TopicOffset(min_offset=2, max_offset=12)}

    async def all_consumer_offsets(self, address: str) -> dict[tuple[str, str], dict[int, int]]:
        return {(HALF_TOPIC, "CID_RMQ_SYS_TRANS"): {0: 9}}


def test_what_a_java_broker_can_tell_is_how_many_at_most() -> None:
    assert asyncio.run(undecided_at_most(cast(Admin, Java()), "b:1")) == 3
    assert asyncio.run(undecided_at_most(cast(Admin, Java(has_topic=False)), "b:1")) == 0
