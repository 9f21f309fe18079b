"""``transaction list``: list the half messages that wait for a commit or a rollback, and those
that the broker has given up.

What was given up lies in TRANS_CHECK_MAX_TIME_TOPIC of every broker, Java's and ours, and is pulled
from there; one that was resumed is still in it.
Request on each master: GET_OPEN_TRANSACTIONS of our own broker; a Java broker has no such
list, and a note says how many there are at most, by GET_TOPIC_STATS_INFO and
GET_ALL_CONSUMER_OFFSET.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import click

from mqadmin.cli.declare import Call, EpochMs, Outcome, Row, command
from mqadmin.cli.types import TOPIC
from mqadmin.cluster.brokers import masters
from mqadmin.health.checkup_facts import undecided_queues
from mqadmin.messages.broker_reader import QueueSpan, read_queue, spans_of
from mqadmin.output.rows import PARTLY
from mqclient.consumer.pull_consumer import PullConsumer
from mqclient.errors import NoRoute
from mqclient.message import MessageExt
from storefmt.formats.properties import (
    PRODUCER_GROUP,
    REAL_QUEUE_ID,
    REAL_TOPIC,
    TRANSACTION_CHECK_TIMES,
    UNIQUE_KEY,
)
from storefmt.names import CHECK_MAX_TIME_TOPIC, TOOLS_GROUP

if TYPE_CHECKING:
    from mqclient.admin.admin import Admin


OPEN: Final = "open"
GIVEN_UP: Final = "given up"
GIVEN_UP_COUNT_MAX: Final = 1_000
"""Half messages of each broker that were given up and are listed."""


@dataclass(frozen=True, slots=True)
class TransactionRow(Row):
    """One half message; ``check_times`` counts how often its producer was asked."""

    broker: str
    state: str
    topic: str
    queue_id: int
    producer_group: str
    unique_key: str
    check_times: int
    born_ms: EpochMs
    msg_id: str
    half_offset: int
    log_offset: int


@command(
    "transaction list",
    examples=(("mqadmin transaction list", "what waits for a commit or rollback"),),
    details=(
        "A half message is checked once it is older than the broker's transactionTimeOut. After "
        "transactionCheckMax questions without a decision it is given up: it is not delivered, "
        "and `transaction list` shows it until the log deletes it."
    ),
    rows=TransactionRow,
    columns=(
        "broker",
        "state",
        "topic",
        "queue_id",
        "producer_group",
        "unique_key",
        "check_times",
        "born_time",
    ),
)
@click.option("--topic", type=TOPIC, help="only for this topic")
async def list_transactions(call: Call, *, topic: str | None) -> Outcome:
    """Return one row for each open half message, then those given up, oldest first."""
    admin = await call.admin()
    rows: list[TransactionRow] = []
    notes: list[str] = []
    unable = 0
    for node in await masters(admin, every=True):
        view = await admin.open_transactions(node.address)
        if view is None:
            unable += 1
            most = await undecided_at_most(admin, node.address)
            notes.append(
                f"{node.broker} has no request that lists open transactions; by its half topic "
                f"{most} half message(s) at most are undecided or were decided since its last check"
            )
            continue
        if not view.is_complete:
            notes.append(f"{node.broker} has more open transactions than it lists at once")
        rows += [
            TransactionRow.of(half, broker=node.broker, state=OPEN)
            for half in view.transactions
            if topic in (None, half.topic)
        ]
    rows += [row for row in await _given_up(call, notes) if topic in (None, row.topic)]
    return Outcome(rows, exit_code=PARTLY if unable else 0, notes=tuple(notes))


async def _given_up(call: Call, notes: list[str]) -> list[TransactionRow]:
    """Return the newest half messages that were given up, the oldest first."""
    consumer = PullConsumer(await call.client(), TOOLS_GROUP)
    try:
        queues = await consumer.queues(CHECK_MAX_TIME_TOPIC)
    except NoRoute:
        return []
    rows = []
    for span in await spans_of(consumer, queues):
        start = max(span.start, span.end - GIVEN_UP_COUNT_MAX)
        if start > span.start:
            notes.append(
                f"{span.queue.broker_name} has given up {span.end - span.start} half messages, of "
                f"which the last {GIVEN_UP_COUNT_MAX} are listed"
            )
        broker, newest = span.queue.broker_name, QueueSpan(span.queue, start, span.end)
        rows += [given_up_row(message, broker) async for message in read_queue(consumer, newest)]
    return rows


def given_up_row(message: MessageExt, broker: str) -> TransactionRow:
    """Return the row of a message in TRANS_CHECK_MAX_TIME_TOPIC."""
    named = message.properties
    return TransactionRow(
        broker=broker,
        state=GIVEN_UP,
        topic=named.get(REAL_TOPIC, ""),
        queue_id=_number(named.get(REAL_QUEUE_ID, "")),
        producer_group=named.get(PRODUCER_GROUP, ""),
        unique_key=named.get(UNIQUE_KEY, ""),
        check_times=_number(named.get(TRANSACTION_CHECK_TIMES, "0")),
        born_ms=message.born_ms,
        msg_id=message.record.msg_id,
        half_offset=message.queue_offset,
        log_offset=message.record.log_offset,
    )


def _number(text: str) -> int:
    return int(text) if text.isascii() and text.isdecimal() else -1


async def undecided_at_most(admin: "Admin", address: str) -> int:
    """Return how many half messages the check of a broker has not passed yet."""
    return sum(end - passed for _, passed, end in await undecided_queues(admin, address))
