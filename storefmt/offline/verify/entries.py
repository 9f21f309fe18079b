"""Explains the queue entries for which the check of the log found no record.

before the log      expired with it; normal at the start of a queue
into a hole         the damage of the log has been reported already
at another record   the entry is wrong, or a field of that record
after the end       messages that the queue promises and the log has lost
zero                entries that were never written, or lost
"""

from bisect import bisect_right
from dataclasses import dataclass, field
from typing import Final

from storefmt.errors import StoreError
from storefmt.formats.consumequeue import ENTRY_SIZE, CqEntry
from storefmt.formats.message import Record
from storefmt.offline.verify.findings import Findings
from storefmt.offline.views.matching import ExpectedEntry, Matching, copies_of
from storefmt.offline.views.queues import QueueView
from storefmt.offline.views.store_view import StoreView, field_at

BLOCK_ENTRIES: Final = 4096
DELAY_MS_MAX: Final = 10 * 366 * 86_400_000
"""A tags code of the delay topic is a time; one further ahead than this is not believed."""
REBUILD: Final = "move the queue away; a broker rebuilds it from the log after an unclean stop"
_REBUILD_ROCKSDB: Final = (
    "stop the broker and move the files of RocksDB in consumequeue away; it rebuilds the queues "
    "from the log when it starts"
)
_HINTS: Final = {
    "queue_hole": "readers stop here; {rebuild}",
    "queue_beyond_end": "the log has lost these messages; take it from a slave or a backup",
    "queue_entry_wrong": "readers get nothing or a wrong message here; {rebuild}",
}


def rebuild_hint(store: StoreView) -> str:
    """Return how to make a broker rebuild the queues of a store."""
    return _REBUILD_ROCKSDB if store.tree.reads_rocksdb else REBUILD


@dataclass(slots=True)
class _Run:
    """Entries in a row with the same problem, which become one finding."""

    kind: str = ""
    first: int = 0
    count: int = 0
    found: str = ""


