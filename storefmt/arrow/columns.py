"""The commit log as Arrow tables, for Spark and for local analysis.

    commit log files ──windows──> scan_log (size, magic) ──> Records ──> RecordBatch

Rule: every column is nullable and has the type that Spark's Python data source asks for;
timestamps are UTC microseconds. The default columns leave out what is large (body,
properties, properties_raw): name them to get them. A reader may be given any byte range
of the log: a record belongs to the range in which it starts, so ranges that touch give
every record once. Damage is skipped only if there is an ``on_damage`` to report it to. It belongs
to the range in which the record before it starts, so that no range has to know another one.

A record that claims another position also counts as damage. A file with a wrong name is read at
the position that its records claim; if the file of the right name has the same records, it is left
out.

Source: as ``storefmt.formats.message`` and ``storefmt.formats.scan``, with which the rows agree.
"""

import bisect
from array import array
from collections.abc import Callable, Generator, Iterator, Sequence
from pathlib import Path
from typing import Any, ClassVar, Final, NamedTuple, Protocol

import numpy as np
import pyarrow as pa

from storefmt.arrow.columns_decode import TIMESTAMP
from storefmt.arrow.columns_plain import PlainColumns
from storefmt.arrow.record_positions import PAD_SIZE, Bytes, Ints
from storefmt.errors import BadCall, RecordDamaged
from storefmt.formats.file_place import HEAD_SIZE, FilePlace, place_of
from storefmt.formats.message import Record, decode_record
from storefmt.formats.scan import (
    Damage,
    End,
    LogFile,
    RecordStarts,
    name_mismatch,
    next_start,
    offset_mismatch,
    scan_items,
    scan_log,
)
from storefmt.kernels import load
from storefmt.paths import log_file_name

ROWS_MAX: Final = 10_000
BYTES_MAX: Final = 8 << 20
WINDOW_SIZE: Final = 8 << 20
_ROWS_LIMIT: Final = 1 << 16
"""Most rows for which memory is reserved at once, whatever the caller asks for."""
_STRING: Final = pa.string()

SCHEMA: Final = pa.schema(
    [
        pa.field("file", _STRING),
        pa.field("log_offset", pa.int64()),
        pa.field("store_size", pa.int32()),
        pa.field("magic", pa.int32()),
        pa.field("topic", _STRING),
        pa.field("queue_id", pa.int32()),
        pa.field("queue_offset", pa.int64()),
        pa.field("flag", pa.int32()),
        pa.field("sys_flag", pa.int32()),
        pa.field("body_crc", pa.int32()),
        pa.field("crc_ok", pa.bool_()),
        pa.field("body_size", pa.int32()),
        pa.field("body", pa.binary()),
        pa.field("born_timestamp", TIMESTAMP),
        pa.field("born_host", _STRING),
        pa.field("born_port", pa.int32()),
        pa.field("store_timestamp", TIMESTAMP),
        pa.field("store_host", _STRING),
        pa.field("store_port", pa.int32()),
        pa.field("reconsume_times", pa.int32()),
        pa.field("prepared_transaction_offset", pa.int64()),
        pa.field("tags", _STRING),
        pa.field("tags_code", pa.int64()),
        pa.field("keys", pa.list_(pa.field("element", _STRING))),
        pa.field("unique_key", _STRING),
        pa.field("msg_id", _STRING),
        pa.field("producer_group", _STRING),
        pa.field("properties", pa.map_(_STRING, _STRING)),
        pa.field("properties_raw", pa.binary()),
    ]
)
"""Every column, in the order of the commitlog table."""
LARGE_COLUMNS: Final = ("body", "properties", "properties_raw")
DEFAULT_COLUMNS: Final = tuple(name for name in SCHEMA.names if name not in LARGE_COLUMNS)

OnDamage = Callable[[str, Damage], None]
"""Is called with the name of a file and the damage in it."""
OnEnd = Callable[[str, End], None]
"""Is called with the name of a file and the end of its data."""


