"""Summary of a store: sizes, time span, queues, consumer groups with their lag, health.

Rule: nothing here scans the log. Counts come from the queues, and times come from the first and
the last record of a file, so that a store of terabytes answers at once.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from storefmt.errors import DamageKind, StoreError
from storefmt.formats.consumequeue import ENTRY_SIZE
from storefmt.formats.hosts import address_text
from storefmt.formats.message import Record
from storefmt.offline.views.config import ConfigTables
from storefmt.offline.views.geometry import Geometry
from storefmt.offline.views.log_scan import Blank, Damage, last_record, walk_file
from storefmt.offline.views.queues import QueueView
from storefmt.offline.views.store_view import StoreView
from storefmt.offline.views.tree import V5_MARKS, FileSpan
from storefmt.store_file import StoreFile

PRODUCER_QUEUES_MAX: Final = 1000
BLANK: Final = "blank"


@dataclass(frozen=True, slots=True)
class QueueInfo:
    """One queue: offsets in entries; ``max_offset`` is the next one to be written."""

    topic: str
    queue_id: int
    min_offset: int
    max_offset: int


@dataclass(frozen=True, slots=True)
class GroupInfo:
    """The position of a group in a queue; ``lag`` in messages, negative if it is ahead."""

    group: str
    topic: str
    queue_id: int
    queue_offset: int
    max_offset: int
    lag: int


@dataclass(frozen=True, slots=True)
class StoreInfo:
    """Summary of a store; times in ms (0 for none), sizes and log offsets in bytes.

    Attributes:
        version: ``4.x`` or ``5.x``, by the files that only 5.x makes.
        message_count: entries of all queues that the log may still have.
        size: of all files; ``used_size`` of the log without what is not written yet.
        aborted: a broker runs on the store, or was killed.
        behind_size: bytes of the log that no queue has an entry for yet.
        producers: addresses that sent the newest message of each queue (queues of the broker's
            own topics excepted); this is a sample and not a list of all producers.
        notes: warnings for people, one sentence each.
    """

    version: str
    min_log_offset: int
    end_log_offset: int
    log_file_count: int
    index_file_count: int
    size: int
    used_size: int
    first_ms: int
    last_ms: int
    topic_count: int
    message_count: int
    geometry: Geometry
    aborted: bool
    behind_size: int
    checkpoint: tuple[int, int, int] | None
    queues: list[QueueInfo]
    groups: list[GroupInfo]
    producers: list[str]
    notes: list[str]


@dataclass(frozen=True, slots=True)
class FileView:
    """One file of a store.

    Attributes:
        start, end: what it covers: bytes of the log, entries of a queue or an index.
        fill_size: bytes that are in use.
        first_ms, last_ms: store times of its first and last message, 0 for none.
        newest_topic: of a log file's last record.
        end_reason: what follows that record: ``blank`` (the file is full), ``zero`` (there is
            room), ``truncated`` (the file ends there), or the kind of damage. Both are empty
            for files of other kinds.
    """

    kind: str
    name: str
    size: int
    start: int = 0
    end: int = 0
    fill_size: int = 0
    first_ms: int = 0
    last_ms: int = 0
    newest_topic: str = ""
    end_reason: str = ""


def store_info(store: StoreView, config: ConfigTables) -> StoreInfo:
    """Return the summary of a store.

    Raises:
        StoreError: a file cannot be read.
    """
    views = [store.queue(*key) for key in store.queues()]
    queues = [QueueInfo(v.topic, v.queue_id, v.min_offset, v.max_offset) for v in views]
    checkpoint, notes = _checkpoint(store)
    last = store.log.last[2] if store.log.last else None
    first = store.log.first
    dispatched = max(map(dispatched_end, views), default=0)
    spans = _all_spans(store)
    if store.tree.reads_rocksdb and store.tree.file_queues:
        notes.append(
            "the queues in RocksDB are read, because they go further than those in consumequeue"
        )
    if store.aborted:
        notes.append("abort file: a broker is running on this store, or it was killed")
    notes += [
        f"{topic} {queue_id}: batch consume queue (5.x), which is not supported"
        for topic, queue_id in store.tree.batch_queues
    ]
    return StoreInfo(
        version="5.x" if any((store.root / mark).exists() for mark in V5_MARKS) else "4.x",
        min_log_offset=store.log.min_offset,
        end_log_offset=store.log.end,
        log_file_count=len(store.tree.log),
        index_file_count=len(store.tree.index),
        size=sum(span.size for span in spans),
        used_size=store.log.end - store.log.min_offset,
        first_ms=first.store_ms if first else 0,
        last_ms=last.store_ms if last else 0,
        topic_count=len({queue.topic for queue in queues}),
        message_count=sum(queue.max_offset - queue.min_offset for queue in queues),
        geometry=store.geometry,
        aborted=store.aborted,
        behind_size=max(0, store.log.last_end - dispatched),
        checkpoint=checkpoint,
        queues=queues,
        groups=group_infos(store, config),
        producers=_producers(store),
        notes=[*notes, *config.notes],
    )


def store_files(store: StoreView) -> Iterator[FileView]:
    """Yield every file of the store: log, queues, ext, index, config, the rest, strangers.

    The kind of a file in another directory of the store is the name of that directory.
    """
    for span in store.log.spans:
        yield log_file(store, span)
    yield from other_files(store)


def other_files(store: StoreView) -> Iterator[FileView]:
    """Yield every file that is not a commit log file."""
    for key in sorted(store.tree.file_queues):
        view = store.queue_in_files(*key)
        if view is not None:
            yield from (_queue_file(store, view, span) for span in view.files)
    for spans in store.tree.ext.values():
        for span in spans:
            yield _plain(store, "consumequeue_ext", span)
    for index in store.index_files:
        try:
            header, end = index.header, index.entry_count
        except StoreError:
            yield _plain(store, "index", index.span)
            continue
        yield FileView(
            "index", index.name, index.span.size, 1, end,
            fill_size=index.fill_size, first_ms=header.begin_ms, last_ms=header.end_ms,
        )  # fmt: skip
    tree = store.tree
    batches = [span for spans in tree.batch_queues.values() for span in spans]
    kinds = {"batchconsumequeue": batches, "config": tree.config, **tree.below, "other": tree.other}
    for kind, plain in kinds.items():
        for span in plain:
            yield _plain(store, kind, span)
    for stranger in tree.strangers:
        yield FileView("stranger", tree.name(stranger.path), stranger.size)


def log_file(store: StoreView, span: FileSpan) -> FileView:
    """Return what one commit log file covers, from its first and its last record."""
    file, base = store.log.open(span), store.log.base(span)
    data_end = file.data_end()
    last = last_record(file, base=base, end=data_end) if data_end else None
    first = next((item for _, item in walk_file(file, base=base) if isinstance(item, Record)), None)
    behind = 0 if last is None else last[0] + last[1].size
    end_reason = _end_reason(file, base, behind)
    fill = span.size if end_reason == BLANK else behind
    return FileView(
        "commitlog",
        store.span_name(span),
        span.size,
        span.start,
        span.start + fill,
        fill_size=fill,
        first_ms=first.store_ms if first else 0,
        last_ms=last[1].store_ms if last else 0,
        newest_topic=last[1].topic if last else "",
        end_reason=end_reason,
    )


def _end_reason(file: StoreFile, base: int, pos: int) -> str:
    """Return what lies after the last record of a log file."""
    match next(walk_file(file, base=base, start=pos), (pos, None))[1]:
        case Blank():
            return BLANK
        case Damage(error=error):
            return str(error.kind)
        case None:
            return str(DamageKind.TRUNCATED)
    # The end of the data, or one more record, which a broker wrote there just now.
    return "zero"


def group_infos(store: StoreView, config: ConfigTables) -> list[GroupInfo]:
    """Return the position of each group of ``config``; a missing queue counts as empty."""
    infos = []
    for (topic, group), offsets in sorted(config.offsets.items()):
        for queue_id, offset in sorted(offsets.items()):
            there = (topic, queue_id) in store.tree.queues
            end = store.queue(topic, queue_id).max_offset if there else 0
            infos.append(GroupInfo(group, topic, queue_id, offset, end, end - offset))
    return infos


def dispatched_end(view: QueueView) -> int:
    """Return the log offset after the record that a queue's last entry points at."""
    for queue_offset in range(view.max_offset - 1, view.start_offset - 1, -1):
        try:
            entry = view.entry(queue_offset)
        except StoreError:
            return 0
        if not entry.is_filler:
            return entry.log_offset + entry.size
    return 0


