"""``message query …``: find messages by key, place or time.

key, unique-key    GET_ROUTEINFO_BY_TOPIC, QUERY_MESSAGE on each broker
offset             GET_ROUTEINFO_BY_TOPIC, PULL_MESSAGE
time               those of ``message print``

``message query id`` has a module of its own, because it does not need these imports.
"""

from typing import Final

import click

from mqadmin.cli.declare import Call, Needs, Outcome, argument, command, one
from mqadmin.cli.decorators import (
    broker_option,
    limit_option,
    no_bodies_option,
    no_body_option,
    of_cluster,
    option_group,
    stored_at_any_time,
    stored_from,
    stored_to,
    topic_argument,
)
from mqadmin.cli.times import TimeSpan
from mqadmin.cli.types import INTEGER, QUEUE, Choice, Integer
from mqadmin.cluster.brokers import choose_queue, queue_number
from mqadmin.cluster.partial_answers import Answers
from mqadmin.errors import ItemNotFound, Usage
from mqadmin.messages.browse import MessageQuery, browse
from mqadmin.messages.filter import RecordFilter
from mqadmin.messages.message_rows import MESSAGE_COLUMNS, MessageRow, row_of
from mqadmin.messages.track import with_tracks
from mqadmin.messages.waiting import waiting_hint
from mqadmin.output.times import When
from mqclient.consumer.pull_consumer import PullConsumer
from storefmt.names import TOOLS_GROUP

INDEXES: Final = ("keys", "tags")
asked_cluster = of_cluster(help="ask the brokers of this cluster, not those of the topic's route")
"""A cluster's name is also a topic on all its brokers, so it stands for their route, as in Java."""


@command(
    "message query key",
    examples=(
        ("mqadmin message query key orders o-17", "all messages with this key"),
        ("mqadmin message query key orders o-17 --from -1h", "only the last hour"),
        ("mqadmin message query key orders paid --index tags", "by tag, from brokers of 5.x"),
        ("mqadmin message query key orders o-17 --store DIR", "from a store directory"),
    ),
    rows=MessageRow,
    columns=MESSAGE_COLUMNS,
    needs=Needs.EITHER,
)
@topic_argument()
@argument("key", help="the key")
@stored_at_any_time
@click.option("--count", "-c", type=INTEGER, default=64, help="largest number of messages")
@asked_cluster
@click.option(
    "--index",
    type=Choice([*INDEXES]),
    default="keys",
    help="look KEY up in the index of keys, or of tags (brokers of 5.x)",
)
@click.option(
    "--last-key",
    metavar="ENTRY",
    help="continue behind this entry of an index in RocksDB (brokers of 5.x)",
)
@no_bodies_option
async def query_key(
    call: Call,
    *,
    topic: str,
    key: str,
    stored: TimeSpan,
    count: int,
    cluster: str | None,
    index: str,
    last_key: str | None,
    no_body: bool,
) -> Outcome:
    """Return one row for each message, oldest first.

    Raises:
        ItemNotFound: no message has the key.
        NoRoute: the topic does not exist.
        Usage: only a broker has the index, or goes on in it.
    """
    by_tag = index == "tags"
    if call.is_offline and (by_tag or last_key is not None):
        raise Usage(
            "--index tags and --last-key ask brokers",
            hint=f"`message print {topic} --tag {key} --store DIR` finds tags in a directory",
        )
    begin_ms, end_ms = stored.ms(call.now_ms())
    if call.is_offline:
        from mqadmin.store_access.stored_rows import refuse_cluster, stored_by_key

        refuse_cluster(cluster)
        return stored_by_key(
            call,
            topic,
            key,
            begin_ms=begin_ms,
            end_ms=end_ms,
            count_max=count,
            body="none" if no_body else "inflated",
        )
    admin = await call.admin()
    answers = Answers(call)
    messages = await admin.query_message(
        topic,
        key,
        count_max=count,
        begin_ms=begin_ms,
        end_ms=end_ms,
        by_tag=by_tag,
        last_key=last_key,
        route_of=cluster,
        on_silent=answers.miss,
    )
    if not messages and not answers.exit_code():
        raise ItemNotFound(
            f"no message with {index.removesuffix('s')} {key!r} in topic {topic}",
            hint=await waiting_hint(admin, topic, key)
            or "check the key, and the time span if one is given",
        )
    rows = [row_of(message, warn=call.warn, body=not no_body) for message in messages]
    return Outcome(rows, exit_code=answers.exit_code)


COPIES_MAX = 64


