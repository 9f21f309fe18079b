"""The commit log of an opened store: its files are scanned, or read at one position.

    00000000000000000000 | 00000000000000262144 | (missing) | 00000000000000786432
    ^ min_offset                                             … end ^ of the last record

Rule: the records of a file decide its place in the log, so that a file with a wrong name can still
be read; ``verify`` reports the name. Files may be missing, and the log may start late.

Source: store/CommitLog.java, store/MappedFileQueue.java.
"""

from bisect import bisect_right
from collections.abc import Iterator
from functools import cached_property

from storefmt.errors import DamageKind, NotInStore, RecordDamaged
from storefmt.formats.file_place import HEAD_SIZE, FilePlace, place_of
from storefmt.formats.message import MAGIC_V1, MAGIC_V2, Record
from storefmt.offline.views.log_scan import (
    RECORD_HEAD,
    Blank,
    Damage,
    LogItem,
    last_record,
    walk_file,
)
from storefmt.offline.views.tree import FileSpan
from storefmt.paths import log_file_name
from storefmt.store_file import OpenFiles, StoreFile


class LogView:
    """The commit log files of one store.

    Args:
        spans: the files, by start.
        file_size: size of a whole file in bytes, 0 for an empty log.
    """

    def __init__(self, spans: list[FileSpan], open_files: OpenFiles, *, file_size: int) -> None:
        self.spans = spans
        self.file_size = file_size
        self._open = open_files

    def open(self, span: FileSpan) -> StoreFile:
        """Return the open file of ``span``."""
        return self._open.open(span.path)

    @cached_property
    def bases(self) -> list[int]:
        """Log offset of the first byte of each file, as its own records say it."""
        return [self.base(span) for span in self.spans]

    @cached_property
    def _places(self) -> list[tuple[int, FileSpan]]:
        return sorted(zip(self.bases, self.spans, strict=True))

    @property
    def min_offset(self) -> int:
        """Where the first file starts, by its name; 0 for an empty log."""
        return self.spans[0].start if self.spans else 0

    @cached_property
    def last(self) -> tuple[FileSpan, int, Record] | None:
        """The last whole record, with its file and its position there; None for none."""
        for span, base in zip(reversed(self.spans), reversed(self.bases), strict=True):
            file = self.open(span)
            end = file.data_end()
            record = last_record(file, base=base, end=end) if end else None
            if record is not None:
                return span, *record
        return None

    @cached_property
    def end(self) -> int:
        """Log offset after the last whole record, or after the blank that follows it."""
        if self.last is None:
            return self.min_offset
        span, pos, record = self.last
        after = pos + record.size
        for _, item in walk_file(self.open(span), base=span.start, start=after):
            if isinstance(item, Blank):
                return span.end
            break
        return span.start + after

    @cached_property
    def data_end(self) -> int:
        """Log offset after the last byte that is not zero; beyond ``end`` if there is damage."""
        for span in reversed(self.spans):
            size = self.open(span).data_end()
            if size:
                return span.start + size
        return self.min_offset

    @cached_property
    def data_size(self) -> int:
        """Bytes of the files without their holes."""
        return sum(last - first for span in self.spans for first, last in self.open(span).extents())

    @property
    def last_end(self) -> int:
        """Log offset after the last whole record, without a blank after it."""
        if self.last is None:
            return self.min_offset
        span, pos, record = self.last
        return span.start + pos + record.size

    @cached_property
    def first(self) -> Record | None:
        """The first record that can be read; None for none."""
        return next((item for item in self.items() if isinstance(item, Record)), None)

    def items(self, start: int | None = None, end: int | None = None) -> Iterator[LogItem]:
        """Yield what lies in the log from ``start`` to ``end``; see ``located_items``."""
        return (item for _, _, item in self.located_items(start, end))

    def located_items(
        self, start: int | None = None, end: int | None = None, *, check_crc: bool = True
    ) -> Iterator[tuple[FileSpan, int, LogItem]]:
        """Yield (file, position in it, item) in log order.

        Args:
            start: log offset to begin at: the first record that starts there or later.
            end: log offset to stop before.
        """
        low = self.min_offset if start is None else start
        for span, base in zip(self.spans, self.bases, strict=True):
            if span.end <= low:
                continue
            if end is not None and span.start >= end:
                return
            first = self._first_start(span, base, low)
            for pos, item in walk_file(
                self.open(span), base=base, start=first, check_crc=check_crc
            ):
                if end is not None and span.start + pos >= end:
                    break
                if span.start + pos >= low:
                    yield span, pos, item

    def sound_records(self, start: int | None = None, end: int | None = None) -> Iterator[Record]:
        """Yield the sound records from ``start`` to ``end``, each once; CRCs are not checked.

        A record that lies elsewhere than it says is damage, and a file whose records are also in
        the file of the right name is left out; ``verify`` reports both.
        """
        places = {span: self.place(span) for span in self.spans}
        for span, pos, item in self.located_items(start, end, check_crc=False):
            base, is_double = places[span]
            if isinstance(item, Record) and item.log_offset == base + pos and not is_double:
                yield item

    def record_at(self, log_offset: int, *, check_crc: bool = True) -> Record:
        """Return the record that starts at ``log_offset`` (bytes).

        Raises:
            NotInStore: the log does not reach there, or nothing was written there.
            RecordDamaged: no whole record starts there.
        """
        place = self.file_at(log_offset)
        if place is not None:
            base, span = place
            return self._record_in(span, log_offset - base, base, check_crc)
        raise NotInStore(
            f"log offset {log_offset} is outside of the log, which reaches from "
            f"{self.min_offset} to {self.end}; take an offset from `store log` or `store queue`"
        )

    def file_at(self, log_offset: int) -> tuple[int, FileSpan] | None:
        """Return the file whose records lie at a log offset, after the offset of its first byte."""
        number = bisect_right(self._places, log_offset, key=lambda place: place[0]) - 1
        if number < 0:
            return None
        base, span = self._places[number]
        return (base, span) if log_offset < base + span.size else None

    def has_file(self, log_offset: int) -> bool:
        """Return whether a file exists that contains the byte at ``log_offset``."""
        return self.file_at(log_offset) is not None

    def file_holding(self, log_offset: int) -> str:
        """Return the name of the file whose records lie at ``log_offset``; empty for none."""
        number = bisect_right(self._places, log_offset, key=lambda place: place[0]) - 1
        return self._places[number][1].path.name if number >= 0 else ""

    def file_name_at(self, log_offset: int) -> str:
        """Return the name (20 digits) of the file that holds, or should hold, an offset."""
        if self.file_size <= 0:
            return log_file_name(0)
        return log_file_name(max(0, log_offset - log_offset % self.file_size))

    def base(self, span: FileSpan) -> int:
        """Return the log offset of the first byte of a file, as its own records say it."""
        return self.place(span).base

    def place(self, span: FileSpan) -> FilePlace:
        """Return where a file belongs, as its own records say it."""

        def head_of(base: int) -> bytes:
            there = next((other for other in self.spans if other.start == base), None)
            return b"" if there is None else self.open(there).read(0, HEAD_SIZE)

        return place_of(self.open(span).read, span.start, file_size=self.file_size, head_of=head_of)

    def _record_in(self, span: FileSpan, pos: int, base: int, check_crc: bool) -> Record:
        walk = walk_file(self.open(span), base=base, start=pos, check_crc=check_crc)
        item = next(walk, (pos, None))[1]
        if isinstance(item, Record):
            return item
        if isinstance(item, Damage) and item.error.kind != DamageKind.BAD_MAGIC:
            error = item.error
            raise RecordDamaged(
                f"log offset {base + pos}: {error}",
                kind=error.kind,
                pos=pos,
                field=error.field,
                found=error.found,
                expected=error.expected,
            ) from error
        what = {Blank: "a blank", Damage: "other bytes"}.get(type(item), "nothing yet")
        raise NotInStore(
            f"no record starts at log offset {base + pos}: {what} at byte {pos} of "
            f"{span.path.name}; take an offset from `store log` or `store queue`"
        )

    def _first_start(self, span: FileSpan, base: int, low: int) -> int:
        """Return the position of a record's start in the file, at ``low`` or before it."""
        pos = low - span.start
        if pos <= 0:
            return 0
        # Most callers start at a record: no need to walk the file up to it.
        head = self.open(span).read(pos, RECORD_HEAD.size)
        if len(head) == RECORD_HEAD.size:
            fields = RECORD_HEAD.unpack(head)
            if fields[1] in (MAGIC_V1, MAGIC_V2) and fields[-1] == base + pos:
                return pos
        file = self.open(span)
        before = last_record(file, base=base, end=min(pos, file.data_end()))
        return before[0] if before is not None else 0
