"""``message trace``: show the whole life of a message in one time line.

Requests: GET_ROUTEINFO_BY_TOPIC, QUERY_TOPIC_CONSUME_BY_WHO, QUERY_MESSAGE in the topic, the
topics where messages wait, retry and dead letter topics of its groups and the trace topic,
GET_ALL_CONSUMER_OFFSET and GET_CONSUMER_LIST_BY_GROUP for where the groups stand.
"""

from typing import TYPE_CHECKING

import click

from mqadmin.cli.declare import Call, Needs, Outcome, argument, command
from mqadmin.cli.decorators import stored_at_any_time
from mqadmin.cli.times import TimeSpan
from mqadmin.cli.types import INTEGER, TOPIC
from mqadmin.errors import ItemNotFound
from mqadmin.messages.find import PLACE, find_message, is_offset_id
from mqadmin.messages.trace import (
    LifeRow,
    TracesRead,
    by_message,
    failure_texts,
    group_steps,
    groups_of,
    of_topic,
    stored_steps,
    traced_steps,
)
from storefmt.names import TRACE_TOPIC

if TYPE_CHECKING:
    from mqclient.admin.admin import Admin


@command(
    "message trace",
    details="The steps are, for each message: store, delay, half, retry and dead_letter (where "
    "it is stored); sent, delivered, consumed and decided (traced by clients); and group (the "
    "present position of each group). With --topic, only messages of this topic are shown, and a "
    "line below names the group that failed. Without it, only the traces of clients are read. "
    "--from, --to and --count limit which trace messages are read.",
    examples=(
        ("mqadmin message trace AC1100020B6B18B4AAC2064ED6A30000 --topic orders", "by unique id"),
        ("mqadmin message trace o-17 --topic orders", "every message with this key"),
        ("mqadmin message trace 7F00000100002A9F00000000000004D2", "by offset id"),
        ("mqadmin message trace broker-a:3:17 --topic orders", "by queue and offset"),
    ),
    rows=LifeRow,
    columns=(
        "unique_key",
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
    offline="store trace",
)
@argument("which", metavar="ID|KEY|PLACE", help="a unique id, a key, an offset id or QUEUE:OFFSET")
@click.option("--topic", "-t", type=TOPIC, help="topic of the message; not needed for an offset id")
@click.option(
    "--trace-topic", type=TOPIC, default=TRACE_TOPIC, help="topic that clients write traces to"
)
@stored_at_any_time
@click.option(
    "--count", type=INTEGER, default=64, help="largest number of trace messages that are read"
)
async def trace_message(
    call: Call,
    *,
    which: str,
    topic: str | None,
    trace_topic: str,
    stored: TimeSpan,
    count: int,
) -> Outcome:
    """Return one row for each step of each message, oldest first, then where the groups stand.

    Raises:
        ItemNotFound: no broker knows the message.
        NoRoute: the topic does not exist.
    """
    admin = await call.admin()
    key = which
    if is_offset_id(key) or (topic is not None and PLACE.fullmatch(key)):
        message = await find_message(call, key, topic=topic)
        key, topic = message.unique_key or key, message.topic
    rows: list[LifeRow] = []
    notes: list[str] = []
    if topic is not None:
        rows = await _in_topic(admin, topic, key)
    else:
        notes = ["only the traces of clients were read: add --topic to ask brokers as well"]
    unique_keys = {row.unique_key for row in rows if row.unique_key}
    begin_ms, end_ms = stored.ms(call.now_ms())
    read = TracesRead(trace_topic, begin_ms=begin_ms, end_ms=end_ms, count_max=count)
    seen = []
    for name in sorted({key, *unique_keys}):
        seen += await traced_steps(admin, name, warn=call.warn, read=read)
    traced = list(dict.fromkeys(seen))
    if topic is not None:
        traced = of_topic(traced, topic, unique_keys)
    if not rows and not traced:
        where = f"topic {topic} and {trace_topic}" if topic else trace_topic
        raise ItemNotFound(f"no message {which} in {where}", hint="check topic and id")
    life = by_message([*rows, *traced])
    return Outcome(life, notes=(*notes, *failure_texts(life)), tree=("topic", "group"))


async def _in_topic(admin: "Admin", topic: str, key: str) -> list[LifeRow]:
    groups = await groups_of(admin, topic)
    rows, messages = await stored_steps(admin, topic, key, groups)
    for message in messages:
        rows += await group_steps(admin, message, groups)
    return rows
