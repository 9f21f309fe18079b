"""The commit log as Arrow tables: for Spark, for local analysis, for anything columnar.

    commit log files ──windows──> scan_log (size, magic) ──> Records ──> RecordBatch

Rule: every column is nullable and has the type that Spark's Python data source asks for;
timestamps are UTC microseconds. The default columns leave out what is large (body,
properties, properties_raw): name them to get them. A reader may be given any byte range
of the log: a record belongs to the range in which it starts, so ranges that touch give
every record once. Damage is skipped only where ``on_damage`` is there to hear of it.

Source: as ``storefmt.message`` and ``storefmt.scan``, with which the rows agree.
"""

import bisect
from array import array
from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from storefmt.columns_decode import (
    PAD_SIZE,
    Bytes,
    Properties,
    Records,
    hex_text,
    split_words,
)
from storefmt.errors import BadCall
from storefmt.hosts import address_text
from storefmt.javahash import tags_code
from storefmt.message import CRC_MASK, Record, crc32
from storefmt.properties import KEYS, PRODUCER_GROUP, TAGS, UNIQUE_KEY
from storefmt.scan import Damage, Found, LogFile, next_start, scan_log, walk

ROWS_MAX: Final = 10_000
BYTES_MAX: Final = 8 << 20
WINDOW_SIZE: Final = 8 << 20
_YEAR_1_MS: Final = -62_135_596_800_000
_YEAR_10000_MS: Final = 253_402_300_800_000
_TIMESTAMP: Final = pa.timestamp("us", tz="UTC")
_STRING: Final = pa.string()

SCHEMA: Final = pa.schema(
    [
        pa.field("file", _STRING),
        pa.field("commit_log_offset", pa.int64()),
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
        pa.field("born_timestamp", _TIMESTAMP),
        pa.field("born_host", _STRING),
        pa.field("born_port", pa.int32()),
        pa.field("store_timestamp", _TIMESTAMP),
        pa.field("store_host", _STRING),
        pa.field("store_port", pa.int32()),
        pa.field("reconsume_times", pa.int32()),
        pa.field("prepared_transaction_offset", pa.int64()),
        pa.field("tags", _STRING),
        pa.field("tags_code", pa.int64()),
        pa.field("keys", pa.list_(pa.field("element", _STRING))),
        pa.field("uniq_key", _STRING),
        pa.field("msg_id", _STRING),
        pa.field("producer_group", _STRING),
        pa.field("properties", pa.map_(_STRING, _STRING)),
        pa.field("properties_raw", pa.binary()),
    ]
)
"""Every column there is, in the order of the commitlog table."""
LARGE_COLUMNS: Final = ("body", "properties", "properties_raw")
DEFAULT_COLUMNS: Final = tuple(name for name in SCHEMA.names if name not in LARGE_COLUMNS)

OnDamage = Callable[[str, Damage], None]
"""Takes the name of a file and the damage in it."""


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
) -> Iterator[Any]:
    """Yield the records that start in a range of the log as ``pyarrow.RecordBatch``.

    Args:
        paths: commit log files; others than those with 20-digit names are refused.
        columns: what to decode, in this order; each costs time.
        start: first log offset (bytes) of the range; need not be a record's start.
        end: log offset behind the range; the end of the files when None.
        rows_max: most rows of a batch, ``bytes_max`` most bytes of records in a batch that
            has a large column (one record may be larger).
        check_crc: fill ``crc_ok`` (null otherwise).
        on_damage: hears of damage, which is then skipped.

    Raises:
        BadCall: a column does not exist.
        RecordDamaged: there is damage and no ``on_damage``.
        OSError: a file cannot be read.
    """
    schema = schema_of(columns)
    if not set(columns) & set(LARGE_COLUMNS):
        bytes_max = WINDOW_SIZE
    for path in sorted(paths, key=lambda path: path.name):
        with LogFile(path) as file:
            stop = file.size if end is None else min(end - file.base, file.size)
            scan = _FileScan(file, rows_max, bytes_max, on_damage)
            for records in scan.records(max(start - file.base, 0), stop):
                yield _Batch(records, file.name, check_crc).columns(schema)


