"""Dispatch entries, made from records that were read from the log.

Rule: ``storefmt.dispatch.record_entries`` says what a record gives; a put knows it already.

Source: store/CommitLog.java#checkMessageAndReturnSize.
"""

from collections.abc import Iterable

from mqserver.store.commitlog.log_scan import ScannedRecord
from mqserver.store.results import DispatchEntry
from storefmt.dispatch.record_entries import DueTimes, tag_and_keys_of
from storefmt.formats.javahash import tags_code
from storefmt.names import SCHEDULE_TOPIC


def dispatch_entries(records: Iterable[ScannedRecord], due: DueTimes) -> list[DispatchEntry]:
    """Return the entry of each record, in the same order; ``due`` knows the delay levels."""
    entries: list[DispatchEntry] = []
    codes: dict[str | None, int] = {}
    for (
        log_offset, size, topic, queue_id, queue_offset, sys_flag, store_ms, properties,
    ) in records:  # fmt: skip
        tag, keys = tag_and_keys_of(properties)
        if topic == SCHEDULE_TOPIC:
            code = due.tags_code(properties, store_ms)
        else:
            code = codes[tag] if tag in codes else codes.setdefault(tag, tags_code(tag))
        entries.append(
            DispatchEntry(
                topic, queue_id, queue_offset, log_offset, size, code, store_ms, sys_flag, keys
            )
        )
    return entries
