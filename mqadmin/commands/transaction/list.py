"""``transaction list``: half messages that wait for a commit or rollback.

Request on each master: GET_OPEN_TRANSACTIONS of our own broker; a Java broker has no such
list and is named in a note.
"""

from dataclasses import dataclass
from typing import Annotated

from mqadmin.call import Call
from mqadmin.parameters import Kind, option
from mqadmin.places import masters
from mqadmin.registry import command
from mqadmin.rows import PARTLY, EpochMs, Outcome, Row


@dataclass(frozen=True, slots=True, kw_only=True)
class Arguments:
    """Which transactions."""

    topic: Annotated[str | None, option("only for this topic", kind=Kind.TOPIC)] = None


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
    "show half messages that nobody decided",
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
async def list_transactions(call: Call, args: Arguments) -> Outcome:
    """Return one row an open half message, oldest first on each broker."""
    admin = await call.admin()
    rows: list[TransactionRow] = []
    notes: list[str] = []
    unable = 0
    for place in await masters(admin, every=True):
        view = await admin.open_transactions(place.address)
        if view is None:
            unable += 1
            notes.append(f"{place.broker} cannot list its open transactions, only our broker does")
            continue
        if not view.is_complete:
            notes.append(f"{place.broker} has more open transactions than it lists at once")
        rows += [
            TransactionRow(
                broker=place.broker,
                topic=half.topic,
                queue_id=half.queue_id,
                producer_group=half.producer_group,
                unique_key=half.unique_key,
                check_times=half.check_times,
                born_ms=half.born_ms,
                msg_id=half.msg_id,
                half_offset=half.half_offset,
                log_offset=half.log_offset,
            )
            for half in view.transactions
            if args.topic in (None, half.topic)
        ]
    return Outcome(rows, exit_code=PARTLY if unable else 0, notes=tuple(notes))