class BatchMaker(Protocol):
    """Makes record batches from the records of one file.

    Args:
        schema: the columns.
        file_name: the value of the column ``file``.
        check_crc: fill ``crc_ok``.
        rows_max: largest number of rows of a batch.

    Attributes:
        window_size: how many bytes of a file it reads at a time.
    """

    window_size: ClassVar[int]

    def __init__(self, schema: Any, file_name: str, check_crc: bool, rows_max: int) -> None: ...

    @property
    def gathers(self) -> bool:
        """Whether more may be added before ``take_batch``; else each slice is a batch."""

    def add(self, data: Bytes, starts: Ints, at: int | None) -> int: ...
    def take_batch(self) -> Any: ...


_maker: type[BatchMaker] = load(
    "storefmt.arrow.columns_compiled", "CompiledColumns", pure=PlainColumns
)


def has_kernel() -> bool:
    """Return whether the compiled kernel decodes the columns."""
    return _maker is not PlainColumns


def schema_of(columns: Sequence[str] = DEFAULT_COLUMNS) -> Any:
    """Return the Arrow schema of these columns, in this order.

    Raises:
        BadCall: a column does not exist.
    """
    unknown = [name for name in columns if name not in SCHEMA.names]
    if unknown:
        raise BadCall(f"no column {', '.join(unknown)}; there are {', '.join(SCHEMA.names)}")
    return pa.schema([SCHEMA.field(name) for name in columns])


def iter_batches(
    paths: Sequence[Path],
    *,
    columns: Sequence[str] = DEFAULT_COLUMNS,
    start: int = 0,
    end: int | None = None,
    rows_max: int = ROWS_MAX,
    bytes_max: int = BYTES_MAX,
    check_crc: bool = False,
    on_damage: OnDamage | None = None,
    on_end: OnEnd | None = None,
) -> Iterator[Any]:
    """Yield the records that start in a range of the log as ``pyarrow.RecordBatch``.

    Args:
        paths: commit log files; a name that does not have 20 digits is refused.
        columns: what to decode, in this order; each costs time.
        start: first log offset (bytes) of the range; need not be a record's start.
        end: log offset after the range; the end of the files when None.
        rows_max: largest number of rows of a batch, ``bytes_max`` largest number of bytes of
            records in a batch that has a large column (one record may be larger).
        check_crc: fill ``crc_ok`` (null otherwise).
        on_damage: is called for each damage, which is then skipped.
        on_end: is called at the position after which a file has zeros but no record.

    Raises:
        BadCall: a column does not exist.
        RecordDamaged: there is damage and no ``on_damage``.
        OSError: a file cannot be read.
    """
    schema = schema_of(columns)
    if not set(columns) & set(LARGE_COLUMNS):
        bytes_max = BYTES_MAX
    rows_max = min(rows_max, _ROWS_LIMIT)
    listeners = _Listeners(on_damage, on_end)
    for path in sorted(paths, key=lambda path: path.name):
        with LogFile(path) as file:
            stop = file.size if end is None else min(end - file.base, file.size)
            place = place_in_log(path, file)
            if wrong := name_mismatch(file, place.base):
                listeners.report(file.name, wrong, is_here=start <= file.base)
            if place.is_double:
                continue
            maker = _maker(schema, file.name, check_crc, rows_max)
            scan = _FileScan(file, place.base, maker, rows_max, bytes_max, listeners)
            yield from scan.batches(max(start - file.base, 0), stop)


def place_in_log(path: Path, file: LogFile) -> FilePlace:
    """Return where an open log file belongs, judged by its records and those of the other files.

    Raises:
        OSError: a file cannot be read.
    """

    def head_of(base: int) -> bytes:
        try:
            with LogFile(path.with_name(log_file_name(base))) as other:
                return other.read(0, HEAD_SIZE)
        except FileNotFoundError:
            return b""

    return place_of(file.read, file.base, file_size=file.size, head_of=head_of)


