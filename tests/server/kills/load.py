"""The clients of the broker, which work until it is killed.

    senders        plain messages with keys and tags to several topics; some are batches
    delayers       delayed messages
    deciders       transactions: ended at once, or when the broker asks
    groups         read what comes, and commit how far they are
    churner        creates a topic, sends, deletes it, creates it again
    newcomer       one message to a topic that nobody has created
    retention      asks the broker to delete its expired log files

Rule: each client ends by itself when the broker is gone. All of them use one random number
generator with the seed of the run. The answers of a real broker still come in another order each
time, so a seed repeats the plan of a run and not each of its steps.
"""

import asyncio
import contextlib
import random
import time
from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from enum import Enum
from typing import Final

from mqclient import Admin, Producer
from mqclient.client.instance import MQClient
from mqclient.consumer.pull.pull_request import PullStatus
from mqclient.consumer.pull_consumer import PullConsumer
from mqclient.errors import BadRequest, BrokerRefused, ClientError, NotFound
from mqclient.message import Message, MessageExt
from mqclient.producer.producer_settings import ProducerSettings
from mqclient.producer.send_result import SendResult, SendStatus
from mqclient.producer.transaction_producer import LocalTransactionState, TransactionProducer
from remoting.bodies import MessageQueue
from storefmt.config.tables import TopicConfig
from storefmt.formats.msgid import parse_offset_id
from tests.server.kills.ledger import (
    Commits,
    GroupQueue,
    Kind,
    Ledger,
    Outcome,
    Place,
    Sent,
    TopicState,
    name_of,
)

PLAIN: Final = ("KillsA", "KillsB", "KillsC")
DELAYED: Final = "KillsDelayed"
DECIDED: Final = "KillsDecided"
CHURNED: Final = "KillsChurned"
NEWCOMER: Final = "KillsNew"
"""What the topics of newcomers begin with; the number of the life follows."""
QUEUE_COUNT: Final = 4
GROUPS: Final = ("KILLS_FIRST", "KILLS_SECOND")
DECIDERS: Final = "KILLS_DECIDERS"
DELAYS_MS: Final = {1: 1_000, 2: 2_000}
"""By delay level; the supervisor gives them to the broker."""
SENDERS: Final = 6
BUSY_COUNT: Final = 300
"""Messages that a sender of one life sends without a pause: everything is read after each kill."""
TIMEOUT_S: Final = 20.0
_SETTINGS: Final = ProducerSettings(
    # A message that is sent twice could be stored twice.
    retry_times_when_send_failed=0,
    retry_times_when_send_async_failed=0,
)


class Pattern(Enum):
    """When messages are sent; the value is the longest pause between two sends in seconds."""

    BUSY = 0.0
    TRICKLE = 0.2
    BURST = -1.0
    """Some messages at once, and none until the kill."""


@dataclass(frozen=True, kw_only=True)
class Work:
    """The load of one life of the broker."""

    pattern: Pattern
    decides: bool = True
    """Send transactions."""
    deletes: bool = False
    """Ask for the deletion of expired log files."""


