"""Verification, part 4: the index files, in themselves and against the records of the log.

    entry n:  hash, log offset, time, previous = entry that its slot held before n
    slot:     the newest entry of its chain

Rule: an index file is written in one order, so the hashes before an entry determine its
``previous``, and all hashes determine the slots. Replaying the hashes finds the byte of a wrong
hash, link or slot, and needs one number for each slot. A loop in a chain is a ``previous`` that
is not the expected one. ``KeyCheck`` compares the entries with the keys of the records.

Source: store/index/IndexFile.java#putKey, store/index/IndexService.java#buildIndex.
"""

from array import array
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import groupby
from typing import Final

from storefmt.dispatch.record_entries import is_indexed, tag_and_keys_of
from storefmt.errors import NotInStore, RecordDamaged
from storefmt.formats import layout
from storefmt.formats.index import (
    ENTRY,
    HEADER,
    IndexEntry,
    IndexHeader,
    entry_pos,
    index_key,
    slot_pos,
    time_diff_s,
)
from storefmt.formats.javahash import index_key_hash
from storefmt.formats.message import Record
from storefmt.offline.verify.check_tree import TIME_MAX_MS, TIME_MIN_MS
from storefmt.offline.verify.findings import Findings, Severity
from storefmt.offline.views.geometry import usual_size
from storefmt.offline.views.indexes import IndexView
from storefmt.offline.views.store_view import StoreView

_TIME_POS: Final = layout.INDEX_ENTRY.part("log_offset").struct().size
_HINT: Final = "queries by key may miss messages; delete the file, and a broker rebuilds it"
_TIME_HINT: Final = "queries by key and time may miss it, unless the record's store time is damaged"


@dataclass(slots=True)
class _Group:
    """The entries that an index file has for one record, and their times in seconds."""

    number: int
    log_offset: int
    hashes: "Counter[int]"
    seconds: list[int]