class _FileScan:
    """One pass over a range of one file, window by window, in one buffer."""

    def __init__(
        self, file: LogFile, rows_max: int, bytes_max: int, on_damage: OnDamage | None
    ) -> None:
        self._file = file
        self._rows_max = rows_max
        self._bytes_max = bytes_max
        self._on_damage = on_damage
        self._buffer: Bytes = np.empty(0, dtype=np.uint8)

    def records(self, first: int, stop: int) -> Iterator[Records]:
        """Yield the records that start from ``first`` up to ``stop``, in slices.

        Use up a slice before asking for the next: they share the buffer.
        """
        pos = self._first_start(first, stop)
        window_size = WINDOW_SIZE
        while pos < stop:
            starts, behind = self._read(pos, window_size)
            del starts[bisect.bisect_left(starts, stop - pos) :]
            window_size = WINDOW_SIZE
            done = 0
            while done < len(starts):
                some = self._some(starts, done)
                records = Records(self._buffer, np.array(some, dtype=np.int64))
                if records.count:
                    yield records
                done += records.count
                if records.count < len(some):
                    behind = starts[done]
                    break
            pos += behind
            if behind == 0 or done < len(starts):
                # A fresh window that begins with no record, or a record that is none.
                step = self._step_over(pos)
                if step == 0:
                    return
                if step > 0:
                    pos += step
                else:
                    window_size = -step

    def _first_start(self, first: int, stop: int) -> int:
        if first <= 0 or first >= stop:
            return first
        file = self._file
        found = next_start(file.read, first, base=file.base, end=stop, data_after=file.data_after)
        return stop if found is None else found

    def _read(self, pos: int, window_size: int) -> Found:
        size = min(window_size, self._file.size - pos)
        if len(self._buffer) < size + PAD_SIZE:
            self._buffer = np.empty(max(size, WINDOW_SIZE) + PAD_SIZE, dtype=np.uint8)
        view = self._buffer.data
        size = self._file.read_into(view[:size], pos)
        return scan_log(view, 0, size)

    def _some(self, starts: "array[int]", first: int) -> "array[int]":
        """Return the starts of the next batch: as many as the limits allow, one at least."""
        end = bisect.bisect_right(starts, starts[first] + self._bytes_max, first)
        # The last of them must end within the limit, too.
        end = max(end - 1, first + 1) if end < len(starts) else end
        return starts[first : min(end, first + self._rows_max)]

    def _step_over(self, pos: int) -> int:
        """Return the size of the damage at ``pos``, 0 at the end of the data.

        A record that is larger than a window gives its size, negative.
        """
        file = self._file
        item = next(
            walk(
                file.read,
                base=file.base,
                size=file.size,
                start=pos,
                check_crc=False,
                data_after=file.data_after,
            )
        )
        if isinstance(item, Record):
            return -item.size
        if not isinstance(item, Damage):
            return 0
        if self._on_damage is None:
            raise item.error
        self._on_damage(file.name, item)
        return item.size


class _Batch:
    """Makes the columns of one slice of records."""

    def __init__(self, records: Records, file_name: str, check_crc: bool) -> None:
        self._records = records
        self._file_name = file_name
        self._check_crc = check_crc

    def columns(self, schema: Any) -> Any:
        """Return the columns of ``schema`` as a record batch."""
        arrays = [_MAKERS[field.name](self) for field in schema]
        return pa.RecordBatch.from_arrays(arrays, schema=schema)

    @cached_property
    def _properties_raw(self) -> Any:
        return self._records.properties_raw()

    @cached_property
    def _properties(self) -> Properties:
        return Properties(self._properties_raw)

    @cached_property
    def _tags(self) -> Any:
        return self._properties.values_of(TAGS)

    def _file(self) -> Any:
        places = np.zeros(self._records.count, dtype=np.int8)
        return pa.array([self._file_name]).take(pa.array(places))

    def _int32(self, name: str) -> Any:
        return pa.array(self._records.ints(name).astype(np.int32))

    def _int64(self, name: str) -> Any:
        return pa.array(self._records.ints(name))

    def _timestamp(self, name: str) -> Any:
        times = self._records.ints(name)
        # Damage may hold any time; what no calendar has, Python's and SQL's refuse: it is null.
        strange = (times < _YEAR_1_MS) | (times >= _YEAR_10000_MS)
        return pa.array(np.where(strange, 0, times) * 1000, mask=strange).view(_TIMESTAMP)

    def _address(self, name: str) -> Any:
        return self._records.by_lane(lambda heads: _address_texts(heads[name]))

    def _msg_id(self) -> Any:
        return self._records.by_lane(_msg_ids)

    def _crc_ok(self) -> Any:
        records = self._records
        if not self._check_crc:
            return pa.nulls(records.count, pa.bool_())
        sizes = zip(records.body_pos.tolist(), records.body_end.tolist(), strict=True)
        view = records.view
        found = np.array([crc32(view[pos:end]) for pos, end in sizes], dtype=np.int64) & CRC_MASK
        # An empty body has no CRC to check, as in Java.
        good = (found == records.ints("body_crc")) | (records.body_sizes == 0)
        return pa.array(good)

    def _tags_code(self) -> Any:
        encoded = self._tags.dictionary_encode()
        codes = pa.array([tags_code(tag) for tag in encoded.dictionary.to_pylist()], pa.int64())
        return pc.fill_null(codes.take(encoded.indices), 0)


