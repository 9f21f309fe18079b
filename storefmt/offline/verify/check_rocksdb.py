"""Compares consume queues that a broker of 5.x keeps in two forms: in files, and in RocksDB.

    files    |e0 e1 e2 e3 e4|
    RocksDB     |e1 e2 x3|          e3 differs, e4 is not there yet, e0 is gone with a compaction

Rule: entries that both have must be equal; entries that only one has are filled in by a broker when
it starts.

Source: store/queue/CombineConsumeQueueStore.java#doCheckCqWriteProgress (5.4.0).
"""

from collections.abc import Iterator
from typing import Final, NamedTuple

from storefmt.formats.consumequeue import ENTRY_SIZE, CqEntry
from storefmt.offline.verify.findings import Findings, Severity
from storefmt.offline.views.queues import QueueView
from storefmt.offline.views.store_view import StoreView

_NO_ENTRIES: Final = (0, 0)


class QueueForms(NamedTuple):
    """One queue, as its files have it and as RocksDB has it; offsets in entries.

    Attributes:
        files, rocksdb: the first entry, and the one after the last.
        differing_count: entries that both have, and that are not the same.
        first_differing: queue offset of the first of them, -1 for none.
        in_files, in_rocksdb: that entry.
    """

    topic: str
    queue_id: int
    files: tuple[int, int]
    rocksdb: tuple[int, int]
    differing_count: int = 0
    first_differing: int = -1
    in_files: CqEntry | None = None
    in_rocksdb: CqEntry | None = None

    @property
    def missing_count(self) -> int:
        """Return how many entries at its end RocksDB does not have yet."""
        return max(0, self.files[1] - self.rocksdb[1])


def compare_forms(store: StoreView) -> Iterator[QueueForms]:
    """Yield each queue of a store whose queues are in files and in RocksDB; nothing for others."""
    in_files, in_rocksdb = store.tree.file_queues, store.tree.rocksdb_queues
    if not in_files or not in_rocksdb:
        return
    for key in sorted({*in_files, *in_rocksdb}):
        files, rocksdb = store.queue_in_files(*key), store.queue_in_rocksdb(*key)
        forms = QueueForms(*key, _span(files), _span(rocksdb))
        yield _compared(forms, files, rocksdb) if files and rocksdb else forms


def _span(view: QueueView | None) -> tuple[int, int]:
    return _NO_ENTRIES if view is None else (view.min_offset, view.max_offset)


def _compared(forms: QueueForms, files: QueueView, rocksdb: QueueView) -> QueueForms:
    first = max(files.min_offset, rocksdb.start_offset)
    count = min(files.max_offset, rocksdb.max_offset) - first
    if count <= 0:
        return forms
    pairs = zip(files.entries(first, count), rocksdb.entries(first, count), strict=False)
    differing = 0
    for (queue_offset, one), (_, other) in pairs:
        if one != other:
            if not differing:
                forms = forms._replace(first_differing=queue_offset, in_files=one, in_rocksdb=other)
            differing += 1
    return forms._replace(differing_count=differing)


def check_forms(store: StoreView, findings: Findings) -> None:
    """Report queues that are not the same in files and in RocksDB."""
    for forms in compare_forms(store):
        name = f"consumequeue/(RocksDB)/{forms.topic}/{forms.queue_id}"
        if forms.differing_count:
            findings.error(
                "rocksdb_queue_differs",
                name,
                pos=forms.first_differing * ENTRY_SIZE,
                found=str(tuple(forms.in_rocksdb or ())),
                expected=f"{tuple(forms.in_files or ())} at {forms.first_differing}, as its files",
                hint="readers get other messages if combineCQPreferCQType changes; stop the "
                "broker and move the files of RocksDB in consumequeue away; it rebuilds them",
                size=forms.differing_count * ENTRY_SIZE,
                count=forms.differing_count,
            )
        if forms.missing_count:
            findings.error(
                "rocksdb_queue_behind",
                name,
                found=f"ends at {forms.rocksdb[1]}",
                expected=f"{forms.files[1]}, as its files",
                hint="a broker completes it from the log when it starts",
                size=forms.missing_count * ENTRY_SIZE,
                count=forms.missing_count,
                severity=Severity.INFO,
            )