def _producers(store: StoreView) -> list[str]:
    groups = set()
    for key in store.queues()[:PRODUCER_QUEUES_MAX]:
        view = store.queue(*key)
        try:
            log_offset = view.entry(view.max_offset - 1).log_offset
            record = store.log.record_at(log_offset, check_crc=False)
        except StoreError:
            # The queue is empty, expired or damaged; another queue may show it.
            continue
        if record.born_host != record.store_host:
            groups.add(address_text(record.born_host))
    return sorted(groups)


def _checkpoint(store: StoreView) -> tuple[tuple[int, int, int] | None, list[str]]:
    try:
        checkpoint = store.checkpoint()
    except StoreError as error:
        return None, [str(error)]
    if checkpoint is None:
        return None, ["no checkpoint: a broker will read the whole log when it starts"]
    return (checkpoint.physic_ms, checkpoint.logics_ms, checkpoint.index_ms), []


def _all_spans(store: StoreView) -> list[FileSpan]:
    tree = store.tree
    rows = [*tree.file_queues.values(), *tree.ext.values(), *tree.batch_queues.values()]
    rows += tree.below.values()
    return [*tree.log, *tree.index, *tree.config, *tree.other, *(s for row in rows for s in row)]


def _queue_file(store: StoreView, view: QueueView, span: FileSpan) -> FileView:
    low, high = view.range_of(span)
    return FileView(
        "consumequeue",
        store.span_name(span),
        span.size,
        low,
        high,
        fill_size=(high - low) * ENTRY_SIZE,
        first_ms=time_of(store, view, low) if high > low else 0,
        last_ms=time_of(store, view, high - 1) if high > low else 0,
    )


def time_of(store: StoreView, view: QueueView, queue_offset: int) -> int:
    """Return the store time (ms) of the message with a queue offset; 0 if it cannot be read.

    The entry points before the log, is a filler or is damaged; ``verify`` says why.
    """
    try:
        return store.log.record_at(view.entry(queue_offset).log_offset, check_crc=False).store_ms
    except StoreError:
        return 0


def _plain(store: StoreView, kind: str, span: FileSpan) -> FileView:
    return FileView(kind, store.span_name(span), span.size, fill_size=span.size)
