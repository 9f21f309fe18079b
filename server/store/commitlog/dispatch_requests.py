"""Dispatch entries, made from records that were read from the log.

Rule: ``storefmt.dispatch.record_entries`` says what a record gives; a put knows it already.

Source: store/CommitLog.java#checkMessageAndReturnSize.
"""

from collections.abc import Iterable, Sequence

from server.store.commitlog.log_scan import ScannedRecord
from server.store.results import DispatchEntry
from storefmt.dispatch.record_entries import DueTimes, texts_of
from storefmt.formats.javahash import tags_code
from storefmt.names import SCHEDULE_TOPIC


class Entries:
    """Makes entries in a store with these delays (ms); the first one is that of level 1."""

    def __init__(self, delays_ms: Sequence[int]) -> None:
        self._due = DueTimes(delays_ms)

    def of(self, found: ScannedRecord) -> DispatchEntry:
        """Return the entry of a record."""
        return self.of_all((found,))[0]

    def of_all(self, records: Iterable[ScannedRecord]) -> list[DispatchEntry]:
        """Return the entries of records; recovery makes some hundreds at a time."""
        entries: list[DispatchEntry] = []
        codes: dict[str | None, int] = {}
        for (
            log_offset, size, topic, queue_id, queue_offset, sys_flag, store_ms, properties,
        ) in records:  # fmt: skip
            tag, keys = texts_of(properties)
            if topic == SCHEDULE_TOPIC:
                code = self._due.tags_code(properties, store_ms)
            else:
                code = codes[tag] if tag in codes else codes.setdefault(tag, tags_code(tag))
            entries.append(
                DispatchEntry(
                    topic, queue_id, queue_offset, log_offset, size, code, store_ms, sys_flag, keys
                )
            )
        return entries
