"""``message print``: print the messages of a topic or of one queue, up to its present end.

Requests: GET_ROUTEINFO_BY_TOPIC, GET_MIN_OFFSET, GET_MAX_OFFSET, SEARCH_OFFSET_BY_TIMESTAMP
with ``--from``, then PULL_MESSAGE; nothing is committed.
"""

import re

import click

from mqadmin.cli.declare import Call, Needs, Outcome, argument, command
from mqadmin.cli.decorators import (
    broker_option,
    limit_option,
    no_bodies_option,
    stored_between,
    tag_expression,
    topic_argument,
    with_key,
)
from mqadmin.cli.times import OpenTimeSpan
from mqadmin.cli.types import INTEGER, QUEUE, TOPIC, Integer
from mqadmin.messages.browse import MessageQuery, browse
from mqadmin.messages.filter import RecordFilter, body_conditions
from mqadmin.messages.json_condition import JsonCondition
from mqadmin.messages.message_rows import MESSAGE_COLUMNS, MessageRow
from mqadmin.messages.pulls import pulls


@command(
    "message print",
    examples=(
        ("mqadmin message print orders --from -1h", "the last hour, all queues"),
        ("mqadmin message print orders broker-a:3 --start 17 -c 10", "ten of one queue"),
        ("mqadmin message print orders -p region=eu -o jsonl", "by a property, for a program"),
        ("mqadmin message print orders --json 'order.items[0].id=17'", "by a field of the body"),
        ("mqadmin message print %LMQ%users --parent orders", "a light queue (brokers of 5.x)"),
        ("mqadmin message print orders --grep '\"total\": 0' --scan 10000", "by text in the body"),
    ),
    rows=MessageRow,
    columns=MESSAGE_COLUMNS,
    needs=Needs.EITHER,
)
@topic_argument()
@argument("queue", type=QUEUE, required=False, help="only this queue")
@broker_option(help="only queues of this broker")
@stored_between
@click.option("--start", type=INTEGER, metavar="OFFSET", help="begin at this queue offset")
@tag_expression
@with_key
@body_conditions
@limit_option()
@click.option(
    "--bytes",
    "bytes_",
    type=Integer(min=0),
    help="stop when the bodies total this many bytes",
)
@click.option("--scan", type=Integer(min=1), help="read at most this many messages of each queue")
@click.option(
    "--parent",
    type=TOPIC,
    metavar="TOPIC",
    help="the topic whose brokers have the light queue (brokers of 5.x)",
)
@click.option("--count-tags", is_flag=True, help="count the messages of each tag at the end")
@no_bodies_option
async def print_messages(
    call: Call,
    *,
    topic: str,
    queue: str | None,
    broker: str | None,
    stored: OpenTimeSpan,
    start: int | None,
    tag: str,
    key: str | None,
    properties: tuple[tuple[str, str], ...],
    grep: re.Pattern[str] | None,
    json: JsonCondition | None,
    limit: int | None,
    bytes_: int | None,
    scan: int | None,
    parent: str | None,
    count_tags: bool,
    no_body: bool,
) -> Outcome:
    """Return one row for each message, queue by queue.

    Raises:
        NoRoute: the topic does not exist.
        ItemNotFound: the queue does not exist.
    """
    begin_ms, end_ms = stored.ms(call.now_ms())
    record_filter = RecordFilter(
        topic=topic if call.is_offline else None,
        key=key,
        begin_ms=begin_ms,
        end_ms=end_ms,
        property=properties,
        body=grep,
        json=json,
    )
    wish = MessageQuery(
        topic=topic,
        filter=record_filter,
        queue=queue,
        broker=broker,
        start=start,
        tags=tag,
        limit=limit,
        bytes_max=bytes_,
        scan=scan,
        parent=parent,
        no_body=no_body,
        count_tags=count_tags,
    )
    if call.settings.compat and not call.is_offline:
        return Outcome(pulls(call, wish, is_consuming=call.spelled == "consumeMessage"))
    return await browse(call, wish)
