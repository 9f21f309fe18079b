"""Verification, deep: every index entry against its record, every key against the index.

    log     r1 (key a, b)        r2 (key c)     r3 (no key)
    index   hash a, hash b       hash c                          same order

Rule: entries lie in the order of the log, so one walk over both is enough. What lies in
no index file (before the first one, between two, behind the last) is not missed: a
broker drops the newest file after every unclean stop.

Source: store/index/IndexService.java#buildIndex.
"""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from storefmt.errors import NotInStore, RecordDamaged
from storefmt.formats import layout
from storefmt.formats.index import ENTRY, entry_pos, index_key, time_diff_s
from storefmt.formats.javahash import index_key_hash
from storefmt.formats.message import Record
from storefmt.formats.properties import KEY_SEPARATOR, KEYS, UNIQUE_KEY
from storefmt.formats.sysflag import TRANSACTION_MASK, TRANSACTION_ROLLBACK
from storefmt.offline.verify.findings import Findings, Severity
from storefmt.offline.views.indexes import IndexView
from storefmt.offline.views.opened import Opened

_TIME_POS: Final = layout.INDEX_ENTRY.part("log_offset").struct().size
_HINT: Final = "queries by key may miss messages; delete the file, a broker builds it again"
_TIME_HINT: Final = "queries by key and time may miss it, unless the record's store time is damaged"


@dataclass(slots=True)
class _Group:
    """The entries that an index file has for one record, and the seconds they say."""

    number: int
    log_offset: int
    hashes: "Counter[int]"
    seconds: list[int]


@dataclass(slots=True)
class KeyCheck:
    """Holds index files against the log."""

    store: Opened
    findings: Findings
    views: list[IndexView]
    holes: list[tuple[int, int]]

    def run(self) -> None:
        """Check each file; a record at its border may have keys in the next one."""
        for view in self.views:
            if view.entry_count > 1:
                self._check_file(view)

    def _check_file(self, view: IndexView) -> None:
        groups = list(self._borders(view))
        first, last = groups[0], groups[1]
        walk = self._records(view.header.begin_log_offset, view.header.end_log_offset)
        ahead = next(walk, None)
        for group in _groups(view):
            while ahead is not None and ahead[0] < group.log_offset:
                self._missing(view, ahead[0], ahead[1])
                ahead = next(walk, None)
            if ahead is not None and ahead[0] == group.log_offset:
                border = group.log_offset in (first, last)
                self._compare(view, group, ahead[1], border)
                ahead = next(walk, None)
            elif not self._is_known_gone(group.log_offset):
                self._stray(view, group)

    def _borders(self, view: IndexView) -> Iterator[int]:
        yield view.entry(1).log_offset
        yield view.entry(view.entry_count - 1).log_offset

    def _records(self, start: int, end: int) -> Iterator[tuple[int, Record]]:
        for span, pos, item in self.store.log.walk(start, end + 1, check_crc=False):
            if isinstance(item, Record):
                yield span.start + pos, item

    def _compare(self, view: IndexView, group: _Group, record: Record, border: bool) -> None:
        wanted = _hashes(record)
        # 5.x also indexes the tag; 4.9 brokers never ask for it.
        strange = group.hashes - wanted - _tag_hash(record)
        if strange:
            self._add(
                "index_entry_wrong", view, group.number, f"key hash {min(strange)}",
                f"a hash of a key of the record at log offset {group.log_offset}",
            )  # fmt: skip
        elif wanted - group.hashes and not border:
            self._missing(view, group.log_offset, record)
        self._compare_times(view, group, record.store_ms)

    def _compare_times(self, view: IndexView, group: _Group, store_ms: int) -> None:
        usual = time_diff_s(store_ms, begin_ms=view.header.begin_ms)
        for number, seconds in enumerate(group.seconds, group.number):
            if number == 1 and seconds in self._first_seconds(view, store_ms, seconds):
                continue
            expected = 0 if number == 1 else usual
            if number == 1 or seconds != expected:
                self._add(
                    "index_entry_wrong", view, number, str(seconds),
                    f"{expected}, for the record at log offset {group.log_offset}",
                    field="time_diff_s",
                )  # fmt: skip

    def _first_seconds(self, view: IndexView, store_ms: int, found: int) -> tuple[int, ...]:
        """Return what the first entry of a file may say: it counts from the end of the file before.

        ``found`` is among it where that file may have expired.
        """
        files = self.store.index_files
        place = files.index(view)
        if place > 0:
            return 0, time_diff_s(store_ms, begin_ms=files[place - 1].header.end_ms)
        return (0,) if self.store.log.min_offset == 0 else (found,)

    def _missing(self, view: IndexView, log_offset: int, record: Record) -> None:
        if not _hashes(record):
            return
        self.findings.error(
            "key_not_indexed",
            view.name,
            field="key_hash",
            found="no entry",
            expected=f"the keys of the record at log offset {log_offset}",
            hint=_HINT,
            severity=Severity.WARNING,
        )

    def _stray(self, view: IndexView, group: _Group) -> None:
        try:
            self.store.log.record_at(group.log_offset, check_crc=False)
        except (NotInStore, RecordDamaged):
            self._add(
                "index_entry_wrong", view, group.number, f"log offset {group.log_offset}",
                "the start of a record",
            )  # fmt: skip

    def _is_known_gone(self, log_offset: int) -> bool:
        log = self.store.log
        if log_offset < log.min_offset or log_offset >= log.end or not log.has_file(log_offset):
            return True
        return any(start <= log_offset < end for start, end in self.holes)

    def _add(
        self,
        kind: str,
        view: IndexView,
        number: int,
        found: str,
        expected: str,
        *,
        field: str = "key_hash",
    ) -> None:
        slot_count = view.shape.slot_count if view.shape else 0
        at = entry_pos(number, slot_count=slot_count)
        self.findings.error(
            kind,
            view.name,
            pos=at + (_TIME_POS if field == "time_diff_s" else 0),
            field=field,
            found=found,
            expected=expected,
            hint=_TIME_HINT if field == "time_diff_s" else _HINT,
            size=4 if field == "time_diff_s" else ENTRY.size,
        )


def _groups(view: IndexView) -> Iterator[_Group]:
    group: _Group | None = None
    for number, entry in view.entries():
        if group is None or entry.log_offset != group.log_offset:
            if group is not None:
                yield group
            group = _Group(number, entry.log_offset, Counter(), [])
        group.hashes[entry.key_hash] += 1
        group.seconds.append(entry.time_diff_s)
    if group is not None:
        yield group


def _hashes(record: Record) -> "Counter[int]":
    if record.sys_flag & TRANSACTION_MASK == TRANSACTION_ROLLBACK:
        return Counter()
    properties = record.properties
    unique = properties.get(UNIQUE_KEY)
    keys = [unique] if unique else []
    keys += [key for key in properties.get(KEYS, "").split(KEY_SEPARATOR) if key]
    return Counter(index_key_hash(index_key(record.topic, key)) for key in keys)


def _tag_hash(record: Record) -> "Counter[int]":
    return Counter([index_key_hash(index_key(record.topic, f"T#{record.tags or ''}"))])
