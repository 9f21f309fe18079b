"""Transactions through the embedded broker: commit, rollback, and a later check."""

import asyncio
import json
import os
import subprocess
import sys
from collections.abc import Iterator

import pytest

from mqclient.client.instance import MQClient
from mqclient.errors import BadRequest
from mqclient.message import Message, MessageExt
from mqclient.producer.transaction_producer import LocalTransactionState, TransactionProducer
from tests.mqclient.consuming import polling

COMMIT = LocalTransactionState.COMMIT_MESSAGE
ROLLBACK = LocalTransactionState.ROLLBACK_MESSAGE
UNKNOWN = LocalTransactionState.UNKNOW


class Ledger:
    """Decides by the message's body, and notes what it was asked."""

    def __init__(self) -> None:
        self.executed: list[tuple[bytes, object]] = []
        self.checked: list[bytes] = []

    def execute_local_transaction(self, message: Message, arg: object) -> LocalTransactionState:
        self.executed.append((message.body, arg))
        if message.body == b"raise":
            raise RuntimeError("the database is away")
        return {b"commit": COMMIT, b"rollback": ROLLBACK}.get(message.body, UNKNOWN)

    async def check_local_transaction(self, message: MessageExt) -> LocalTransactionState:
        self.checked.append(message.body)
        return COMMIT


@pytest.fixture
def namesrv() -> Iterator[str]:
    command = [sys.executable, "-m", "mqserver.embedded", "--until-stdin-closes"]
    command += ["--namesrv-port", "0", "--broker-port", "0"]
    # Time enough to decide about what is not open, also on a busy machine.
    quick = {"transactionCheckInterval": "300", "transactionTimeOut": "3000"}
    environment = os.environ | {f"ROCKETMQ_{key}": text for key, text in quick.items()}
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment
    ) as process:
        yield json.loads(process.stdout.readline())["namesrv"]
        process.stdin.close()
        process.wait(60)


async def test_commit_is_seen_rollback_is_not_and_an_open_one_is_asked_for(namesrv: str) -> None:
    ledger = Ledger()
    async with (
        MQClient(namesrv, timeout_s=60) as client,
        TransactionProducer(client, "ledger", ledger) as producer,
    ):
        states = [
            (await producer.send_message_in_transaction(Message("Booked", body), number)).state
            for number, body in enumerate((b"commit", b"rollback", b"later", b"raise"))
        ]
        assert states == [COMMIT, ROLLBACK, UNKNOWN, UNKNOWN]
        seen: set[bytes] = set()
        async with polling(client, "books", "Booked") as consumer:
            async with asyncio.timeout(60):
                while len(seen) < 3:
                    seen |= {message.body for message in await consumer.poll(500)}

    assert seen == {b"commit", b"later", b"raise"}
    assert ledger.executed[0] == (b"commit", 0)
    assert set(ledger.checked) == {b"later", b"raise"}


async def test_a_delayed_message_or_an_unstarted_producer_is_refused(namesrv: str) -> None:
    async with MQClient(namesrv, timeout_s=60) as client:
        producer = TransactionProducer(client, "ledger", Ledger())
        with pytest.raises(BadRequest, match="started"):
            await producer.send_message_in_transaction(Message("T", b"x"))
        async with producer:
            with pytest.raises(BadRequest, match="delayed"):
                await producer.send_message_in_transaction(Message("T", b"x", delay_level=1))
