"""``store queue``: the entries of consume queues, as they lie in their files."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated

from mqadmin.call import Call
from mqadmin.errors import NotFound
from mqadmin.parameters import Kind, argument, option
from mqadmin.registry import Needs, command
from mqadmin.rows import Outcome, Row
from storefmt.offline.views.storedir import StoreDir
from storefmt.offline.views.tree import QueueKey


@dataclass(frozen=True, slots=True, kw_only=True)
class Arguments:
    """Which queues, and which of their entries."""

    topic: Annotated[
        str | None, argument("the topic; all of them if left out", kind=Kind.TOPIC)
    ] = None
    queue: Annotated[int | None, argument("the queue; all of the topic if left out")] = None
    start: Annotated[int, option("queue offset to begin at")] = 0
    limit: Annotated[int | None, option("so many of each queue at most", short="c")] = None


@dataclass(frozen=True, slots=True, kw_only=True)
class EntryRow(Row):
    """One entry: where its record lies in the log, and the record's size in bytes."""

    topic: str
    queue_id: int
    queue_offset: int
    log_offset: int
    size: int
    tags_code: int
    file: str


@command(
    "store queue",
    "list the entries of consume queues",
    details="A size of 2147483647 is a filler: the queue started late.",
    examples=(
        ("mqadmin store queue DIR orders 0", "all entries of queue 0"),
        ("mqadmin store queue DIR orders --start 100 --limit 10", "ten of each queue"),
    ),
    rows=EntryRow,
    needs=Needs.STORE,
)
def list_queue(call: Call, args: Arguments) -> Outcome:
    """Return one row an entry, queue by queue.

    Raises:
        NotFound: there is no such queue.
    """
    store = StoreDir.open(call.store_dir)
    keys = [
        key
        for key in (*store.queues(), *store.tree.batch_queues)
        if args.topic in (None, key[0]) and args.queue in (None, key[1])
    ]
    if not keys and args.topic is not None:
        where = args.topic if args.queue is None else f"{args.topic} {args.queue}"
        raise NotFound(f"no queue {where} in {store.root}", hint="`store info` lists the topics")
    return Outcome(_rows(args, store, keys))


def _rows(args: Arguments, store: StoreDir, keys: list[QueueKey]) -> Iterator[EntryRow]:
    with store:
        for topic, queue_id in keys:
            view = store.queue(topic, queue_id)
            for queue_offset, entry in view.entries(args.start, args.limit):
                span = view.file_of(queue_offset)
                yield EntryRow(
                    topic=topic,
                    queue_id=queue_id,
                    queue_offset=queue_offset,
                    log_offset=entry.log_offset,
                    size=entry.size,
                    tags_code=entry.tags_code,
                    file=store.span_name(span) if span else "",
                )