@dataclass(slots=True)
class EntryPass:
    """Checks the entries of every queue.

    Attributes:
        holes: (start, end) of the log that could not be read, by start.
        expired_from: smallest log offset that a whole, replaced queue file points at
            before the log's start; -1 for none.
    """

    store: StoreView
    findings: Findings
    matching: Matching
    holes: list[tuple[int, int]]
    expired_from: int = -1
    _run: _Run = field(default_factory=_Run)
    _live: bool = False

    def check(self) -> None:
        """Check every queue."""
        for key in self.store.queues():
            view = self.matching.view(key)
            if view is not None:
                self._check_queue(view)
                self._note_expired(view)

    def _check_queue(self, view: QueueView) -> None:
        marks = self.matching.marks[(view.topic, view.queue_id)]
        self._live = False
        for start, all_marked in marks.blocks(BLOCK_ENTRIES):
            if all_marked:
                self._live = True
                self._flush(view)
                continue
            for queue_offset, entry in view.entries(start, BLOCK_ENTRIES):
                if marks.has(queue_offset):
                    self._live = True
                    self._flush(view)
                else:
                    self._check_entry(view, queue_offset, entry)
        self._flush(view)

    def _check_entry(self, view: QueueView, queue_offset: int, entry: CqEntry) -> None:
        key = (view.topic, view.queue_id, queue_offset)
        expected = self.matching.by_entry.get(key)
        if entry.is_filler and expected is not None:
            # ``missing`` reports a record whose entry was overwritten by a filler.
            return
        if entry.is_free or entry.is_filler:
            if entry.is_free or self._live:
                self._add(view, queue_offset, "queue_hole", f"{entry.size} bytes at 0")
                if expected is not None:
                    self.matching.forget(expected)
            return
        place = self._place(entry.log_offset)
        if place == "before" and not self._live and expected is None:
            return
        if place == "hole" and expected is None:
            self._live = True
            return
        if expected is not None:
            self._wrong_offset(view, queue_offset, entry, expected)
            return
        lost = self.matching.by_log.get(entry.log_offset)
        if lost is not None:
            self._wrong_record(view, queue_offset, lost)
        elif not self._is_there_now(view, queue_offset, entry):
            kind = "queue_beyond_end" if place == "beyond" else "queue_entry_wrong"
            self._add(view, queue_offset, kind, str(entry.log_offset))

    def _place(self, log_offset: int) -> str:
        log = self.store.log
        if log_offset < min(log.bases, default=0):
            return "before"
        number = bisect_right(self.holes, (log_offset, 1 << 63)) - 1
        if number >= 0 and log_offset < self.holes[number][1]:
            return "hole"
        if log_offset >= max(log.last_end, log.end):
            return "beyond"
        return "inside" if log.has_file(log_offset) else "hole"

    def _wrong_offset(
        self, view: QueueView, queue_offset: int, entry: CqEntry, wanted: ExpectedEntry
    ) -> None:
        self.matching.forget(wanted)
        file, pos = entry_place(self.store, view, queue_offset)
        # An entry that was torn in the middle has the right offset and no size.
        torn = entry.log_offset == wanted.log_offset
        self.findings.error(
            "queue_entry_wrong",
            file,
            pos=pos + 8 if torn else pos,
            field="size" if torn else "log_offset",
            found=entry.size if torn else entry.log_offset,
            expected=wanted.record.size if torn else wanted.log_offset,
            hint=_HINTS["queue_entry_wrong"].format(rebuild=rebuild_hint(self.store)),
            size=4 if torn else 8,
        )

    def _wrong_record(self, view: QueueView, queue_offset: int, lost: ExpectedEntry) -> None:
        self.matching.forget(lost)
        file = self.store.span_name(lost.located.span)
        said: dict[str, int | str] = {
            "topic": lost.topic,
            "queue_id": lost.queue_id,
            "queue_offset": lost.queue_offset,
        }
        queue: dict[str, int | str] = {
            "topic": view.topic,
            "queue_id": view.queue_id,
            "queue_offset": queue_offset,
        }
        for name, found in said.items():
            if found == queue[name]:
                continue
            pos, size = field_at(self.store, lost.located, name)
            self.findings.error(
                "record_mismatch",
                file,
                pos=pos,
                field=name,
                found=found,
                expected=queue[name],
                hint=f"entry {queue_offset} of queue {view.topic} {view.queue_id} points at this "
                "record; the body is whole",
                size=size,
            )

    def _is_there_now(self, view: QueueView, queue_offset: int, entry: CqEntry) -> bool:
        """Return whether a running broker has written the record meanwhile."""
        try:
            record = self.store.log.record_at(entry.log_offset)
        except StoreError:
            # There is no record, which is what the caller is about to report.
            return False
        own = (record.topic, record.queue_id, record.queue_offset)
        return own == (view.topic, view.queue_id, queue_offset) or _is_copy(
            record, view, queue_offset
        )

    def _add(self, view: QueueView, queue_offset: int, kind: str, found: str) -> None:
        run = self._run
        if run.kind != kind or run.first + run.count != queue_offset:
            self._flush(view)
            self._run = run = _Run(kind, queue_offset, 0, found)
        run.count += 1

    def _flush(self, view: QueueView) -> None:
        run, self._run = self._run, _Run()
        if not run.count:
            return
        file, pos = entry_place(self.store, view, run.first)
        log = self.store.log
        self.findings.error(
            run.kind,
            file,
            pos=pos,
            field="size" if run.kind == "queue_hole" else "log_offset",
            found=run.found,
            expected="an entry"
            if run.kind == "queue_hole"
            else f"the start of a record, {log.min_offset} to {log.end}",
            hint=_HINTS[run.kind].format(rebuild=rebuild_hint(self.store)),
            size=run.count * ENTRY_SIZE,
            count=run.count,
        )

    def _note_expired(self, view: QueueView) -> None:
        # Retention deletes queue files that only point at deleted messages, all but the
        # newest: one that is still there tells that the log was not shortened by it.
        log_start = min(self.store.log.bases, default=0)
        for span in view.files[:-1]:
            low, high = view.range_of(span)
            entries = [entry for _, entry in (*view.entries(low, 1), *view.entries(high - 1, 1))]
            if len(entries) != 2 or any(e.is_filler or e.is_free for e in entries):
                continue
            # In order, or one of the two is damaged.
            if entries[0].log_offset <= entries[1].log_offset < log_start:
                self.note_expired(entries[0].log_offset)

    def note_expired(self, log_offset: int) -> None:
        """Remember a log offset before the log's start whose entry retention would have deleted."""
        if self.expired_from < 0 or log_offset < self.expired_from:
            self.expired_from = max(0, log_offset)


def entry_place(store: StoreView, view: QueueView, queue_offset: int) -> tuple[str, int]:
    """Return (file name, position) of an entry, even of one whose file is missing."""
    span = view.file_of(queue_offset)
    if span is not None:
        return store.span_name(span), queue_offset * ENTRY_SIZE - span.start
    return missing_place(store, view.topic, view.queue_id, queue_offset)


def missing_place(
    store: StoreView, topic: str, queue_id: int, queue_offset: int
) -> tuple[str, int]:
    """Return (file name, position) where an entry would lie in a file of the usual size."""
    directory = f"consumequeue/{topic}/{queue_id}"
    size = store.geometry.queue_file_size
    if size <= 0:
        return directory, 0
    start, pos = divmod(queue_offset * ENTRY_SIZE, size)
    return f"{directory}/{start * size:020d}", pos


def _is_copy(record: Record, view: QueueView, queue_offset: int) -> bool:
    return any(
        topic == view.topic and view.queue_id in ids and offset == queue_offset
        for topic, ids, offset in copies_of(record)
    )
