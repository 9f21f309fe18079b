"""Rebuilds consume queues and index from the log, in a directory of their own.

    commitlog ──records──> consumequeue/<topic>/<queue id>/…   as dispatch would write it
                        └> index/<time>                        same split, same chains

Rule: the store is only read. Its old queues and index are evidence for the sizes and names of
files, for entries of messages that are no longer in the log, and for ext addresses. The number of
queues bounds the memory; the number of messages does not.

Source: store/DefaultMessageStore.java (ReputMessageService, CommitLogDispatcher…).
"""

from collections.abc import Collection, Iterator
from dataclasses import dataclass, field
from typing import Final

from storefmt.errors import BadCall
from storefmt.formats.consumequeue import CQ_ENTRY, ENTRY_SIZE
from storefmt.formats.message import Record
from storefmt.names import DELAY_LEVELS, parse_delay_levels
from storefmt.offline.output_dir import OutputDirectory, copy_file, progress_none
from storefmt.offline.repair.placement import PlacedEntry, Placement
from storefmt.offline.repair.queue_writer import FILLERS_MAX, QUEUE_FILE_SIZE, QueueWriter
from storefmt.offline.repair.rebuild_index import IndexFiles, index_files, shape_of, take_history
from storefmt.offline.views.effective_log import EffectiveLog, ProgressCall
from storefmt.offline.views.log_scan import Damage
from storefmt.offline.views.store_view import StoreView
from storefmt.offline.views.tree import QueueKey

SIZE_MAX: Final = 0x7FFFFFFF
BUFFERED_SIZE_MAX: Final = 8 << 20


@dataclass(frozen=True, slots=True, kw_only=True)
class StoreShape:
    """Sizes of the files to write; 0 for the size in the old store, or else the default size.

    Attributes:
        delay_levels: ``messageDelayLevel`` of the broker.
    """

    queue_file_size: int = 0
    index_slot_count: int = 0
    index_entry_count: int = 0
    delay_levels: str = DELAY_LEVELS


