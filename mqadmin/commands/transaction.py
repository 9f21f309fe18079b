"""``transaction list``: list the half messages that wait for a commit or a rollback, and those
that the broker has given up.

What was given up lies in TRANS_CHECK_MAX_TIME_TOPIC of every broker, Java's and ours, and is pulled
from there; one that was resumed is still in it.
Request on each master: GET_OPEN_TRANSACTIONS of our own broker; a Java broker has no such
list, and a note says how many there are at most, by GET_TOPIC_STATS_INFO and
GET_ALL_CONSUMER_OFFSET.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import click

from mqadmin.cli.declare import Call, EpochMs, Outcome, Row, command
from mqadmin.cli.types import TOPIC
from mqadmin.cluster.brokers import ServerNode, masters
from mqadmin.cluster.partial_answers import Answers
from mqadmin.health.checkup_facts import undecided_queues
from mqadmin.messages.broker_reader import QueueSpan, read_queue, spans_of
from mqadmin.output.rows import PARTLY
from mqclient.consumer.pull_consumer import PullConsumer
from mqclient.errors import NoRoute
from mqclient.message import MessageExt
from remoting.bodies import OpenTransactions
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

    identity = "msg_id"

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
    examples=(("mqadmin transaction list", "half messages without commit or rollback"),),
    details=(
        "A half message is checked once it is older than the broker's transactionTimeOut. After "
        "transactionCheckMax checks without a decision, the broker gives it up: it is not "
        "delivered, and `transaction list` shows it until retention deletes it."
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
    answers = Answers(call)
    rows: list[TransactionRow] = []
    notes: list[str] = []
    unable = 0
    nodes = await masters(admin, every=True)
    for node, view in await answers.each(nodes, lambda node: _open_at(admin, node.address)):
        if isinstance(view, int):
            unable += 1
            notes.append(
                f"{node.broker} cannot list open transactions; according to its half topic, at "
                f"most {view} half message(s) are undecided or were decided since its last check"
            )
            continue
        if not view.is_complete:
            notes.append(f"{node.broker} has more open transactions than it lists at a time")
        rows += [
            TransactionRow.of(half, broker=node.broker, state=OPEN)
            for half in view.transactions
            if topic in (None, half.topic)
        ]
    given_up = await _given_up(call, answers, nodes, notes)
    rows += [row for row in given_up if topic in (None, row.topic)]
    return Outcome(rows, exit_code=PARTLY if unable else answers.exit_code, notes=tuple(notes))


async def _open_at(admin: "Admin", address: str) -> OpenTransactions | int:
    """Return the open transactions of a broker, or of a Java broker how many there are at most."""
    view = await admin.open_transactions(address)
    return await undecided_at_most(admin, address) if view is None else view


async def _given_up(
    call: Call, answers: Answers, nodes: Sequence[ServerNode], notes: list[str]
) -> list[TransactionRow]:
    """Return the newest half messages that were given up, the oldest first."""
    consumer = PullConsumer(await call.client(), TOOLS_GROUP)
    try:
        queues = await consumer.queues(CHECK_MAX_TIME_TOPIC)
    except NoRoute:
        return []

    async def at_broker(node: ServerNode) -> list[TransactionRow]:
        here = [queue for queue in queues if queue.broker_name == node.broker]
        rows = []
        for span in await spans_of(consumer, here):
            start = max(span.start, span.end - GIVEN_UP_COUNT_MAX)
            if start > span.start:
                notes.append(
                    f"{node.broker} has given up {span.end - span.start} half messages, of which "
                    f"the last {GIVEN_UP_COUNT_MAX} are listed"
                )
            newest = QueueSpan(span.queue, start, span.end)
            rows += [
                given_up_row(message, node.broker) async for message in read_queue(consumer, newest)
            ]
        return rows

    return [row for _, given_up in await answers.each(nodes, at_broker) for row in given_up]


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
