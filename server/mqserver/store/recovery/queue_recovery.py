"""Recovery of queues: finds out which entry each record of the log should have.

    record ── is its queue there, or deleted? ── which queue offset? ──> QueueRebuild

Rule: ``storefmt.dispatch`` says which entries a record claims and which claims are believed. The
old records of a deleted topic do not restore it.

Source: store/ConsumeQueue.java#putMessagePositionInfo.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from mqserver.store.commitlog.log_files import CommitLog
from mqserver.store.commitlog.log_scan import ScannedRecord
from mqserver.store.disk.disk import Disk, read_file
from mqserver.store.queues.queue_rows import QueueRows
from mqserver.store.queues.queue_table import QueueTable
from mqserver.store.recovery.queue_rebuild import QueueRebuild, RestOfFiles
from mqserver.store.recovery.trust import SafePointWrong, TrustedQueue
from mqserver.store.results import DispatchEntry, RecoveryReport
from mqserver.store.store_config import StoreConfig
from storefmt.config.tables import TopicTable
from storefmt.dispatch.queue_offsets import (
    IsOldEntry,
    is_copy_believed,
    is_plausible,
    settle_claim,
)
from storefmt.dispatch.record_entries import (
    copy_offsets,
    copy_queue_id,
    is_queued,
    may_have_copies,
)
from storefmt.errors import BadCall, StoreError
from storefmt.formats.sysflag import TRANSACTION_MASK
from storefmt.paths import StorePaths


@dataclass(eq=False, kw_only=True)
class QueueRecovery:
    """Compares every queue with the records of the log, in log order."""

    disk: Disk
    paths: StorePaths
    config: StoreConfig
    log: CommitLog
    table: QueueTable
    """Gets the queues."""
    is_of_java: bool
    """The store has no safe point, as one that only Java wrote."""
    deleted: dict[str, int]
    """Log offset by topic below which its records get no entries; topics that turn out to be
    deleted are added."""
    knows_deletions: bool
    """``deleted`` names every deleted topic."""
    seen: QueueRows
    """The queues that have a directory."""
    report: RecoveryReport
    trusted: Mapping[tuple[str, int], TrustedQueue]
    """The queues of which only a part has to be compared."""
    is_complete: bool
    """``table`` and ``trusted`` have every queue with a record before those that are scanned."""

    lost_size: int = 0
    """Bytes of the log so far without a record, which limits the number of lost records."""
    rebuilds: dict[tuple[str, int], QueueRebuild | None] = field(default_factory=dict)
    """By topic and queue id; None for a queue that must not exist."""

    def __post_init__(self) -> None:
        self._log_min = self.log.min_offset
        # Topics that another broker deleted, none of whose records get entries.
        self._gone: set[str] = set()
        # From this log offset on every queue takes its records.
        self._old_below = max(self.deleted.values(), default=0)
        self._suspects: dict[tuple[str, int], DispatchEntry] = {}
        for topic, queue_id, _ in self.seen:
            if not self.table.has(topic, queue_id):
                self._add(topic, queue_id)
        self._known_topics = self._read_topics()

    def _add(self, topic: str, queue_id: int) -> QueueRebuild | None:
        row = self.table.row(topic, queue_id)
        # The table has the queues that agree with the safe point.
        rest = RestOfFiles.ANYTHING if row is None else RestOfFiles.NOTHING
        if (topic, queue_id) in self.trusted:
            row, rest = self.trusted[topic, queue_id]
        try:
            queue = self.table.make(topic, queue_id)
        except BadCall as error:
            self.report.notes.append(f"queue of a record: {error}; no queue was made for it")
            rebuild = None
        else:
            rebuild = QueueRebuild(
                self.table,
                queue,
                log_min=self._log_min,
                known=row,
                rest=rest,
                keeps_units=self.is_of_java,
            )
        self.rebuilds[topic, queue_id] = rebuild
        return rebuild

    def _read_topics(self) -> set[str] | None:
        """Return the topics that the broker knows, or None if their file cannot be read."""
        for name in ("topics.json", "topics.json.bak"):
            data = read_file(self.disk, self.paths.config_file(name))
            if not data:
                continue
            try:
                return set(TopicTable.decode(data).topics)
            except StoreError as error:
                self.report.notes.append(f"{name}: {error}")
        return None

    def take_all(self, entries: Sequence[DispatchEntry], records: Sequence[ScannedRecord]) -> None:
        """Add the entries of records to their queues, and to queues that properties name.

        Args:
            entries: the dispatch entry of each record, in the same order.
            records: the records in log order.
        """
        rebuilds, suspects = self.rebuilds, self._suspects
        for entry, record in zip(entries, records, strict=True):
            topic, queue_id, queue_offset, log_offset, size, code, _, sys_flag, _ = entry
            if sys_flag & TRANSACTION_MASK and not is_queued(sys_flag):
                continue
            if may_have_copies(record[-1]):
                self._take_copies(entry, record.properties)
            if log_offset < self._old_below and log_offset < self.deleted.get(topic, 0):
                continue
            key = topic, queue_id
            rebuild = rebuilds[key] if key in rebuilds else self._obtain(key)
            if rebuild is None:
                if topic in self._gone:
                    self.deleted[topic] = log_offset + size
                continue
            if rebuild.next == queue_offset and key not in suspects:
                rebuild.add_next(log_offset, size, code)
            else:
                self._place(rebuild, key, entry)

    def _obtain(self, key: tuple[str, int]) -> QueueRebuild | None:
        """Return the queue of the first record that was found for it."""
        if self.table.has(*key) or self._may_come_back(key[0]):
            return self._add(*key)
        self.rebuilds[key] = None
        return None

    def _take_copies(self, entry: DispatchEntry, properties: bytes) -> None:
        """Add the entries of a record to the other queues that its properties name."""
        for name, queue_offset in copy_offsets(properties).items():
            copy = entry._replace(topic=name, queue_offset=queue_offset)
            key = self._copy_key(copy)
            is_own = key == (entry.topic, entry.queue_id)
            if key is None or is_own or copy.log_offset < self.deleted.get(name, 0):
                continue
            rebuild = self.rebuilds[key] if key in self.rebuilds else self._obtain(key)
            if rebuild is not None and is_copy_believed(
                copy,
                _old_entries(rebuild, copy),
                expected=rebuild.next,
                makes_copies=self.config.enable_multi_dispatch,
            ):
                self._place(rebuild, key, copy)

    def _copy_key(self, copy: DispatchEntry) -> tuple[str, int] | None:
        """Return topic and queue id of a copy, or None if it gets no entry."""
        if self.config.enable_multi_dispatch:
            lmq = self.config.enable_lmq
            return copy.topic, copy_queue_id(copy.topic, copy.queue_id, enable_lmq=lmq)
        keys = ((copy.topic, copy.queue_id), (copy.topic, 0))
        there = (key for key in keys if self.table.has(*key))
        return next(there, None)

    def _may_come_back(self, topic: str) -> bool:
        """Return whether a queue that is not on the disk may be created for this topic's record."""
        if self.knows_deletions:
            return True
        gone = self._known_topics is not None and topic not in self._known_topics
        directory = self.paths.consumequeue / topic
        # A deleted topic leaves an empty directory.
        if gone and self.disk.is_dir(directory) and not self.disk.list(directory):
            self._gone.add(topic)
            return False
        return True

    def _place(self, rebuild: QueueRebuild, key: tuple[str, int], entry: DispatchEntry) -> None:
        if self.is_complete and entry.queue_offset != (rebuild.next or 0):
            raise SafePointWrong(
                f"record at {entry.log_offset}: queue offset {entry.queue_offset} in {key[0]} "
                f"queue {key[1]}, expected {rebuild.next or 0}"
            )
        if key in self._suspects:
            self._settle(rebuild, key, entry)
        if entry.queue_offset == rebuild.next or is_plausible(
            entry,
            _old_entries(rebuild, entry),
            expected=rebuild.next,
            lost_size=self.lost_size,
            is_late=self._log_min > 0 or self.lost_size > 0,
        ):
            rebuild.add(entry.queue_offset, entry.log_offset, entry.size, entry.tags_code)
        else:
            self._suspects[key] = entry

    def _settle(
        self, rebuild: QueueRebuild, key: tuple[str, int], following: DispatchEntry | None
    ) -> None:
        """Decide about a record that broke the sequence, now that the next one is known."""
        suspect = self._suspects.pop(key)
        queue_offset = settle_claim(
            suspect, _old_entries(rebuild, suspect), expected=rebuild.next, following=following
        )
        self.report.notes.append(
            f"record at {suspect.log_offset}: queue offset {suspect.queue_offset} in "
            f"{key[0]} queue {key[1]}, expected {rebuild.next or 0}; "
            + ("left without an entry" if queue_offset is None else f"taken as {queue_offset}")
        )
        if queue_offset is not None:
            rebuild.add(queue_offset, suspect.log_offset, suspect.size, suspect.tags_code)

    def finish(self, log_end: int) -> None:
        """Write the rest of every queue and set its offsets.

        Raises:
            OSError: the disk refused.
        """
        for key, rebuild in self.rebuilds.items():
            if rebuild is None:
                continue
            if key in self._suspects:
                self._settle(rebuild, key, None)
            rebuild.finish(log_end=log_end if self.lost_size else self._log_min)
            if rebuild.changed:
                self.report.rebuilt_queues.append(key)
            if rebuild.queue.max_offset == 0 and not self.disk.is_dir(rebuild.queue.directory):
                self.table.forget(rebuild.queue)

    @property
    def is_settled(self) -> bool:
        """Return whether the queue offset of every record so far is decided."""
        return not self._suspects

    @property
    def no_space(self) -> OSError | None:
        """Return why some entries are only in memory, or None if all are in their files."""
        errors = (rebuild.no_space for rebuild in self.rebuilds.values() if rebuild)
        return next((error for error in errors if error), None)


def _old_entries(rebuild: QueueRebuild, entry: DispatchEntry) -> IsOldEntry:
    """Return the test whether an entry on the disk points at a record."""
    return lambda number: rebuild.entry_at(number)[:2] == (entry.log_offset, entry.size)
