"""Open transactions of our broker, and brokers that cannot list them."""

import asyncio
import json

import pytest

from mqclient.admin.admin import Admin
from mqclient.errors import BadAnswer
from remoting.bodies import OpenTransaction, OpenTransactions
from remoting.codes import ExtensionCode
from tests.mqclient.fake import FakeServer

ROW = {
    "bornTimestamp": 1,
    "checkTimes": 2,
    "commitLogOffset": 3,
    "halfOffset": 4,
    "msgId": "ID",
    "producerGroup": "PG",
    "queueId": 5,
    "storeTimestamp": 6,
    "topic": "T",
    "uniqueKey": None,
}


def ask(body: bytes = b"", code: int = 0) -> OpenTransactions | None:
    async def go() -> OpenTransactions | None:
        async with FakeServer() as fake, fake.client() as client:
            fake.say(ExtensionCode.GET_OPEN_TRANSACTIONS, code, remark="no", body=body)
            return await Admin(client).open_transactions(fake.address)

    return asyncio.run(go())


def test_list_is_read() -> None:
    view = ask(json.dumps({"complete": False, "transactions": [ROW]}).encode())

    half = OpenTransaction(
        topic="T",
        queue_id=5,
        producer_group="PG",
        unique_key="",
        msg_id="ID",
        log_offset=3,
        half_offset=4,
        born_ms=1,
        store_ms=6,
        check_times=2,
    )
    assert view == OpenTransactions(transactions=[half], is_complete=False)


def test_java_broker_has_no_list() -> None:
    assert ask(code=3) is None


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"[]",
        b"no json",
        b"{}",
        b'{"transactions":[1],"complete":true}',
        b'{"transactions":[]}',
    ],
)
def test_list_that_cannot_be_read_is_named(body: bytes) -> None:
    with pytest.raises(BadAnswer, match="OpenTransaction"):
        ask(body)