def _bytes_of(values: npt.NDArray[np.void]) -> Bytes:
    """Return fixed byte strings as a matrix, one row each."""
    rows = np.ascontiguousarray(values)
    return rows.view(np.uint8).reshape(len(values), values.dtype.itemsize)


def _address_texts(packed: npt.NDArray[np.void]) -> Any:
    matrix = _bytes_of(packed)
    width = matrix.shape[1]
    addresses = pa.Array.from_buffers(
        pa.binary(width), len(matrix), [None, pa.py_buffer(matrix)]
    ).dictionary_encode()
    texts = [address_text(address + bytes(4)) for address in addresses.dictionary.to_pylist()]
    return pa.array(texts, _STRING).take(addresses.indices)


def _msg_ids(heads: npt.NDArray[np.void]) -> Any:
    names = ("store_host", "store_host_port", "log_offset")
    parts = [_bytes_of(heads[name].view(f"V{heads[name].dtype.itemsize}")) for name in names]
    return hex_text(np.concatenate(parts, axis=1))


_MAKERS: Final[dict[str, Callable[[_Batch], Any]]] = {
    "file": _Batch._file,
    "commit_log_offset": lambda batch: batch._int64("log_offset"),
    "store_size": lambda batch: batch._int32("size"),
    "magic": lambda batch: batch._int32("magic"),
    "topic": lambda batch: batch._records.topics,
    "queue_id": lambda batch: batch._int32("queue_id"),
    "queue_offset": lambda batch: batch._int64("queue_offset"),
    "flag": lambda batch: batch._int32("flag"),
    "sys_flag": lambda batch: batch._int32("sys_flag"),
    "body_crc": lambda batch: batch._int32("body_crc"),
    "crc_ok": _Batch._crc_ok,
    "body_size": lambda batch: batch._int32("body_size"),
    "body": lambda batch: batch._records.bodies(),
    "born_timestamp": lambda batch: batch._timestamp("born_ms"),
    "born_host": lambda batch: batch._address("born_host"),
    "born_port": lambda batch: batch._int32("born_host_port"),
    "store_timestamp": lambda batch: batch._timestamp("store_ms"),
    "store_host": lambda batch: batch._address("store_host"),
    "store_port": lambda batch: batch._int32("store_host_port"),
    "reconsume_times": lambda batch: batch._int32("reconsume_times"),
    "prepared_transaction_offset": lambda batch: batch._int64("prepared_transaction_offset"),
    "tags": lambda batch: batch._tags,
    "tags_code": _Batch._tags_code,
    "keys": lambda batch: split_words(batch._properties.values_of(KEYS)),
    "uniq_key": lambda batch: batch._properties.values_of(UNIQUE_KEY),
    "msg_id": _Batch._msg_id,
    "producer_group": lambda batch: batch._properties.values_of(PRODUCER_GROUP),
    "properties": lambda batch: batch._properties.maps(),
    "properties_raw": lambda batch: batch._properties_raw,
}
assert set(_MAKERS) == set(SCHEMA.names)