def batch_of(
    data: bytes, *, columns: Sequence[str] = DEFAULT_COLUMNS, check_crc: bool = False
) -> Any:
    """Return consecutive records, as in a pull answer, as one batch.

    The column ``file`` is empty, because an answer names no file.

    Raises:
        BadCall: a column does not exist.
        RecordDamaged: the bytes are not whole records; ``pos`` is where the whole ones end.
    """
    schema = schema_of(columns)
    if not data:
        return pa.RecordBatch.from_pylist([], schema=schema)
    buffer: Bytes = np.zeros(len(data) + PAD_SIZE, dtype=np.uint8)
    buffer[: len(data)] = np.frombuffer(data, dtype=np.uint8)
    starts, behind = scan_log(buffer.data, 0, len(data))
    maker = _maker(schema, "", check_crc, max(len(starts), 1))
    good = maker.add(buffer, np.frombuffer(starts, dtype=np.int64), None) if len(starts) else 0
    if good < len(starts) or behind < len(data):
        bad = starts[good] if good < len(starts) else behind
        # It cannot be decoded either, and the decoder says why.
        decode_record(data, bad, check_crc=False)
        raise BadCall(f"the record at byte {bad} is valid but cannot be converted to columns")
    return maker.take_batch()


class _Listeners(NamedTuple):
    """The functions that are called for damage, and at the end of the data."""

    damage: OnDamage | None
    end: OnEnd | None

    def report(self, file_name: str, damage: Damage, *, is_here: bool = True) -> None:
        """Report damage, or raise it without a listener.

        Args:
            is_here: whether the damage is in this range; another reader reports it otherwise.
        """
        if self.damage is None:
            raise damage.error
        if is_here:
            self.damage(file_name, damage)


