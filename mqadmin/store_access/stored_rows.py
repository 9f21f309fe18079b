"""Read a store directory for commands that otherwise ask servers, and return the same rows.

    message query id --store DIR      the record, decompressed as a client would get it
    topic|group|offset … --store DIR  state files of config/ and the ends of the queues

Rule: what only servers know (addresses, members, rates) is None or omitted, never guessed;
``broker`` is None, because a store does not contain the name of its broker.

Rule: commands import this module only if a line names a store, because importing it takes about
60 ms, and a request to a broker should not wait for that.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TypeVar

from mqadmin.cluster.topic_queues import TopicQueue
from mqadmin.errors import ItemNotFound, Usage
from mqadmin.messages.message_rows import BodyForm, MessageRow
from mqadmin.messages.record_rows import body_form, row_at
from mqadmin.output.rows import Outcome, Row, one
from mqadmin.session.call import Call
from storefmt.config.tables import SubscriptionGroup
from storefmt.errors import StoreError
from storefmt.formats.message import Record
from storefmt.names import perm_text
from storefmt.offline.views.info import GroupInfo
from storefmt.offline.views.storedir import StoreDir

R = TypeVar("R", bound=Row)


def refuse_cluster(cluster: str | None) -> None:
    """Refuse ``--cluster`` beside ``--store``, where it would select nothing."""
    if cluster is not None:
        raise Usage(f"--cluster {cluster}", hint="a store belongs to one broker; leave it out")


def stored_messages(call: Call, ids: Sequence[str], *, no_body: bool) -> Outcome:
    """Return the message with an offset id or a unique key, or one row for each of several.

    Raises:
        NotInStore: the message does not exist.
    """
    with StoreDir.open(call.store_dir) as store:
        rows = [
            stored_row(
                call, store, store.find_message(each), body=body_form(no_body=no_body, inflate=True)
            )
            for each in ids
        ]
    return one(rows[0]) if len(rows) == 1 else Outcome(rows)


def stored_by_key(
    call: Call,
    topic: str,
    key: str,
    *,
    begin_ms: int,
    end_ms: int,
    count_max: int,
    body: BodyForm,
    unique: bool = False,
) -> Outcome:
    """Return the messages of a topic with a key, oldest first.

    Raises:
        ItemNotFound: no message has the key.
    """
    with StoreDir.open(call.store_dir) as store:
        records = store.query_key(topic, key, begin_ms=begin_ms, end_ms=end_ms, count_max=count_max)
        if unique:
            records = [record for record in records if record.unique_key == key]
        if not records:
            raise ItemNotFound(
                f"no message with key {key!r} in topic {topic} of {store.root}",
                hint="check the key, and the time span if one is given",
            )
        return Outcome([stored_row(call, store, record, body=body) for record in records])


def stored_at(
    call: Call, topic: str, queue_id: int, queue_offset: int, *, no_body: bool
) -> Outcome:
    """Return the message at a place of a queue.

    Raises:
        ItemNotFound: the queue or the entry does not exist.
    """
    with StoreDir.open(call.store_dir) as store:
        store.need_queues()
        if (topic, queue_id) not in set(store.queues()):
            raise ItemNotFound(f"topic {topic} has no queue {queue_id} in {store.root}")
        for entry_offset, entry in store.queue(topic, queue_id).entries(queue_offset, 1):
            if entry_offset == queue_offset:
                body = body_form(no_body=no_body, inflate=True)
                return one(stored_row(call, store, store.record_at(entry.log_offset), body=body))
        raise ItemNotFound(
            f"queue {queue_id} of topic {topic} has no message at {queue_offset}",
            hint="`store info` shows the ends of the queues",
        )


def stored_topics(call: Call) -> list[str]:
    """Return the topics that a store has settings or queues of, sorted."""
    with open_store(call) as store:
        store.need_queues()
        queues = {topic for topic, _ in store.queues()}
        return sorted(queues | set(store.topics().topics))


def queue_topics(call: Call) -> list[str]:
    """Return the topics that a store has queues of, sorted."""
    with StoreDir.open(call.store_dir) as store:
        store.need_queues()
        return sorted({topic for topic, _ in store.queues()})


def stored_queues(call: Call, topic: str) -> list[TopicQueue]:
    """Return the queues of a topic with what its settings allow.

    Raises:
        ItemNotFound: the store has no queue of the topic.
    """
    with open_store(call) as store:
        store.need_queues()
        numbers = sorted(number for name, number in store.queues() if name == topic)
        if not numbers:
            raise ItemNotFound(
                f"topic {topic} not found in {store.root}", hint="`topic list` shows them"
            )
        settings = store.topics().topics.get(topic)
        return [
            TopicQueue.of(
                view := store.queue(topic, number),
                topic=topic,
                broker=None,
                queue_id=number,
                message_count=view.max_offset - view.min_offset,
                last_updated_ms=_last_ms(store, topic, number),
                perm=perm_text(settings.perm if settings else 0),
                message_type=settings.message_type if settings else None,
                cluster=None,
                address=None,
            )
            for number in numbers
        ]


def _last_ms(store: StoreDir, topic: str, queue_id: int) -> int:
    view = store.queue(topic, queue_id)
    if view.max_offset <= view.min_offset:
        return 0
    for _, entry in view.entries(view.max_offset - 1, 1):
        try:
            return store.record_at(entry.log_offset).store_ms
        except StoreError:
            # The log ends before the queue does; `store verify` reports that.
            return 0
    return 0


def stored_groups(call: Call) -> tuple[dict[str, SubscriptionGroup], dict[str, set[str]]]:
    """Return the settings of groups, and the topics in which groups have offsets, by group."""
    with open_store(call) as store:
        topics: dict[str, set[str]] = {}
        for topic, group in store.offsets():
            topics.setdefault(group, set()).add(topic)
        return store.groups().groups, topics


def stored_positions(call: Call, group: str | None) -> list[GroupInfo]:
    """Return where groups are in each queue, by the offsets that were last written to disk.

    Raises:
        ItemNotFound: the store has no offsets of the named group.
    """
    with open_store(call) as store:
        positions = [
            position for position in store.group_offsets() if group in (None, position.group)
        ]
        if group is not None and not positions:
            raise ItemNotFound(f"group {group} has no offset in {store.root}")
    return sorted(
        positions, key=lambda position: (position.group, position.topic, position.queue_id)
    )


def closing(store: StoreDir, rows: Iterator[R]) -> Iterator[R]:
    """Yield the rows, and close the store after the last one, or when no more are needed."""
    with store:
        yield from rows


@contextmanager
def open_store(call: Call) -> Iterator[StoreDir]:
    """Open the store of a call, and warn about missing or damaged state files."""
    with StoreDir.open(call.store_dir) as store:
        yield store
        for note in store.state.notes:
            call.warn(note)


def stored_row(
    call: Call, store: StoreDir, record: Record, *, body: BodyForm, log_offset: int | None = None
) -> MessageRow:
    """Return the row of a record; ``log_offset`` is its position, if the record may be wrong."""
    record_offset = record.log_offset if log_offset is None else log_offset
    file = f"commitlog/{store.log.file_holding(record_offset)}"
    return row_at(record, log_offset=record_offset, file=file, body=body, warn=call.warn)
