"""Verification, part 3: each record has its queue entry, and each entry its record.

    log -> queue   ``record``: is entry k of the record's queue this record?
    queue -> log   ``finish``: what do the entries point at that no record has?

Rule: one damage gives one finding, at the bytes that are wrong. If a record and an entry disagree
and the entry points at the record, a field of the record is wrong; an entry that points at no
record of its queue is wrong itself. Entries that point into damage or into a missing file give
no finding of their own, because that damage has been reported.
"""

from typing import TYPE_CHECKING

from storefmt.dispatch.record_entries import is_queued
from storefmt.errors import RecordDamaged
from storefmt.formats.consumequeue import CqEntry, is_ext_address
from storefmt.names import SCHEDULE_TOPIC
from storefmt.offline.verify.entries import DELAY_MS_MAX, EntryPass, entry_place, rebuild_hint
from storefmt.offline.verify.findings import Findings, Severity
from storefmt.offline.verify.missing import MissingEntries
from storefmt.offline.views.config import ConfigTables
from storefmt.offline.views.info import dispatched_end
from storefmt.offline.views.matching import ExpectedEntry, Matching, copies_of
from storefmt.offline.views.queues import QueueView
from storefmt.offline.views.store_view import LocatedRecord, StoreView

if TYPE_CHECKING:
    from storefmt.offline.verify.bulk import Bulk


class ConsumeQueueCheck:
    """Compares every record of the log with the consume queues.

    Attributes:
        end: log offset after the last record that any queue knew when the check began.
    """

    def __init__(self, store: StoreView, findings: Findings) -> None:
        self.store = store
        self._findings = findings
        self._matching = Matching(store)
        self.end = max((dispatched_end(store.queue(*key)) for key in store.queues()), default=0)

    def bulk(self, deep: bool) -> "Bulk":
        """Return a checker of whole windows that applies the same rules; needs numpy."""
        from storefmt.offline.verify.bulk import Bulk

        return Bulk(self._matching, deep, frozenset(self.store.tree.batch_queues))

    def record(self, located: LocatedRecord, log_offset: int) -> None:
        """Check the entries of one record, which lies at ``log_offset``."""
        record = located.record
        queue = record.topic, record.queue_id
        if not is_queued(record.sys_flag) or queue in self.store.tree.batch_queues:
            return
        if self.store.unread_queues is not None:
            return
        expected = ExpectedEntry(*queue, record.queue_offset, log_offset, located, copy=False)
        self._check(expected)
        for topic, queue_ids, queue_offset in copies_of(record):
            there = [i for i in queue_ids if (topic, i) in self.store.tree.queues]
            if there:
                self._check(
                    expected._replace(
                        topic=topic, queue_id=there[0], queue_offset=queue_offset, copy=True
                    )
                )

    def finish(self, holes: list[tuple[int, int]], config: ConfigTables) -> None:
        """Check the entries that no record claimed, and the records without an entry.

        Args:
            holes: (start, end) of the log that could not be read.
        """
        holes.sort()
        if self.store.unread_queues is not None:
            return
        entries = EntryPass(self.store, self._findings, self._matching, holes)
        if self.store.log.spans:
            entries.check()
            self._check_log_start(entries)
        MissingEntries(self.store, self._findings, self._matching, config, self.end, holes).report()

    def _check(self, expected: ExpectedEntry) -> None:
        entry = self._matching.match(expected)
        view = self._matching.view(expected.key)
        if entry is None or view is None:
            return
        if entry.size != expected.record.size:
            self._wrong(view, expected, "size", 8, 4, entry.size, expected.record.size)
        self._check_tags(view, expected, entry)

    def _check_tags(self, view: QueueView, expected: ExpectedEntry, entry: CqEntry) -> None:
        code, record = entry.tags_code, expected.record
        if is_ext_address(code):
            ext_code = self._ext_tags_code(view, expected, code)
            if ext_code is None:
                return
            code = ext_code
        expected_code = record.tags_code
        if code == expected_code:
            return
        # Delayed messages have the time they are due in place of the hash.
        if record.topic == SCHEDULE_TOPIC and 0 <= code - record.store_ms <= DELAY_MS_MAX:
            return
        self._wrong(view, expected, "tags_code", 12, 8, code, expected_code)

    def _ext_tags_code(self, view: QueueView, expected: ExpectedEntry, code: int) -> int | None:
        try:
            unit = view.ext_unit(code)
        except RecordDamaged as error:
            unit, text = None, str(error)
        else:
            text = "no unit at this address"
        if unit is None:
            self._wrong(view, expected, "tags_code", 12, 8, f"{code}: {text}", "an ext unit")
            return None
        return unit.tags_code

    def _wrong(
        self,
        view: QueueView,
        expected: ExpectedEntry,
        name: str,
        field_pos: int,
        size: int,
        found: int | str,
        expected_value: int | str,
    ) -> None:
        file, pos = entry_place(self.store, view, expected.queue_offset)
        self._findings.error(
            "queue_entry_wrong",
            file,
            pos=pos + field_pos,
            field=name,
            found=found,
            expected=expected_value,
            hint=f"the record at log offset {expected.log_offset} is whole; "
            f"{rebuild_hint(self.store)}",
            size=size,
        )

    def _check_log_start(self, entries: EntryPass) -> None:
        log_start = self.store.log.min_offset
        for view in self.store.index_files[:-1]:
            if view.span.size > 40 and view.header.end_log_offset < log_start:
                entries.note_expired(view.header.begin_log_offset)
        if entries.expired_from < 0:
            return
        size = max(1, self.store.geometry.log_file_size)
        name = self.store.log.file_name_at(entries.expired_from)
        self._findings.error(
            "log_start_missing",
            f"commitlog/{name}",
            found="no file",
            expected=f"queues and index point into the log from {entries.expired_from} on",
            hint="retention would have deleted those queue and index files too: unless it runs "
            "right now, take the log files from a slave or a backup",
            size=log_start - int(name),
            count=max(1, (log_start - int(name)) // size),
            severity=Severity.WARNING,
        )