class Load:
    """All clients of one life.

    Args:
        life: number of the life; names of messages begin with it.
        address: of the broker.
    """

    def __init__(
        self, ledger: Ledger, client: MQClient, *, address: str, life: int, chance: random.Random
    ) -> None:
        self._ledger = ledger
        self._client = client
        self._address = address
        self._life = life
        self._chance = chance
        self._producer = Producer(client, settings=_SETTINGS)
        self._deciders = TransactionProducer(client, DECIDERS, self, settings=_SETTINGS)

    async def run(self, work: Work, until_killed: Coroutine[None, None, None]) -> None:
        """Work until ``until_killed`` has ended and the last answers have come."""
        tasks = [asyncio.create_task(actor) for actor in self._actors(work)]
        await until_killed
        # Whoever waits for an answer is told by its connection that there will be none.
        _, late = await asyncio.wait(tasks, timeout=TIMEOUT_S)
        for task in late:
            task.cancel()
        for result in await asyncio.gather(*tasks, return_exceptions=True):
            if isinstance(result, Exception):
                raise result

    def _actors(self, work: Work) -> list[Coroutine[None, None, None]]:
        pattern = work.pattern
        actors = [self._send(f"{self._life}-plain{n}", pattern) for n in range(SENDERS)]
        actors.append(self._delay(f"{self._life}-delayed", pattern))
        actors += [self._consume(group) for group in GROUPS]
        actors.append(self._churn(f"{self._life}-churned"))
        actors.append(self._newcomer(f"{self._life}-new"))
        if work.deletes:
            actors.append(self._delete_expired())
        if work.decides:
            actors.append(self._decide(f"{self._life}-decided", pattern))
        return actors

    # Sending.

    def _body(self, sent: Sent) -> bytes:
        size = self._chance.choice((60, 200, 700, 2_000, 6_000))
        return (sent.name + b"|").ljust(size, b"%c" % (97 + sent.number % 26))

    async def _noted(
        self, sent: Sent, sending: Callable[[], Coroutine[None, None, SendResult]]
    ) -> bool:
        """Send a noted message, and note how that ended; False if nobody answers any more."""
        try:
            result = await sending()
        except (BrokerRefused, NotFound, BadRequest):
            sent.outcome = Outcome.FAIL
            return True
        except ClientError:
            return False
        if result.status is SendStatus.SEND_OK:
            sent.outcome = Outcome.OK
            _, sent.log_offset = parse_offset_id(result.offset_msg_id)
            if sent.kind is Kind.PLAIN:
                queue_id = result.queue.queue_id
                sent.place = Place(sent.topic, queue_id, result.queue_offset)
        return True

    async def _send(self, sender: str, pattern: Pattern) -> None:
        """Send plain messages."""
        count_max = 20 if pattern is Pattern.BURST else 1_000_000
        for number in range(count_max):
            sent = self._ledger.send(self._chance.choice(PLAIN), Kind.PLAIN, sender, number)
            message = Message(sent.topic, self._body(sent), keys=sent.name.decode(), tags=sender)
            if not await self._noted(sent, lambda one=message: self._producer.send(one)):  # type: ignore[misc]
                return
            if pattern is Pattern.TRICKLE or number >= BUSY_COUNT:
                await asyncio.sleep(self._chance.uniform(0, Pattern.TRICKLE.value))

    async def _delay(self, sender: str, pattern: Pattern) -> None:
        """Send delayed messages."""
        for number in range(10 if pattern is Pattern.BURST else 1_000_000):
            level, delay_ms = self._chance.choice(list(DELAYS_MS.items()))
            sent = self._ledger.send(DELAYED, Kind.DELAYED, sender, number, delay_ms=delay_ms)
            message = Message(DELAYED, self._body(sent), delay_level=level)
            if not await self._noted(sent, lambda one=message: self._producer.send(one)):  # type: ignore[misc]
                return
            await asyncio.sleep(self._chance.uniform(0, 0.05))

    async def _newcomer(self, sender: str) -> None:
        """Send to a topic that the broker makes for this message, at a random moment."""
        await asyncio.sleep(self._chance.uniform(0, 0.5))
        sent = self._ledger.send(f"{NEWCOMER}{self._life}", Kind.PLAIN, sender, 0)
        message = Message(sent.topic, self._body(sent))
        await self._noted(sent, lambda: self._producer.send(message))

    # Transactions.

    async def _decide(self, sender: str, pattern: Pattern) -> None:
        """Send transactions, most of which end at once."""
        try:
            await self._deciders.start()
        except ClientError:
            return
        for number in range(10 if pattern is Pattern.BURST else 1_000_000):
            kind = self._chance.choice((Kind.COMMITTED, Kind.ROLLED_BACK))
            sent = self._ledger.send(DECIDED, kind, sender, number)
            message = Message(DECIDED, self._body(sent))
            ends_now = self._chance.random() < 0.7

            async def sending(one: Message = message, now: bool = ends_now) -> SendResult:
                done = await self._deciders.send_message_in_transaction(one, now)
                return done.sent

            if not await self._noted(sent, sending):
                return
            await asyncio.sleep(self._chance.uniform(0, 0.05))

    async def answer_checks(self) -> None:
        """Answer the broker when it asks how transactions ended."""
        await self._deciders.start()

    async def execute_local_transaction(
        self, message: Message, arg: object
    ) -> LocalTransactionState:
        """Decide now, or when the broker asks; see ``TransactionListener``."""
        return self._decision(message.body) if arg else LocalTransactionState.UNKNOW

    async def check_local_transaction(self, message: MessageExt) -> LocalTransactionState:
        """Give the same answer whenever the broker asks; see ``TransactionListener``."""
        return self._decision(message.body)

    def _decision(self, body: bytes) -> LocalTransactionState:
        sent = self._ledger.sent[name_of(body)]
        if sent.kind is Kind.COMMITTED:
            return LocalTransactionState.COMMIT_MESSAGE
        return LocalTransactionState.ROLLBACK_MESSAGE

    # Reading.

    async def _consume(self, group: str) -> None:
        """Read a topic for a group and commit how far it is, after each answer."""
        consumer = PullConsumer(self._client, group)
        topic = PLAIN[GROUPS.index(group)]
        with contextlib.suppress(ClientError):
            queues = await consumer.queues(topic)
            positions = {queue: await consumer.committed(queue) or 0 for queue in queues}
            while True:
                for queue in queues:
                    positions[queue] = await self._step(consumer, queue, positions[queue])
                await asyncio.sleep(0.01)

    async def _step(self, consumer: PullConsumer, queue: MessageQueue, at: int) -> int:
        """Read some messages of a queue; returns where to go on."""
        pulled = await consumer.pull(queue, queue_offset=at)
        for message in pulled.messages:
            place = Place(queue.topic, queue.queue_id, message.queue_offset)
            self._ledger.read(place, message.body, message.log_offset)
        if pulled.status is PullStatus.NO_NEW_MSG or pulled.next_offset == at:
            return at
        key = GroupQueue(consumer.group, queue.topic, queue.queue_id)
        commits = self._ledger.commits.setdefault(key, Commits())
        commits.highest = max(commits.highest, pulled.next_offset)
        await consumer.commit(queue, pulled.next_offset)
        commits.answered.append((time.monotonic(), pulled.next_offset))
        return pulled.next_offset

    # Topics and retention.

    async def _churn(self, sender: str) -> None:
        """Create a topic, send to it, delete it, and so on."""
        admin, number = Admin(self._client), 0
        states = self._ledger.topics.setdefault(CHURNED, [])
        with contextlib.suppress(ClientError):
            while True:
                if not states or states[-1] is not TopicState.ALIVE:
                    self._ledger.created(CHURNED)
                await admin.create_topic(self._address, TopicConfig(CHURNED, 2, 2))
                for _ in range(self._chance.randrange(5, 30)):
                    sent = self._ledger.send(CHURNED, Kind.PLAIN, sender, number)
                    number += 1
                    message = Message(CHURNED, self._body(sent))
                    if not await self._noted(sent, lambda one=message: self._producer.send(one)):  # type: ignore[misc]
                        return
                await asyncio.sleep(self._chance.uniform(0, 1))
                states[-1] = TopicState.DOUBTFUL
                await admin.delete_topic_in_broker(self._address, CHURNED)
                states[-1] = TopicState.DELETED
                await asyncio.sleep(self._chance.uniform(0, 0.5))

    async def _delete_expired(self) -> None:
        """Let the broker delete its full log files, now and then."""
        with contextlib.suppress(ClientError):
            while True:
                await asyncio.sleep(self._chance.uniform(0.1, 0.8))
                await Admin(self._client).delete_expired_log(self._address)
