"""``message trace``: the whole life of a message in one time line.

Requests: GET_ROUTEINFO_BY_TOPIC, QUERY_TOPIC_CONSUME_BY_WHO, QUERY_MESSAGE in the topic, the
delay topic, retry and dead letter topics of its groups and the trace topic,
GET_ALL_CONSUMER_OFFSET and GET_CONSUMER_LIST_BY_GROUP for where the groups stand.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Final

from mqadmin.call import Call
from mqadmin.errors import NotFound
from mqadmin.findmessage import find_message, is_offset_id
from mqadmin.lifeline import LifeRow, group_steps, groups_of, stored_steps, traced_steps
from mqadmin.parameters import Kind, argument, option
from mqadmin.registry import Java, JavaOption, Needs, command
from mqadmin.rows import Outcome
from storefmt.names import TRACE_TOPIC

if TYPE_CHECKING:
    from mqclient.admin.admin import Admin

WHOLE_LIFE: Final = "the whole life of the message is shown; leave it out"


@dataclass(frozen=True, slots=True, kw_only=True)
class Arguments:
    """Which message, and where to look."""

    which: Annotated[str, argument("a unique id, a key or an offset id", metavar="ID|KEY")]
    topic: Annotated[
        str | None, option("its topic; for an offset id it is known", short="t", kind=Kind.TOPIC)
    ] = None
    trace_topic: Annotated[str, option("where clients wrote traces", kind=Kind.TOPIC)] = TRACE_TOPIC


@command(
    "message trace",
    "show the whole life of a message in one time line",
    details="Steps: store, delay, retry, dead_letter (where it is stored), sent, delivered, "
    "consumed, decided (what clients traced), and group: where each group stands now. Without "
    "--topic only the traces of clients are read. `store trace DIR` shows more, of a store.",
    examples=(
        ("mqadmin message trace AC1100020B6B18B4AAC2064ED6A30000 --topic orders", "by unique id"),
        ("mqadmin message trace o-17 --topic orders", "every message with this key"),
        ("mqadmin message trace 7F00000100002A9F00000000000004D2", "by offset id"),
    ),
    rows=LifeRow,
    columns=(
        "step_time",
        "step",
        "topic",
        "queue_id",
        "queue_offset",
        "group",
        "cost_ms",
        "success",
        "detail",
    ),
    needs=Needs.EITHER,
    java=(
        Java(
            "queryMsgTraceById",
            (
                JavaOption("i", "msgId", "which", required=True),
                JavaOption("t", "traceTopic", "trace_topic"),
                JavaOption("b", "beginTimestamp", since_5=True, refused=WHOLE_LIFE),
                JavaOption("e", "endTimestamp", since_5=True, refused=WHOLE_LIFE),
                JavaOption("c", "maxNum", since_5=True, refused=WHOLE_LIFE),
            ),
            aliases=("QueryMsgTraceById",),
        ),
    ),
)
async def trace_message(call: Call, args: Arguments) -> Outcome:
    """Return one row a step, oldest first, then where the groups stand.

    Raises:
        NotFound: no broker knows the message.
        NoRoute: there is no such topic.
    """
    if call.is_offline:
        # A store is read by numpy, which nobody should wait for who asks a broker.
        from mqadmin.offline import stored_life

        return stored_life(call, args.which, topic=args.topic)
    admin = await call.admin()
    key, topic = args.which, args.topic
    if topic is None and is_offset_id(key):
        found = await find_message(call, key, topic=None)
        key, topic = found.unique_key or key, found.topic
    rows: list[LifeRow] = []
    notes: tuple[str, ...] = ()
    if topic is not None:
        rows = await _in_topic(admin, topic, key)
    else:
        notes = ("only the traces of clients were read: add --topic for what brokers know",)
    keys = {key, *(row.unique_key for row in rows if row.unique_key)}
    seen = []
    for name in sorted(keys):
        seen += await traced_steps(admin, name, warn=call.warn, topic=args.trace_topic)
    traced = list(dict.fromkeys(seen))
    if not rows and not traced:
        where = f"topic {topic} and {args.trace_topic}" if topic else args.trace_topic
        raise NotFound(f"no message {args.which} in {where}", hint="check the topic and the id")
    told = sorted((*rows, *traced), key=lambda row: row.step_ms or 1 << 62)
    return Outcome(told, notes=notes)


async def _in_topic(admin: "Admin", topic: str, key: str) -> list[LifeRow]:
    groups = await groups_of(admin, topic)
    rows, messages = await stored_steps(admin, topic, key, groups)
    for message in messages:
        rows += await group_steps(admin, message, groups)
    return rows