@dataclass(slots=True)
class QueueBuilt:
    """One queue that was written.

    Attributes:
        min_offset: of the first entry that has a file; ``max_offset``: after the last one.
        filler_count: entries that no record of the log has.
        file_size: bytes of each file.
        expired_count: old entries from ``expired_first`` on that only point before the log.
    """

    topic: str
    queue_id: int
    min_offset: int
    max_offset: int
    filler_count: int
    file_size: int
    expired_first: int = 0
    expired_count: int = 0

    @property
    def file_count(self) -> int:
        """Return how many files the queue has."""
        return -(-(self.max_offset - self.min_offset) * ENTRY_SIZE // self.file_size)


@dataclass(slots=True)
class RebuildResult:
    """The result of a rebuild.

    Attributes:
        record_count: records of the log that were read; ``lost_size``: bytes that are not records.
        log_end: log offset after the last record; ``last_store_ms`` is its store time.
        index_full_ms: end of the last full index file, as the checkpoint has it; 0 for none.
        notes: what could not be rebuilt, a sentence each.
    """

    queues: list[QueueBuilt] = field(default_factory=list)
    index_file_count: int = 0
    index_entry_count: int = 0
    record_count: int = 0
    lost_size: int = 0
    log_end: int = 0
    last_store_ms: int = 0
    index_full_ms: int = 0
    notes: list[str] = field(default_factory=list)


def rebuild(
    store: StoreView,
    out: OutputDirectory,
    *,
    evidence: StoreView | None = None,
    shape: StoreShape | None = None,
    with_index: bool = True,
    progress: ProgressCall = progress_none,
) -> RebuildResult:
    """Write new queues and a new index for ``store``.

    Args:
        store: the store with the log.
        out: the directory to write to.
        evidence: the store with the old queues, index and config, if it is another one.
        shape: sizes of the files to write; None for those of the old store.
        with_index: also write the index.
        progress: is called with the bytes of log that are done, and in total.

    Raises:
        BadCall: a size in ``shape`` is not possible.
        StoreError: a file of the store cannot be read.
        OSError: the output cannot be written.
    """
    return Rebuild(store, out, evidence or store, shape or StoreShape(), with_index).write_files(
        progress
    )


class Rebuild:
    """One rebuild: ``write_files`` does all of it in log order, see ``rebuild``.

    Several processes can share a rebuild: each one takes the claims of some queues in log order
    (``write_claim``) and writes those queues (``finish_queues``); one writes the rest
    (``finish_rest``).
    """

    def __init__(
        self,
        store: StoreView,
        out: OutputDirectory,
        old: StoreView,
        shape: StoreShape,
        with_index: bool,
    ) -> None:
        self._store = store
        self._out = out
        self._old = old
        self._log = EffectiveLog(store)
        self._report = RebuildResult()
        self._placement = Placement(
            old, parse_delay_levels(shape.delay_levels), log_min=self._log.min_offset
        )
        for size in (shape.queue_file_size, shape.index_slot_count, shape.index_entry_count):
            if not 0 <= size <= SIZE_MAX:
                raise BadCall(f"a file of {size} bytes, slots or entries; expected 0 to {SIZE_MAX}")
        queue_file_size = shape.queue_file_size or old.geometry.queue_file_size or QUEUE_FILE_SIZE
        self._queue_file_size = -(-queue_file_size // ENTRY_SIZE) * ENTRY_SIZE
        self._queues: dict[QueueKey, QueueWriter] = {}
        self._buffered_count = 0
        self._index: IndexFiles | None = None
        if with_index:
            of_index = shape_of(
                old, slot_count=shape.index_slot_count, entry_count=shape.index_entry_count
            )
            self._index = index_files(out, old, of_index)

    def write_files(self, progress: ProgressCall) -> RebuildResult:
        """Write everything and return what was written."""
        placement, report = self._placement, self._report
        if self._index is not None:
            take_history(self._index, self._old, self._log.min_offset)
        for solid in self._log.items(progress):
            item = solid.item
            if isinstance(item, Damage):
                placement.hole(item.size)
                report.lost_size += item.size
                continue
            if not isinstance(item, Record):
                continue
            report.record_count += 1
            report.last_store_ms = item.store_ms
            for placed in placement.record(item, solid.log_offset):
                self._put(placed)
            if self._index is not None:
                self._index.record(item, solid.log_offset)
        for placed in placement.finish():
            self._put(placed)
        report.log_end = self._log.end
        self._keep_histories(frozenset(self._queues))
        self._report_queues()
        if self._index is not None:
            self._finish_index(self._index)
        self._copy_ext({(queue.topic, queue.queue_id) for queue in report.queues})
        self._note_records()
        self._note_files()
        return report

    @property
    def is_regular(self) -> bool:
        """Return whether every log file has the right name and no part of the log occurs twice."""
        log = self._store.log
        starts = [span.start for span in log.spans]
        return starts == list(log.bases) and not self._log.doubles

    def claims(self, record: Record) -> Iterator[PlacedEntry]:
        """Yield the entries that a record claims; ``write_claim`` expects them queue by queue."""
        return self._placement.claims(record, record.log_offset)

    def write_claim(self, claim: PlacedEntry) -> None:
        """Write the entries that the next claim of its queue makes certain.

        Raises:
            OSError: the disk refuses.
        """
        for placed in self._placement.place_claim(claim):
            self._put(placed)

    def take_run(
        self,
        key: QueueKey,
        first: int,
        entries: bytes,
        last_log_offset: int,
        *,
        has_copies: bool,
    ) -> bool:
        """Write claims that are entries in a row (20 bytes each), or none of them."""
        count = len(entries) // ENTRY_SIZE
        if not self._placement.take_run(key, first, count, last_log_offset, has_copies=has_copies):
            return False
        queue = self._queues[key]
        if queue.next != first:
            # The last entry was too far away to be written.
            for number in range(count):
                offset, size, code = CQ_ENTRY.unpack_from(entries, number * ENTRY_SIZE)
                slot = first + number
                self._put(PlacedEntry(key, slot, offset, size, code, slot, False))
            return True
        queue.put_run(entries)
        self._count(count)
        return True

    def finish_queues(self) -> RebuildResult:
        """Write the rest of the queues that had claims, and return them with the notes."""
        for placed in self._placement.finish():
            self._put(placed)
        self._report_queues()
        self._note_records()
        return self._report

    def finish_rest(self, built: Collection[QueueKey]) -> RebuildResult:
        """Write everything that needs no record of the log: old queues, and ext files.

        Args:
            built: the queues that had claims.
        """
        self._keep_histories(built)
        self._report_queues()
        self._copy_ext({*built, *((queue.topic, queue.queue_id) for queue in self._report.queues)})
        self._note_files()
        return self._report

    def _finish_index(self, index: IndexFiles) -> None:
        index.close()
        report = self._report
        report.index_file_count = index.file_count
        report.index_entry_count = index.entry_total
        report.index_full_ms = index.full_end_ms

    def _put(self, placed: PlacedEntry) -> None:
        queue = self._queues.get(placed.key)
        if queue is None:
            queue = self._queues[placed.key] = self._new_queue(placed.key)
        if queue.next is not None and placed.queue_offset - queue.next > FILLERS_MAX:
            self._report.notes.append(
                f"record at log offset {placed.log_offset}: queue offset {placed.queue_offset} of "
                f"{placed.key[0]} {placed.key[1]}, {queue.next} was next; it gets no entry"
            )
            return
        queue.put(placed.queue_offset, placed.log_offset, placed.size, placed.tags_code)
        self._count(1)

    def _count(self, count: int) -> None:
        self._buffered_count += count
        if self._buffered_count * ENTRY_SIZE >= BUFFERED_SIZE_MAX:
            for each in self._queues.values():
                if each.buffered_size:
                    each.flush()
            self._buffered_count = 0

    def _new_queue(self, key: QueueKey) -> QueueWriter:
        return QueueWriter(
            self._out,
            key,
            file_size=self._queue_file_size,
            old=self._placement.view(key),
            log_min=self._log.min_offset,
        )

    def _keep_histories(self, built: Collection[QueueKey]) -> None:
        for key in self._old.queues():
            if key not in built:
                queue = self._queues[key] = self._new_queue(key)
                queue.keep_history()

    def _report_queues(self) -> None:
        tree = self._old.tree
        for (topic, queue_id), queue in sorted(self._queues.items()):
            if queue.next is None:
                continue
            queue.finish()
            if topic in tree.topics and (topic, queue_id) not in tree.queues:
                self._report.notes.append(
                    f"queue {topic} {queue_id} had no directory while its topic had one, as after "
                    "deleteTopic; it was rebuilt from the log: remove it if it was deleted"
                )
            self._report.queues.append(
                QueueBuilt(
                    topic, queue_id, queue.start, queue.next, queue.filler_count,
                    self._queue_file_size, queue.expired_first, queue.expired_count,
                )
            )  # fmt: skip
            if queue.plain_ext_count:
                self._report.notes.append(
                    f"queue {topic} {queue_id}: {queue.plain_ext_count} entries lost their ext "
                    "unit and have the plain hash of the tag; filters then read the record"
                )

    def _copy_ext(self, built: Collection[QueueKey]) -> None:
        for (topic, queue_id), spans in sorted(self._old.tree.ext.items()):
            if (topic, queue_id) not in built:
                continue
            for span in spans:
                target = self._out.file("consumequeue_ext", topic, str(queue_id), span.path.name)
                copy_file(self._old.open_files.open(span.path), target)

    def _note_records(self) -> None:
        placement, notes = self._placement, self._report.notes
        for topic, count in sorted(placement.deleted.items()):
            notes.append(f"topic {topic} is not in topics.json: {count} records get no entry")
        for topic, count in sorted(placement.copies.items())[:100]:
            notes.append(
                f"topic {topic} is named by INNER_MULTI_DISPATCH of {count} records, but no old "
                "queue shows that a broker made these entries; they get no entry"
            )
        for topic, count in sorted(placement.bad_names.items())[:100]:
            notes.append(f"{topic!r} is not a valid topic or queue: {count} records get no entry")

    def _note_files(self) -> None:
        notes = self._report.notes
        for span in self._log.doubles:
            notes.append(f"{self._store.span_name(span)}: another file has the same records")
        for topic, queue_id in self._old.tree.batch_queues:
            notes.append(
                f"queue {topic} {queue_id} is a batch consume queue (5.x), which is not supported"
            )
