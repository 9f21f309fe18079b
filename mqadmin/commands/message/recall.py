"""``message recall``: take back a timer message that was not delivered yet.

Requests: GET_ROUTEINFO_BY_TOPIC, RECALL_MESSAGE (RocketMQ 5).
"""

from dataclasses import dataclass, replace

from mqadmin.cli.declare import Call, EpochMs, Outcome, Row, argument, command
from mqadmin.cli.decorators import producer_group
from mqadmin.errors import Usage
from mqadmin.output.rows import CHANGED, WOULD_CHANGE
from remoting.errors import BadHeader
from remoting.recall import decode_recall


@dataclass(frozen=True, slots=True)
class RecallRow(Row):
    """The message that the handle names."""

    identity = "unique_key"

    topic: str
    broker: str
    deliver_ms: EpochMs
    unique_key: str
    result: str


@command(
    "message recall",
    examples=(
        ("mqadmin message recall djEgb3JkZXJzIG...", "with the handle that `message send` printed"),
    ),
    details="The handle contains topic, broker, time and id of the message. A broker answers "
    "when it has stored the recall, but not whether the message still existed.",
    rows=RecallRow,
    columns=("topic", "broker", "deliver_time", "unique_key", "result"),
    writes=True,
)
@argument("handle", help="the recall handle")
@producer_group
async def recall(call: Call, *, handle: str, group: str) -> Outcome:
    """Return one row.

    Raises:
        Usage: the text is not a handle.
        NoRoute: the broker of the message is not known.
    """
    try:
        named = decode_recall(handle)
    except BadHeader as error:
        raise Usage(
            str(error), hint="give the `recall_handle` that `message send` printed"
        ) from error
    # A broker refuses a handle without a time.
    deliver_ms = int(named.timestamp) if named.timestamp.isdecimal() else 0
    row = RecallRow(
        named.topic, named.broker_name, EpochMs(deliver_ms), named.unique_key, WOULD_CHANGE
    )
    if call.dry_run:
        return Outcome([row])
    await call.confirm(f"recall message {named.unique_key} of topic {named.topic}?")
    admin = await call.admin()
    key = await admin.recall_message(handle, producer_group=group)
    return Outcome([replace(row, unique_key=key or row.unique_key, result=CHANGED)])
