"""Verification, part 2: the commit log, record by record.

Rule: bytes that cannot be decoded, up to the next record that can, are one finding. A record that
can be decoded is checked field by field and then against its queue; or a whole window is passed
if all of its records are in order (``bulk``). Damage after every record that the queues know is
an open or stale tail and not a loss: a running broker writes there, and a recovery leaves old
bytes there.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, Protocol

from storefmt.errors import BadCall, DamageKind, RecordDamaged
from storefmt.formats.hosts import port_of
from storefmt.formats.message import Record
from storefmt.formats.sysflag import inflate
from storefmt.offline.verify.check_queues import ConsumeQueueCheck
from storefmt.offline.verify.check_tree import TIME_MAX_MS, TIME_MIN_MS
from storefmt.offline.verify.findings import Findings, Severity
from storefmt.offline.verify.outliers import Neighbours
from storefmt.offline.views.log_scan import Blank, Damage, End, LogItem, walk_file
from storefmt.offline.views.store_view import LocatedRecord, StoreView, field_at
from storefmt.offline.views.tree import FileSpan
from storefmt.paths import DIRECTORY_NAME_SIZE_MAX, check_topic_name

if TYPE_CHECKING:
    from storefmt.offline.verify.bulk import Window

INFLATED_SIZE_MAX: Final = 64 << 20
RECORDS_TOLD: Final = 4096
BETWEEN_WINDOWS: Final = 64
"""Records and damaged ranges that are read one by one before whole windows are tried again."""
_RESUMES_MAX: Final = 1000
"""How often the check of one file resumes while a running broker writes to it."""
TORN: Final = bytes(4)
"""Four zero bytes: properties never end so, unless their last page was never written."""
_RECOVER: Final = "a broker that recovers cuts the log here"
_CARE: Final = "the body is as it was sent; do not trust this field"


class WindowSource(Protocol):
    """Checks windows: ``bulk.Bulk`` in this process, ``WorkerWindows`` in other processes."""

    def check_window(self, span: FileSpan, pos: int, base: int) -> "Window | None":
        """Return the checked window at a position, None if checking it is not worthwhile."""


@dataclass(slots=True)
class LogCheck:
    """Walks the log of one store.

    Attributes:
        queues: is given every record; knows where the queues end.
        deep: also decompress the bodies.
        records: complete records that were read.
        size: bytes of the log in use.
        holes: (start, end) log offsets of bytes that could not be read, for later checks.
        bulk: checks whole windows; None without numpy.
        on_done: is called with ``size`` now and then.
    """

    store: StoreView
    findings: Findings
    queues: ConsumeQueueCheck
    deep: bool = False
    records: int = 0
    size: int = 0
    holes: list[tuple[int, int]] = field(default_factory=list)
    bulk: WindowSource | None = None
    on_done: Callable[[int], None] = lambda done: None
    _neighbours: Neighbours = field(default_factory=Neighbours)

    def check(self) -> None:
        """Check every file."""
        log = self.store.log
        used = [span.start for span in log.spans if log.open(span).first_data() is not None]
        newest = max(used, default=-1)
        for span, base in zip(log.spans, log.bases, strict=True):
            if base != span.start:
                self._misnamed(span, base)
            # Zeros at the end of the newest file, and preallocated files, are free space.
            self._walk(span, base, may_end=span.start >= newest)

    def _walk(self, span: FileSpan, base: int, *, may_end: bool) -> None:
        start: int | None = 0
        for _ in range(_RESUMES_MAX):
            if start is not None:
                start = self._walk_from(span, base, start, may_end)

    def _walk_from(self, span: FileSpan, base: int, start: int, may_end: bool) -> int | None:
        """Check to the end; return where to resume if a broker has written more meanwhile."""
        item: LogItem | None = None
        for pos, item in self._items(span, base, start):
            if isinstance(item, Record):
                self._check_record(LocatedRecord(span, pos, item), base)
                continue
            if isinstance(item, Blank):
                self.size += item.left
                continue
            if self._is_record_now(span, pos, base):
                return pos
            if isinstance(item, Damage):
                self._damaged(span, item, base)
            else:
                self._check_end(span, item, base, may_end)
        if isinstance(item, Record):
            self.findings.error(
                "no_blank",
                self.store.span_name(span),
                pos=span.size,
                found="a record up to the last byte",
                expected="at least 8 bytes after the last record",
                hint="the file was cut here; copy it, and pad the copy with zeros to its full size",
            )
        return None

    def _check_record(self, located: LocatedRecord, base: int) -> None:
        self.records += 1
        self.size += located.record.size
        if self.records % RECORDS_TOLD == 0:
            self.on_done(self.size)
        self._check_fields(located, base)
        self._check_neighbours(located)
        self.queues.record(located, base + located.pos)

    def _items(self, span: FileSpan, base: int, start: int) -> Iterator[tuple[int, LogItem]]:
        """Yield the items of a file without the records that ``bulk`` has passed."""
        file, pos = self.store.log.open(span), start
        while True:
            if self.bulk is not None:
                pos = self._pass_windows(self.bulk, span, pos, base)
            left = BETWEEN_WINDOWS
            for item_pos, item in walk_file(file, base=base, start=pos):
                yield item_pos, item
                if self.bulk is None or not isinstance(item, Record | Damage):
                    continue
                left -= 1
                if left == 0:
                    pos = item_pos + item.size
                    break
            else:
                return

    def _pass_windows(self, bulk: WindowSource, span: FileSpan, pos: int, base: int) -> int:
        """Check windows while they begin with good records; return where they end."""
        while True:
            window = bulk.check_window(span, pos, base)
            if window is None:
                return pos
            # The scan must see the end of the file: the last record, or the bytes after it.
            count = len(window.starts) - 1
            self._check_window(span, window, base, count)
            pos += int(window.starts[count])

    def _check_window(self, span: FileSpan, window: "Window", base: int, count: int) -> None:
        """Check those of the first ``count`` records of a window that are not plain."""
        file = self.store.log.open(span)

        def located(number: int) -> LocatedRecord:
            pos = window.pos + int(window.starts[number])
            return LocatedRecord(span, pos, window.record(number, file))

        if window.odd_neighbours:
            for number in range(count):
                self._check_record(located(number), base)
            return
        for number in sorted({0, 1, *window.odd(count)}):
            record = located(number)
            if number < 2:
                self._check_neighbours(record)
            if not window.plain[number]:
                self._check_fields(record, base)
                self.queues.record(record, base + record.pos)
        self._neighbours.skip_to(window.record(count - 2, file), located(count - 1))
        self.records += count
        self.size += int(window.starts[count])
        self.on_done(self.size)

    def _misnamed(self, span: FileSpan, base: int) -> None:
        self.findings.error(
            str(DamageKind.WRONG_FILE_NAME),
            self.store.span_name(span),
            field="log_offset",
            found=f"records of file {base:020d}",
            expected=f"records of file {span.start:020d}",
            size=span.size,
            hint=f"rename the file to {base:020d}",
        )

    def _damaged(self, span: FileSpan, item: Damage, base: int) -> None:
        error, last = item.error, item.pos + item.size >= span.size
        size = item.size
        if last:
            size = max(1, self.store.log.open(span).data_end(item.pos) - item.pos)
        self._hole(
            span,
            base,
            item.pos,
            size,
            kind=str(error.kind),
            field=error.field,
            found=_text(error.found),
            expected=_text(error.expected),
            follows="no record follows in this file"
            if last
            else f"the next record follows after {size} bytes: salvage it first",
        )

    def _check_end(self, span: FileSpan, item: End, base: int, may_end: bool) -> None:
        file = self.store.log.open(span)
        data = file.first_data(item.pos)
        if data is None and may_end:
            return
        size = span.size if data is None else file.data_end(item.pos)
        self._hole(
            span,
            base,
            item.pos,
            size - item.pos,
            kind="zeros",
            field="size",
            found=f"{(size if data is None else data) - item.pos} zero bytes",
            expected="zeros to the end of the newest file" if may_end else "records or a blank",
            follows="bytes that are not a record follow"
            if may_end
            else "later files hold records: salvage them first",
        )

    def _hole(
        self,
        span: FileSpan,
        base: int,
        pos: int,
        size: int,
        *,
        kind: str,
        field: str,
        found: str,
        expected: str,
        follows: str,
    ) -> None:
        start = base + pos
        self.holes.append((start, start + size))
        tail = start >= self.queues.end > 0
        self.findings.error(
            "torn_tail" if tail else kind,
            self.store.span_name(span),
            pos=pos,
            field=field,
            found=found,
            expected=expected,
            size=size,
            severity=Severity.INFO if tail else Severity.ERROR,
            hint=f"{follows}; no queue points here: a broker writes there, or left it after "
            "a recovery"
            if tail
            else f"{_RECOVER}; {follows}",
        )

    def _is_record_now(self, span: FileSpan, pos: int, base: int) -> bool:
        """Return whether a running broker has completed the record meanwhile."""
        if not self.store.aborted:
            return False
        again = next(walk_file(self.store.log.open(span), base=base, start=pos), None)
        return again is not None and isinstance(again[1], Record)

    def _check_fields(self, located: LocatedRecord, base: int) -> None:
        record, log_offset = located.record, base + located.pos
        if record.log_offset != log_offset:
            kind = str(DamageKind.OFFSET_MISMATCH)
            self.field(located, "log_offset", kind, record.log_offset, log_offset)
        if not TIME_MIN_MS <= record.store_ms <= TIME_MAX_MS:
            self.field(located, "store_ms", "bad_time", record.store_ms, "2010 to 2100")
        for name, number, least in (
            ("queue_id", record.queue_id, "0 or more"),
            ("queue_offset", record.queue_offset, "0 or more"),
            ("reconsume_times", record.reconsume_times, ">= 0"),
        ):
            if number < 0:
                self.field(located, name, "bad_value", number, least)
        for name, host in (("born_host", record.born_host), ("store_host", record.store_host)):
            if not 0 <= port_of(host) <= 65535:
                self.field(located, name, "bad_value", port_of(host), "a port")
        try:
            check_topic_name(record.topic, size_max=DIRECTORY_NAME_SIZE_MAX)
        except BadCall as error:
            self.field(located, "topic", "bad_topic", repr(record.topic), str(error))
        if record.properties_raw.endswith(TORN):
            self.field(located, "properties", "torn_properties", "zeros at the end", "text")
        if self.deep:
            self._check_body(located)

    def _check_neighbours(self, located: LocatedRecord) -> None:
        for odd in self._neighbours.next(located):
            record = odd.at.record
            if odd.field != "store_ms":
                self.field(odd.at, odd.field, "bad_value", record.store_host.hex(), odd.expected)
            elif TIME_MIN_MS <= record.store_ms <= TIME_MAX_MS:
                self.field(odd.at, odd.field, "bad_time", record.store_ms, odd.expected)

    def _check_body(self, located: LocatedRecord) -> None:
        try:
            inflate(located.record.body, located.record.sys_flag, size_max=INFLATED_SIZE_MAX)
        except RecordDamaged as error:
            found, expected = _text(error.found), _text(error.expected)
            self.field(located, error.field, str(error.kind), found, expected, hint=str(error))
        except BadCall as error:
            kind, severity = "body_not_checked", Severity.INFO
            self.field(located, "body", kind, "", "", hint=str(error), severity=severity)

    def field(
        self,
        located: LocatedRecord,
        name: str,
        kind: str,
        found: int | str,
        expected: int | str,
        *,
        hint: str = _CARE,
        severity: Severity = Severity.ERROR,
    ) -> None:
        """Add a finding about one field of a record that is otherwise complete."""
        pos, size = field_at(self.store, located, name)
        self.findings.error(
            kind,
            self.store.span_name(located.span),
            pos=pos,
            field=name,
            found=found,
            expected=expected,
            hint=hint,
            size=size,
            severity=severity,
        )


def _text(value: int | str | None) -> str:
    return "" if value is None else str(value)