@command(
    "message query unique-key",
    examples=(("mqadmin message query unique-key orders 7F0000013A2118B4AAC2...", "that one"),),
    rows=MessageRow,
    columns=MESSAGE_COLUMNS,
    needs=Needs.EITHER,
)
@topic_argument()
@argument("message_id", metavar="ID", help="the unique id that the producer got")
@stored_at_any_time
@click.option("--all", "all_", is_flag=True, help="show every copy, not only the first")
@asked_cluster
@no_body_option
async def query_unique_key(
    call: Call,
    *,
    topic: str,
    message_id: str,
    stored: TimeSpan,
    all_: bool,
    cluster: str | None,
    no_body: bool,
) -> Outcome:
    """Return one row, or with ``--all`` one for each copy.

    Raises:
        ItemNotFound: no message has the id.
        NoRoute: the topic does not exist.
    """
    begin_ms, end_ms = stored.ms(call.now_ms())
    if call.is_offline:
        from mqadmin.store_access.stored_rows import refuse_cluster, stored_by_key

        refuse_cluster(cluster)
        return stored_by_key(
            call,
            topic,
            message_id,
            begin_ms=begin_ms,
            end_ms=end_ms,
            count_max=COPIES_MAX if all_ else 1,
            body="none" if no_body else "inflated",
            unique=True,
        )
    admin = await call.admin()
    answers = Answers(call)
    messages = await admin.query_message(
        topic,
        message_id,
        begin_ms=begin_ms,
        end_ms=end_ms,
        unique=True,
        route_of=cluster,
        on_silent=answers.miss,
    )
    if not messages and not answers.exit_code():
        raise ItemNotFound(
            f"no message {message_id} in topic {topic}",
            hint=await waiting_hint(admin, topic, message_id, unique=True) or "check topic and id",
        )
    shown = messages if all_ else messages[:1]
    if call.settings.compat:
        # Java's tool also prints which groups have read the message.
        return Outcome(with_tracks(call, shown), exit_code=answers.exit_code)
    rows = [row_of(message, warn=call.warn, body=not no_body) for message in shown]
    return Outcome(rows, exit_code=answers.exit_code)


@command(
    "message query offset",
    examples=(("mqadmin message query offset orders broker-a:3 17", "entry 17 of queue 3"),),
    rows=MessageRow,
    columns=MESSAGE_COLUMNS,
    needs=Needs.EITHER,
)
@topic_argument()
@argument("queue", type=QUEUE, metavar="QUEUE", help="the queue")
@argument("queue_offset", type=Integer(min=0), metavar="OFFSET", help="queue offset of the message")
@broker_option(help="broker of the queue, if QUEUE is only an id")
@no_body_option
async def query_offset(
    call: Call, *, topic: str, queue: str, queue_offset: int, broker: str | None, no_body: bool
) -> Outcome:
    """Return the message.

    Raises:
        ItemNotFound: the queue has no entry at the offset; the error says which it has.
        NoRoute: the topic does not exist.
    """
    if call.is_offline:
        from mqadmin.store_access.stored_rows import stored_at

        return stored_at(call, topic, queue_number(queue), queue_offset, no_body=no_body)
    consumer = PullConsumer(await call.client(), TOOLS_GROUP)
    mq = choose_queue(await consumer.queues(topic), queue, broker)
    pulled = await consumer.pull(mq, queue_offset=queue_offset, count_max=1)
    for message in pulled.messages:
        if message.queue_offset == queue_offset:
            if call.settings.compat:
                # Java's tool also prints which groups have read the message.
                return Outcome(with_tracks(call, [message], pulled=pulled))
            return one(row_of(message, warn=call.warn, body=not no_body))
    raise ItemNotFound(
        f"queue {mq.broker_name}:{mq.queue_id} of topic {topic} has no message at {queue_offset}",
        hint=f"it has {pulled.min_offset} to {pulled.max_offset - 1}"
        if pulled.max_offset > pulled.min_offset
        else "it is empty",
    )


@command(
    "message query time",
    examples=(
        ("mqadmin message query time orders --from -10m", "the last ten minutes"),
        ("mqadmin message query time orders --from 10:00 --to 10:05", "five minutes of today"),
    ),
    rows=MessageRow,
    columns=MESSAGE_COLUMNS,
    needs=Needs.EITHER,
)
@topic_argument()
@option_group("stored", TimeSpan, stored_from(required=True), stored_to(default=When("now")))
@limit_option()
@no_bodies_option
async def query_time(
    call: Call, *, topic: str, stored: TimeSpan, limit: int | None, no_body: bool
) -> Outcome:
    """Return one row for each message, queue by queue; empty if nothing was stored then.

    Raises:
        NoRoute: the topic does not exist.
        Usage: the span ends before it begins.
    """
    begin_ms, end_ms = stored.ms(call.now_ms())
    if end_ms < begin_ms:
        raise Usage(f"--to {stored.to} is before --from {stored.from_}")
    record_filter = RecordFilter(
        topic=topic if call.is_offline else None, begin_ms=begin_ms, end_ms=end_ms
    )
    return await browse(
        call, MessageQuery(topic=topic, filter=record_filter, limit=limit, no_body=no_body)
    )
