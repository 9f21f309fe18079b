"""``queue show``: show the entries of a consume queue as a broker reads them.

Request: QUERY_CONSUME_QUEUE at the master of the queue.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING

import click

from mqadmin.cli.declare import Call, Needs, Outcome, Row, argument, command
from mqadmin.cli.decorators import Where, broker_option, topic_argument
from mqadmin.cli.types import GROUP, INTEGER, QUEUE, Integer
from mqadmin.cluster.brokers import choose_queue, masters
from mqclient.client import routes
from remoting.bodies import MessageQueue

if TYPE_CHECKING:
    from mqclient.admin.admin import Admin
    from remoting.bodies import QueryConsumeQueueResponseBody


@dataclass(frozen=True, slots=True, kw_only=True)
class QueueEntry(Row):
    """One entry: where its record lies in the log, and its size in bytes.

    ``taken`` says whether the filter of ``--group`` takes the message, None without a group.
    """

    topic: str
    broker: str
    queue_id: int
    queue_offset: int
    log_offset: int
    size: int
    tags_code: int
    taken: bool | None
    min_offset: int
    max_offset: int


@dataclass(frozen=True, slots=True)
class GroupFilter(Row):
    """What a group reads of the topic, as its broker knows it: ``--compat`` shows it first."""

    subscription: dict[str, object]
    filter_data: str


@command(
    "queue show",
    examples=(
        ("mqadmin queue show orders broker-a:3 --start 17", "ten entries from 17 on"),
        ("mqadmin queue show orders 3 --store DIR", "from the files of a stopped broker"),
    ),
    rows=QueueEntry,
    columns=("queue_id", "queue_offset", "log_offset", "size", "tags_code", "taken"),
    needs=Needs.EITHER,
    offline="store queue",
)
@topic_argument()
@argument("queue", type=QUEUE, metavar="QUEUE", help="the queue")
@click.option("--start", type=INTEGER, help="queue offset to start at; the first if left out")
@click.option(
    "--count", "-c", "limit", type=Integer(min=1), default=10, help="largest number of entries"
)
@click.option(
    "--group", type=GROUP, help="show whether the filter of this group matches each message"
)
@broker_option(help="broker of the queue, if QUEUE is only an id")
async def show_queue(
    call: Call,
    *,
    topic: str,
    queue: str,
    start: int | None,
    limit: int,
    group: str | None,
    broker: str | None,
) -> Outcome:
    """Return one row for each entry.

    Raises:
        NoRoute: the topic does not exist.
        ItemNotFound: the queue or the entry does not exist.
    """
    admin = await call.admin()
    mq, address = await _find(admin, topic, queue, broker)
    first = start if start is not None else await admin.min_offset(mq)
    answer = await admin.query_consume_queue(
        address, topic, mq.queue_id, queue_offset=first, count=limit, group=group
    )
    return Outcome(
        [
            *_filters(call, answer),
            *(
                QueueEntry(
                    topic=topic,
                    broker=mq.broker_name,
                    queue_id=mq.queue_id,
                    queue_offset=first + spot,
                    log_offset=entry.physic_offset,
                    size=entry.physic_size,
                    tags_code=entry.tags_code,
                    taken=entry.eval if group is not None else None,
                    min_offset=answer.min_queue_index,
                    max_offset=answer.max_queue_index,
                )
                for spot, entry in enumerate(answer.queue_data or [])
            ),
        ]
    )


def _filters(call: Call, answer: "QueryConsumeQueueResponseBody") -> list[GroupFilter]:
    """Return what only ``--compat`` shows of a group that the broker knows."""
    subscription = answer.subscription_data
    if not call.settings.compat or subscription is None:
        return []
    settings: dict[str, object] = {str(key): value for key, value in subscription.to_json().items()}
    return [GroupFilter(settings, answer.filter_data or "null")]


async def _find(
    admin: "Admin", topic: str, queue: str, broker: str | None
) -> tuple[MessageQueue, str]:
    route = await admin.topic_route(topic)
    addresses = routes.masters(route)
    if broker is not None and ":" in broker:
        # Java's -b takes an address; queues go by the broker's name.
        (node,) = await masters(admin, Where(broker=broker))
        broker = node.broker
    mq = choose_queue(routes.subscribe_queues(topic, route), queue, broker)
    return mq, addresses[mq.broker_name]
