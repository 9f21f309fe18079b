"""What read-only verbs show of a store directory, in the rows of the same verb online.

    message query id --store DIR      the record, decompressed as a client would get it
    topic|group|offset … --store DIR  state files of config/ and the ends of the queues

Rule: what only servers know (addresses, members, rates) is None or left out, never guessed;
``broker`` is None, for a store does not say which broker it belongs to.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from mqadmin.call import Call
from mqadmin.errors import NotFound
from mqadmin.messages import MessageRow
from mqadmin.offsetrows import GroupOffset
from mqadmin.records import row_at
from mqadmin.rows import Outcome, one
from storefmt.message import Record
from storefmt.offline.storedir import StoreDir


def stored_messages(call: Call, ids: Sequence[str], *, no_body: bool) -> Outcome:
    """Return the message with an offset id or a unique key, or one row for each of several.

    Raises:
        NotInStore: there is none.
    """
    with StoreDir.open(call.store_dir) as store:
        rows = [_row(call, store, store.find_message(each), no_body=no_body) for each in ids]
    return one(rows[0]) if len(rows) == 1 else Outcome(rows)


def stored_by_key(
    call: Call,
    topic: str,
    key: str,
    *,
    begin_ms: int,
    end_ms: int,
    count_max: int,
    no_body: bool,
    unique: bool = False,
) -> Outcome:
    """Return the messages of a topic with a key, oldest first.

    Raises:
        NotFound: there is none.
    """
    with StoreDir.open(call.store_dir) as store:
        found = store.query_key(topic, key, begin_ms=begin_ms, end_ms=end_ms, count_max=count_max)
        if unique:
            found = [record for record in found if record.unique_key == key]
        if not found:
            raise NotFound(
                f"no message with key {key!r} in topic {topic} of {store.root}",
                hint="check the key, and the time span where one is given",
            )
        return Outcome([_row(call, store, record, no_body=no_body) for record in found])


def stored_at(
    call: Call, topic: str, queue_id: int, queue_offset: int, *, no_body: bool
) -> Outcome:
    """Return the message at a place of a queue.

    Raises:
        NotFound: there is no such queue, or no such entry.
    """
    with StoreDir.open(call.store_dir) as store:
        if (topic, queue_id) not in set(store.queues()):
            raise NotFound(f"no queue {queue_id} of topic {topic} in {store.root}")
        for found, entry in store.queue(topic, queue_id).entries(queue_offset, 1):
            if found == queue_offset:
                return one(_row(call, store, store.record_at(entry.log_offset), no_body=no_body))
        raise NotFound(
            f"queue {queue_id} of topic {topic} has no message at {queue_offset}",
            hint="`store info` shows the ends of the queues",
        )


def stored_offsets(call: Call) -> list[GroupOffset]:
    """Return every committed offset of a store, sorted by group, topic and queue."""
    with opened(call) as store:
        rows = [
            GroupOffset(group, topic, None, queue_id, queue_offset)
            for (topic, group), queues in store.offsets().items()
            for queue_id, queue_offset in queues.items()
        ]
    return sorted(rows, key=lambda row: (row.group, row.topic, row.queue_id))


def stored_topics(call: Call) -> list[str]:
    """Return the topics that a store has settings or queues of, sorted."""
    with opened(call) as store:
        queues = {topic for topic, _ in store.queues()}
        return sorted(queues | set(store.topics().topics))


def stored_ends(call: Call, topic: str) -> list[tuple[int, int, int]]:
    """Return (queue id, first, next queue offset) of each queue of a topic.

    Raises:
        NotFound: the store has no queue of the topic.
    """
    with opened(call) as store:
        numbers = sorted(number for name, number in store.queues() if name == topic)
        if not numbers:
            raise NotFound(f"no topic {topic} in {store.root}", hint="`topic list` shows them")
        views = [(number, store.queue(topic, number)) for number in numbers]
        return [(number, view.min_offset, view.max_offset) for number, view in views]


@contextmanager
def opened(call: Call) -> Iterator[StoreDir]:
    """Open the store of a call, and tell what its state files are wanting."""
    with StoreDir.open(call.store_dir) as store:
        yield store
        for note in store.state.notes:
            call.warn(note)


def _row(call: Call, store: StoreDir, record: Record, *, no_body: bool) -> MessageRow:
    return row_at(
        record,
        log_offset=record.log_offset,
        file=f"commitlog/{store.log.file_holding(record.log_offset)}",
        body="none" if no_body else "inflated",
        warn=call.warn,
    )
