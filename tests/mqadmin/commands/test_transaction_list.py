"""``transaction list`` against a running broker."""

import json
from collections.abc import Callable

from mqadmin.link import Link
from mqadmin.shell.server import Addresses
from mqclient.client.instance import MQClient
from remoting.codes import RequestCode
from tests.mqadmin.conftest import Result
from tests.server.broker.desk import send

TOPIC = "OPEN_TOPIC"
PROPERTIES = "TRAN_MSG\1true\2PGROUP\1PG\2UNIQ_KEY\1K1"


async def prepare(servers: Addresses) -> None:
    header = send(topic=TOPIC, properties=PROPERTIES, sys_flag=4)
    async with MQClient(servers.namesrv, timeout_s=60) as client:
        await client.call(
            servers.broker, RequestCode.SEND_MESSAGE_V2, header, what="send", body=b"x"
        )


def test_open_transactions_are_listed(at: Callable[..., Result], servers: Addresses) -> None:
    at("topic", "create", TOPIC)
    link = Link()
    link.run(lambda: prepare(servers))
    link.close()

    shown = at("transaction", "list", "--topic", TOPIC, "-ojson")
    other = at("transaction", "list", "--topic", "OTHER", "-ojson")

    (row,) = json.loads(shown.out)
    assert (row["topic"], row["queue_id"], row["check_times"]) == (TOPIC, 0, 0)
    assert (row["producer_group"], row["unique_key"]) == ("PG", "K1")
    assert json.loads(other.out) == []
