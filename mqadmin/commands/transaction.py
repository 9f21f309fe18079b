"""``transaction list``: list the half messages that wait for a commit or a rollback.

Request on each master: GET_OPEN_TRANSACTIONS of our own broker; a Java broker has no such
list, and a note says how many there are at most, by GET_TOPIC_STATS_INFO and
GET_ALL_CONSUMER_OFFSET.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING

import click

from mqadmin.cli.declare import Call, EpochMs, Outcome, Row, command
from mqadmin.cli.types import TOPIC
from mqadmin.cluster.brokers import masters
from mqadmin.health.checkup_facts import undecided_queues
from mqadmin.output.rows import PARTLY

if TYPE_CHECKING:
    from mqclient.admin.admin import Admin


@dataclass(frozen=True, slots=True)
class TransactionRow(Row):
    """One open half message; ``check_times`` counts how often it was looked at."""

    broker: str
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
    details="A half message is checked once it is older than the broker's transactionTimeOut.",
    rows=TransactionRow,
    columns=(
        "broker",
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
    """Return one row for each open half message, oldest first on each broker."""
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
            TransactionRow.of(half, broker=node.broker)
            for half in view.transactions
            if topic in (None, half.topic)
        ]
    return Outcome(rows, exit_code=PARTLY if unable else 0, notes=tuple(notes))


async def undecided_at_most(admin: "Admin", address: str) -> int:
    """Return how many half messages the check of a broker has not passed yet."""
    return sum(end - passed for _, passed, end in await undecided_queues(admin, address))