class _FileScan:
    """One pass over a range of one file, window by window, in one buffer.

    A batch has at most ``rows_max`` rows and ``bytes_max`` bytes of records, or one record.
    """

    def __init__(
        self,
        file: LogFile,
        base: int,
        maker: BatchMaker,
        rows_max: int,
        bytes_max: int,
        listeners: _Listeners,
    ) -> None:
        self._file = file
        self._base = base
        self._maker = maker
        self._rows_max = rows_max
        self._bytes_max = bytes_max
        self._listeners = listeners
        self._buffer: Bytes = np.empty(0, dtype=np.uint8)
        # Rows that were added to the maker and are not in a batch yet.
        self._rows = self._size = 0

    def batches(self, first: int, stop: int) -> Iterator[Any]:
        """Yield the batches of the records that start from ``first`` up to ``stop``."""
        pos = self._first_start(first, stop)
        if pos >= stop:
            return
        window_size = self._maker.window_size
        while pos < stop:
            starts, behind = self._read(pos, window_size)
            if behind == 0 and window_size < WINDOW_SIZE:
                # Perhaps a large record.
                window_size = WINDOW_SIZE
                continue
            window_size = self._maker.window_size
            inside = bisect.bisect_left(starts, stop - pos)
            if inside < len(starts):
                behind = starts[inside]
                del starts[inside:]
            added_count = yield from self._add_window(starts, behind, pos)
            good_end = starts[added_count] if added_count < len(starts) else behind
            pos += good_end
            if good_end == 0 or added_count < len(starts):
                # A fresh window that does not begin with a record, or a damaged record.
                yield from self._take_batch()
                step = self._step_over(pos)
                if step == 0:
                    return
                if step > 0:
                    pos += step
                else:
                    window_size = -step
        yield from self._take_batch()
        self._report_damage_at(pos)

    def _add_window(self, starts: "array[int]", behind: int, pos: int) -> Generator[Any, None, int]:
        """Add the records of the window at ``pos``; return how many are whole.

        Whole records that say that they lie elsewhere are damage, and are skipped here.
        """
        added_count = 0
        while True:
            added_count = yield from self._add(starts, added_count, behind, self._base + pos)
            passed = added_count
            while passed < len(starts):
                end = starts[passed + 1] if passed + 1 < len(starts) else behind
                damage = self._misplaced(starts[passed], end, pos)
                if damage is None:
                    break
                yield from self._take_batch()
                self._listeners.report(self._file.name, damage)
                passed += 1
            if passed == added_count:
                return added_count
            added_count = passed

    def _misplaced(self, start: int, end: int, pos: int) -> Damage | None:
        """Return the damage of a misplaced record; None if it is in place or not whole."""
        raw = self._buffer[start:end].tobytes()
        try:
            record = decode_record(raw, 0, check_crc=False)
        except RecordDamaged:
            return None
        return offset_mismatch(record, pos + start, base=self._base)

    def _add(
        self, starts: "array[int]", first: int, behind: int, at: int
    ) -> Generator[Any, None, int]:
        """Add the records from the first-th on; return the number of the first that is not good.

        Args:
            behind: where the last record of the window ends.
            at: the log offset of the window.
        """
        added_count = first
        while added_count < len(starts):
            end = self._fitting(starts, added_count, behind)
            if end == added_count:
                yield from self._take_batch()
                continue
            some = np.frombuffer(starts, dtype=np.int64)[added_count:end]
            added = self._maker.add(self._buffer, some, at)
            before, added_count = added_count, added_count + added
            self._rows += added
            self._size += (starts[added_count] if added_count < len(starts) else behind) - starts[
                before
            ]
            if added_count < end:
                break
            if not self._maker.gathers:
                yield from self._take_batch()
        return added_count

    def _fitting(self, starts: "array[int]", first: int, behind: int) -> int:
        """Return the end of the records from ``first`` on that the next batch has room for."""
        count = self._rows_max - self._rows
        stop = starts[first] + self._bytes_max - self._size
        end = bisect.bisect_right(starts, stop, first)
        # The last of them must also end within the limit.
        if end < len(starts) or behind > stop:
            end = max(end - 1, first)
        return max(min(end, first + count), first + 1 if self._rows == 0 else first)

    def _take_batch(self) -> Iterator[Any]:
        if self._rows:
            yield self._maker.take_batch()
        self._rows = self._size = 0

    def _first_start(self, first: int, stop: int) -> int:
        if first <= 0 or first >= stop:
            return first
        file = self._file
        start = next_start(file.read, first, base=self._base, end=stop, data_after=file.data_after)
        return stop if start is None else start

    def _read(self, pos: int, window_size: int) -> RecordStarts:
        size = min(window_size, self._file.size - pos)
        if len(self._buffer) < size + PAD_SIZE:
            self._buffer = np.empty(size + PAD_SIZE, dtype=np.uint8)
        view = self._buffer.data
        size = self._file.read_into(view[:size], pos)
        return scan_log(view, 0, size)

    def _step_over(self, pos: int) -> int:
        """Return the size of the damage at ``pos``, 0 at the end of the data.

        A record that is larger than a window gives its size, negative.
        """
        file = self._file
        item = next(
            scan_items(
                file.read,
                base=self._base,
                size=file.size,
                start=pos,
                check_crc=False,
                data_after=file.data_after,
            )
        )
        if isinstance(item, Record):
            damage = offset_mismatch(item, pos, base=self._base)
            if damage is None:
                return -item.size
            item = damage
        if isinstance(item, End) and self._listeners.end is not None:
            self._listeners.end(file.name, item)
        if not isinstance(item, Damage):
            return 0
        self._listeners.report(file.name, item)
        return item.size

    def _report_damage_at(self, pos: int) -> None:
        """Report the damage from ``pos`` on, because the reader of the next range skips it."""
        while pos < self._file.size and not self._begins_at(pos):
            step = self._step_over(pos)
            if step <= 0:
                return
            pos += step

    def _begins_at(self, pos: int) -> bool:
        """Return whether ``_first_start`` of the next range finds a record here."""
        file = self._file
        return next_start(file.read, pos, base=self._base, end=pos + 1) is not None