@dataclass(slots=True)
class KeyCheck:
    """Compares index files with the keys of the records in the log."""

    store: StoreView
    findings: Findings
    views: list[IndexView]
    holes: list[tuple[int, int]]

    def check(self) -> None:
        """Check each file; a record at the end of a file may have keys in the next one."""
        for view in self.views:
            if view.entry_count > 1:
                self._check_file(view)

    def _check_file(self, view: IndexView) -> None:
        borders = [view.entry(number).log_offset for number in (1, view.entry_count - 1)]
        walk = self._records(view.header.begin_log_offset, view.header.end_log_offset)
        ahead = next(walk, None)
        for group in _groups(view):
            while ahead is not None and ahead[0] < group.log_offset:
                self._missing(view, ahead[0], ahead[1])
                ahead = next(walk, None)
            if ahead is not None and ahead[0] == group.log_offset:
                self._compare(view, group, ahead[1], border=group.log_offset in borders)
                ahead = next(walk, None)
            elif not self._is_known_gone(group.log_offset):
                self._stray(view, group)

    def _records(self, start: int, end: int) -> Iterator[tuple[int, Record]]:
        for span, pos, item in self.store.log.located_items(start, end + 1, check_crc=False):
            if isinstance(item, Record):
                yield span.start + pos, item

    def _compare(self, view: IndexView, group: _Group, record: Record, *, border: bool) -> None:
        hashes = _hashes(record)
        # 5.x also indexes the tag; 4.9 brokers never ask for it.
        strange = group.hashes - hashes - _tag_hash(record)
        if strange:
            self._add(
                view, group.number, f"key hash {min(strange)}",
                f"a hash of a key of the record at log offset {group.log_offset}",
            )  # fmt: skip
        elif hashes - group.hashes and not border:
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
                    view, number, str(seconds),
                    f"{expected}, for the record at log offset {group.log_offset}",
                    field="time_diff_s",
                )  # fmt: skip

    def _first_seconds(self, view: IndexView, store_ms: int, found: int) -> tuple[int, ...]:
        """Return the times that the first entry may have: it counts from the end of another file.

        That file is the one before; ``found`` is among the times if it may have expired.
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
                view, group.number, f"log offset {group.log_offset}",
                "the start of a record",
            )  # fmt: skip

    def _is_known_gone(self, log_offset: int) -> bool:
        log = self.store.log
        if log_offset < log.min_offset or log_offset >= log.end or not log.has_file(log_offset):
            return True
        return any(start <= log_offset < end for start, end in self.holes)

    def _add(
        self,
        view: IndexView,
        number: int,
        found: str,
        expected: str,
        *,
        field: str = "key_hash",
    ) -> None:
        slot_count = view.shape.slot_count if view.shape else 0
        pos = entry_pos(number, slot_count=slot_count)
        self.findings.error(
            "index_entry_wrong",
            view.name,
            pos=pos + (_TIME_POS if field == "time_diff_s" else 0),
            field=field,
            found=found,
            expected=expected,
            hint=_TIME_HINT if field == "time_diff_s" else _HINT,
            size=4 if field == "time_diff_s" else ENTRY.size,
        )


def _groups(view: IndexView) -> Iterator[_Group]:
    for log_offset, of_record in groupby(view.entries(), key=lambda item: item[1].log_offset):
        numbers, entries = zip(*of_record, strict=True)
        hashes = Counter(entry.key_hash for entry in entries)
        yield _Group(numbers[0], log_offset, hashes, [entry.time_diff_s for entry in entries])


def _hashes(record: Record) -> "Counter[int]":
    keys = tag_and_keys_of(record.properties_raw)[1] if is_indexed(record.sys_flag) else ()
    return Counter(index_key_hash(index_key(record.topic, key)) for key in keys)


def _tag_hash(record: Record) -> "Counter[int]":
    return Counter([index_key_hash(index_key(record.topic, f"T#{record.tags or ''}"))])


REBUILD: Final = (
    "delete the file; a broker indexes the log again when it recovers, and queries scan until then"
)
_MISSED: Final = f"queries by key may miss messages; {REBUILD}"
_OPEN: Final = "a broker writes to this file, or rebuilds it after it was killed"


def check_index(
    store: StoreView,
    findings: Findings,
    holes: list[tuple[int, int]],
    *,
    deep: bool,
    bulk: bool = False,
) -> int:
    """Check every index file and return the bytes in use.

    Args:
        store: the opened store.
        findings: receives what is wrong.
        holes: (start, end) log offsets of bytes that could not be read, by start.
        deep: also compare every entry with its record, and every key with the index.
        bulk: check whole files with numpy first.
    """
    size, whole = 0, []
    usual = usual_size(store.tree.index)
    # Entries of damaged records do not point beyond the log.
    log_end = max([store.log.end, store.log.data_end, *(end for _, end in holes)])
    for view in store.index_files:
        if view.span.size != usual or view.span.size < HEADER.size:
            findings.error(
                "empty_file" if view.span.size == 0 else "file_size",
                view.name,
                pos=min(view.span.size, usual),
                found=view.span.size,
                expected=usual,
                hint=f"keys of {view.name} are not found; {REBUILD}",
            )
            continue
        # The newest file is written to while a broker runs, and rebuilt after a kill.
        open_end = store.aborted and view is store.index_files[-1]
        check = IndexCheck(store, findings, view, log_end, open_end, bulk)
        if check.check():
            whole.append(view)
            size += view.fill_size
    if deep and store.log.spans:
        KeyCheck(store, findings, whole, holes).check()
    return size


@dataclass(slots=True)
class IndexCheck:
    """Checks one index file of the usual size.

    Attributes:
        log_end: end of the log in bytes.
        open_end: a broker may be writing to the file, so that deviations are only ``info``.
        bulk: check whole files with numpy first.
    """

    store: StoreView
    findings: Findings
    view: IndexView
    log_end: int
    open_end: bool
    bulk: bool = False

    def check(self) -> bool:
        """Check header, entries and slots; return whether the entries can be read."""
        view = self.view
        if view.shape is None:
            header = IndexHeader.decode(view.file.read(0, HEADER.size))
            if header.entry_count <= 1 and view.file.first_data(HEADER.size) is None:
                return False
            expected = (
                "entries that fit their slots; neither this file nor another of its size shows "
                "how many"
            )
            self._add("index_shape", 0, "slot_count", view.span.size, expected, 40)
            return False
        self._check_times()
        newest = array("i", bytes(4 * view.shape.slot_count))
        if self.bulk and self._is_plain(newest):
            return True
        self._check_header(view.header)
        self._check_entries(newest)
        used = len(newest) - newest.count(0)
        if view.header.slot_count != used and not self.store.aborted:
            self._add("index_header", 32, "slot_count", view.header.slot_count, used, 4)
        self._check_slots(newest, used)
        return True

    def _is_plain(self, newest: "array[int]") -> bool:
        """Return whether the whole file is in order; if not, ``newest`` is unchanged."""
        from storefmt.offline.verify.bulk_index import is_plain

        log_end = self.log_end if self.store.log.spans else None
        return is_plain(self.view, newest, log_end=log_end, any_count=self.store.aborted)

    def _check_header(self, header: IndexHeader) -> None:
        room = self.view.shape.entry_count if self.view.shape else 0
        if not 0 <= header.entry_count <= room:
            self._add("index_header", 36, "entry_count", header.entry_count, f"1 to {room}", 4)
        for number, name in enumerate(("begin_ms", "end_ms")):
            value = header[number]
            if header.entry_count > 1 and not TIME_MIN_MS <= value <= TIME_MAX_MS:
                self._add("index_header", 8 * number, name, value, "a time, 2010 to 2100", 8)
        if header.begin_log_offset > header.end_log_offset or header.begin_log_offset < 0:
            self._add(
                "index_header", 16, "begin_log_offset", header.begin_log_offset,
                f"0 to {header.end_log_offset}", 8,
            )  # fmt: skip

    def _check_times(self) -> None:
        """Compare the times of the header with the records of the first and last entry."""
        view = self.view
        if self.store.aborted or view.entry_count <= 1:
            return
        last = view.entry_count - 1
        for pos, field, number in ((0, "begin_ms", 1), (8, "end_ms", last)):
            found = view.header[pos // 8]
            log_offset = view.entry(number).log_offset
            if not TIME_MIN_MS <= found <= TIME_MAX_MS or not self.store.log.has_file(log_offset):
                continue
            try:
                store_ms = self.store.log.record_at(log_offset, check_crc=False).store_ms
            except (NotInStore, RecordDamaged):
                continue
            if store_ms != found and TIME_MIN_MS <= store_ms <= TIME_MAX_MS:
                self._add("index_header", pos, field, found, store_ms, 8)

    def _check_entries(self, newest: "array[int]") -> None:
        header, slot_count = self.view.header, len(newest)
        low = header.begin_log_offset
        beyond, last_good = 0, 0
        for number, entry in self.view.entries():
            slot = entry.key_hash % slot_count
            pos = entry_pos(number, slot_count=slot_count)
            if entry == _NOTHING and number > 1:
                self._lost_entries(number, newest)
                return
            if entry.key_hash < 0:
                self._add("index_entry", pos, "key_hash", entry.key_hash, "0 or more", 4)
            if not low <= entry.log_offset <= max(low, header.end_log_offset):
                self._add(
                    "index_entry", pos + 4, "log_offset", entry.log_offset,
                    f"{low} to {header.end_log_offset}", 8,
                )  # fmt: skip
            else:
                if number == 1 and entry.log_offset != low:
                    self._border(16, "begin_log_offset", low, entry.log_offset)
                low, last_good = entry.log_offset, number
                if entry.log_offset >= self.log_end and self.store.log.spans:
                    beyond = beyond or number
            if entry.time_diff_s < 0:
                self._add("index_entry", pos + 12, "time_diff_s", entry.time_diff_s, ">= 0", 4)
            if entry.previous != newest[slot]:
                self._add("index_chain", pos + 16, "previous", entry.previous, newest[slot], 4)
            newest[slot] = number
        if 1 <= last_good == header.entry_count - 1 and low != header.end_log_offset:
            self._border(24, "end_log_offset", header.end_log_offset, low)
        if beyond:
            self._beyond_end(beyond, slot_count)

    def _border(self, pos: int, field: str, found: int, expected: int) -> None:
        # A broker that runs, or was killed, may have put an entry and not yet the header.
        if not self.store.aborted:
            self._add("index_header", pos, field, found, expected, 8)

    def _lost_entries(self, number: int, newest: "array[int]") -> None:
        count = self.view.entry_count - number
        pos = entry_pos(number, slot_count=len(newest))
        self._add(
            "index_entry", pos, "log_offset", "zeros", f"{count} more entries, as the header says",
            count * ENTRY.size, count=count,
        )  # fmt: skip

    def _beyond_end(self, number: int, slot_count: int) -> None:
        count = self.view.entry_count - number
        self._add(
            "index_beyond_end", entry_pos(number, slot_count=slot_count) + 4, "log_offset",
            self.view.entry(number).log_offset, f"below {self.log_end}, the end of the log",
            count * ENTRY.size, count=count, hint=REBUILD,
        )  # fmt: skip

    def _check_slots(self, newest: "array[int]", used: int) -> None:
        seen = 0
        for slot, number in self.view.slots():
            if number == newest[slot]:
                seen += 1
            elif not self._is_newer(number):
                self._add("index_slot", slot_pos(slot), "entry", number, newest[slot], 4)
                seen += newest[slot] != 0
        if seen < used:
            self._check_empty_slots(newest)

    def _check_empty_slots(self, newest: "array[int]") -> None:
        for slot, _ in self.view.slots():
            newest[slot] = 0
        for slot, number in enumerate(newest):
            if number:
                self._add("index_slot", slot_pos(slot), "entry", 0, number, 4)

    def _is_newer(self, number: int) -> bool:
        """Return whether a running broker has added the entry since the header was read."""
        if not self.store.aborted:
            return False
        header = IndexHeader.decode(self.view.file.read(0, HEADER.size))
        return self.view.header.entry_count <= number <= header.entry_count

    def _add(
        self,
        kind: str,
        pos: int,
        field: str,
        found: int | str,
        expected: int | str,
        size: int,
        *,
        count: int = 1,
        hint: str = _MISSED,
    ) -> None:
        self.findings.error(
            kind,
            self.view.name,
            pos=pos,
            field=field,
            found=found,
            expected=expected,
            hint=_OPEN if self.open_end else hint,
            size=size,
            count=count,
            severity=Severity.INFO if self.open_end else Severity.ERROR,
        )


_NOTHING: Final = IndexEntry(0, 0, 0, 0)
