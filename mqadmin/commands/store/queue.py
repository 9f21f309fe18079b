"""``store queue``: list the entries of consume queues."""

from collections.abc import Iterator
from dataclasses import dataclass

import click

from mqadmin.cli.declare import Call, Needs, Outcome, Row, argument, command
from mqadmin.cli.decorators import limit_option, topic_argument
from mqadmin.cli.types import INTEGER, QUEUE
from mqadmin.cluster.brokers import queue_number
from mqadmin.errors import ItemNotFound
from storefmt.offline.views.storedir import StoreDir
from storefmt.offline.views.tree import QueueKey


@dataclass(frozen=True, slots=True, kw_only=True)
class EntryRow(Row):
    """One entry: where its record lies in the log, and the record's size in bytes.

    ``min_offset`` and ``max_offset`` are the ends of its queue.
    """

    topic: str
    queue_id: int
    queue_offset: int
    log_offset: int
    size: int
    tags_code: int
    file: str
    min_offset: int
    max_offset: int


@command(
    "store queue",
    details="A size of 2147483647 marks a filler entry of a queue that started late.",
    examples=(
        ("mqadmin store queue DIR orders 0", "all entries of queue 0"),
        ("mqadmin store queue DIR orders --start 100 --limit 10", "ten of each queue"),
    ),
    rows=EntryRow,
    columns=("topic", "queue_id", "queue_offset", "log_offset", "size", "tags_code", "file"),
    needs=Needs.STORE,
)
@topic_argument(required=False, help="the topic; all of them if left out")
@argument("queue", type=QUEUE, metavar="QUEUE", required=False, help="the queue; all if left out")
@click.option("--start", type=INTEGER, help="queue offset to start at; the first if left out")
@limit_option(help="largest number of entries of each queue")
def list_queue(
    call: Call, *, topic: str | None, queue: str | None, start: int | None, limit: int | None
) -> Outcome:
    """Return one row for each entry, queue by queue.

    Raises:
        ItemNotFound: the queue does not exist.
    """
    queue_id = None if queue is None else queue_number(queue)
    store = StoreDir.open(call.store_dir)
    store.need_queues()
    keys = [
        key
        for key in (*store.queues(), *store.tree.batch_queues)
        if topic in (None, key[0]) and queue_id in (None, key[1])
    ]
    if not keys and topic is not None:
        where = topic if queue_id is None else f"{topic} {queue_id}"
        raise ItemNotFound(
            f"no queue {where} in {store.root}", hint="`store info` lists the topics"
        )
    return Outcome(_queue_rows(store, keys, start=start or 0, limit=limit))


def _queue_rows(
    store: StoreDir, keys: list[QueueKey], *, start: int, limit: int | None
) -> Iterator[EntryRow]:
    with store:
        for topic, queue_id in keys:
            view = store.queue(topic, queue_id)
            for queue_offset, entry in view.entries(start, limit):
                span = view.file_of(queue_offset)
                yield EntryRow.of(
                    entry,
                    topic=topic,
                    queue_id=queue_id,
                    queue_offset=queue_offset,
                    file=store.span_name(span) if span else "",
                    min_offset=view.min_offset,
                    max_offset=view.max_offset,
                )
