"""The outbox example: row and message, both or neither, also when the process dies in between."""

import asyncio
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from examples import transactional_outbox
from examples.transactional_outbox import TOPIC, Outbox
from mqclient import (
    ConsumeFromWhere,
    LitePullConsumer,
    LitePullSettings,
    LocalTransactionState,
    Message,
    MessageExt,
    MQClient,
    TransactionProducer,
)
from mqserver.pytest_plugin import RocketMQ, running_pair
from tests.waiting import until

SETTINGS = LitePullSettings(consume_from_where=ConsumeFromWhere.CONSUME_FROM_FIRST_OFFSET)


@pytest.fixture
def pair(monkeypatch: pytest.MonkeyPatch) -> Iterator[RocketMQ]:
    """Yield a pair whose broker soon asks what became of a half message.

    Not at once: who is asked before the disk has the order says that there is none.
    """
    monkeypatch.setenv("ROCKETMQ_transactionCheckInterval", "1000")
    monkeypatch.setenv("ROCKETMQ_transactionTimeOut", "3000")
    monkeypatch.setenv("ROCKETMQ_transactionCheckMax", "60")
    with running_pair() as running:
        yield running


def rows(path: Path, table: str) -> list[str]:
    with closing(sqlite3.connect(path)) as database:
        return [row[0] for row in database.execute(f"SELECT * FROM {table}")]


async def delivered(client: MQClient, *, wanted: int, idle_ms: int = 1500) -> list[list[str]]:
    """Return the keys of what is visible, once there is enough and no more comes."""
    keys: list[list[str]] = []
    async with LitePullConsumer(client, "auditors", SETTINGS) as consumer:
        consumer.subscribe(TOPIC)
        await consumer.start()
        async with asyncio.timeout(60):
            while batch := await consumer.poll(30_000 if len(keys) < wanted else idle_ms):
                keys += [message.keys for message in batch]
    return keys


async def test_an_order_is_paid_and_told_once(pair: RocketMQ, tmp_path: Path) -> None:
    path = tmp_path / "orders.db"

    await transactional_outbox.main(pair.namesrv, path)
    async with MQClient(pair.namesrv, timeout_s=60) as client:
        assert await delivered(client, wanted=1) == [["paid-1"]]
    assert rows(path, "orders") == ["order-1"]
    assert rows(path, "outbox") == ["paid-1"]


class DiesInBetween(Outbox):
    """The database has it, or not, and the broker hears nothing."""

    def execute_local_transaction(self, message: Message, arg: object) -> LocalTransactionState:
        if arg is not None:
            super().execute_local_transaction(message, arg)
        return LocalTransactionState.UNKNOW

    def check_local_transaction(self, message: MessageExt) -> LocalTransactionState:
        return LocalTransactionState.UNKNOW


async def test_the_next_process_finds_in_the_outbox_what_became_of_it(
    pair: RocketMQ, tmp_path: Path
) -> None:
    path = tmp_path / "orders.db"
    checked: list[LocalTransactionState] = []

    class Watched(Outbox):
        def check_local_transaction(self, message: MessageExt) -> LocalTransactionState:
            checked.append(super().check_local_transaction(message))
            return checked[-1]

    async with (
        MQClient(pair.namesrv, timeout_s=60) as client,
        TransactionProducer(client, "outbox", DiesInBetween(path)) as producer,
    ):
        for key, order in (("paid-2", "order-2"), ("never-paid", None)):
            message = Message(TOPIC, b"paid", keys=[key])
            await producer.send_message_in_transaction(message, order)
    async with (
        MQClient(pair.namesrv, timeout_s=60) as client,
        TransactionProducer(client, "outbox", Watched(path)),
    ):
        await until(lambda: len(set(checked)) == 2)
        assert await delivered(client, wanted=1) == [["paid-2"]]
    assert set(checked) == {
        LocalTransactionState.COMMIT_MESSAGE,
        LocalTransactionState.ROLLBACK_MESSAGE,
    }
