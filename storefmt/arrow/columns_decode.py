"""Decodes many records at once into Arrow columns, without a Python object for each row.

    starts ──record_positions──> where the parts lie ──> binary arrays over the raw bytes
                                 properties ──────────> maps, tags, keys, ids

Rule: nothing here reads files or knows which columns exist (see ``storefmt.arrow.columns``).

Source: as ``storefmt.formats.message``, against which it is tested record by record.
"""

from collections.abc import Callable
from functools import cached_property
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from storefmt.arrow.record_positions import Bytes, Flags, Ints, RecordHeads
from storefmt.formats.hosts import address_text
from storefmt.formats.javahash import tags_code
from storefmt.formats.message import CALENDAR_MS, body_crc
from storefmt.formats.properties import TAGS

_HEX: Final = np.frombuffer("".join(f"{n:02X}" for n in range(256)).encode(), dtype=np.uint16)
TIMESTAMP: Final = pa.timestamp("us", tz="UTC")
_NAME_END: Final = 1
_PART_END: Final = 2


class Records:
    """``count`` valid records of one buffer, up to the first that is not valid.

    Args:
        data: the buffer, with ``PAD_SIZE`` bytes to spare after the last record.
        starts: where records start, as ``scan.scan_log`` found them.
        at: the log offset of the first byte of the buffer, if records must lie where they claim;
            None if they may claim any position.
    """

    def __init__(self, data: Bytes, starts: Ints, at: int | None = None) -> None:
        self._data = data
        self._whole = pa.py_buffer(data)
        good = self._find(starts)
        if at is not None:
            good &= self.ints("log_offset") == starts + at
        if not good.all():
            self._find(starts[: int(good.argmin())])
        raw = self._binary(self._positions.topic, self._positions.topic_end)
        try:
            self.topics = raw.cast(pa.string())
        except pa.ArrowInvalid:
            bad = first_bad_text(raw)
            self._find(starts[:bad])
            self.topics = raw.slice(0, bad).cast(pa.string())

    def _find(self, starts: Ints) -> Flags:
        """Find the parts of the records; return which of them are whole."""
        self.heads, self.count = RecordHeads(self._data, starts), len(starts)
        self._positions = self.heads.positions()
        return self._positions.is_whole

    def ints(self, name: str) -> Ints:
        """Return a fixed field (or ``born_host_port``) of every record, as int64."""
        return self.heads.ints(name)

    def bodies(self) -> pa.Array:
        """Return the bodies as stored."""
        return self._binary(self._positions.body, self._positions.body_end)

    @cached_property
    def properties_raw(self) -> pa.Array:
        """The raw properties."""
        return self._binary(self._positions.properties, self._positions.end)

    @cached_property
    def properties(self) -> "Properties":
        """The properties, found in their text."""
        return Properties(text(self.properties_raw))

    def addresses(self, name: str) -> pa.Array:
        """Return the address of a host as text, without its port."""
        return self._by_lane(lambda heads: _address_texts(heads[name]))

    def msg_ids(self) -> pa.Array:
        """Return the offset message ids."""
        return self._by_lane(_msg_ids)

    def crcs(self) -> Ints:
        """Return the CRC of every body; 0 for an empty one."""
        view = self._data.data
        sizes = zip(self._positions.body.tolist(), self._positions.body_end.tolist(), strict=True)
        return np.array([body_crc(view[pos:end]) for pos, end in sizes], dtype=np.int64)

    def _by_lane(self, convert: Callable[[npt.NDArray[np.void]], pa.Array]) -> pa.Array:
        """Return what ``convert`` makes of the heads of each lane, in the order of records."""
        lanes = self.heads.lanes
        if lanes[0].rows is None:
            return convert(lanes[0].heads)
        rows = np.concatenate([lane.rows for lane in lanes if lane.rows is not None])
        places = np.empty(len(rows), dtype=np.int64)
        places[rows] = np.arange(len(rows))
        parts = [convert(lane.heads) for lane in lanes]
        return pa.concat_arrays(parts).take(pa.array(places))

    def _binary(self, starts: Ints, ends: Ints) -> pa.Array:
        return _spans(self._whole, starts, ends)


def _spans(
    data: Any, starts: Ints, ends: Ints, missing: npt.NDArray[np.bool_] | None = None
) -> Any:
    """Return the bytes between ``starts`` and ``ends`` of an Arrow buffer as a binary array.

    The spans must come in order and not overlap: the array is one over the whole buffer,
    of which every second item is taken. ``missing`` rows become null.
    """
    count = len(starts)
    if count == 0:
        return pa.array([], pa.binary())
    offsets = np.empty(2 * count, dtype=np.int32)
    offsets[0::2] = starts
    offsets[1::2] = ends
    every = pa.Array.from_buffers(pa.binary(), 2 * count - 1, [None, pa.py_buffer(offsets), data])
    return every.take(pa.array(np.arange(0, 2 * count, 2), mask=missing))


def text(raw: Any) -> Any:
    """Return a binary array as strings; what is not UTF-8 becomes U+FFFD, as in Java."""
    try:
        return raw.cast(pa.string())
    except pa.ArrowInvalid:
        texts = [item.decode("utf-8", "replace") for item in raw.to_pylist()]
        return pa.array(texts, pa.string())


class Properties:
    """The name and value pairs of many records, in the order of records and of their text.

    Args:
        texts: string array, one item a record, without nulls.
    """

    def __init__(self, texts: Any) -> None:
        self._rows_count = len(texts)
        _, offsets, data = texts.buffers()
        self._buffer = data if data is not None else pa.py_buffer(b"")
        self._data = np.frombuffer(self._buffer, dtype=np.uint8)
        ends = np.frombuffer(offsets, dtype=np.int32)
        ends = ends[texts.offset : texts.offset + len(texts) + 1]
        self._offsets = ends.astype(np.int64)
        self._found: dict[str, Any] = {}
        self._find()

    def _find(self) -> None:
        data, offsets = self._data[: self._offsets[-1]], self._offsets
        cuts = np.flatnonzero(data == _PART_END)
        cuts = cuts[cuts >= offsets[0]]
        starts = np.sort(np.concatenate((offsets[:-1], cuts + 1)), kind="stable")
        ends = np.sort(np.concatenate((offsets[1:], cuts)), kind="stable")
        counts = np.diff(np.searchsorted(cuts, offsets)) + 1
        rows = np.repeat(np.arange(self._rows_count), counts)
        marks = np.flatnonzero(data == _NAME_END)
        if len(marks) == len(starts) and bool(((marks >= starts) & (marks < ends)).all()):
            middles = marks
        else:
            # A value may hold 01 itself, and a part may have none.
            padded = np.append(marks, np.iinfo(np.int64).max)
            middles = padded[np.searchsorted(marks, starts)]
        good = (middles > starts) & (middles < ends - 1)
        if not good.all():
            rows, starts, middles, ends = (item[good] for item in (rows, starts, middles, ends))
        self.rows, self.starts, self.middles, self.ends = rows, starts, middles, ends

    def values_of(self, name: str) -> Any:
        """Return the value of ``name`` for every record, null where it has none."""
        if name in self._found:
            return self._found[name]
        raw_name = name.encode()
        pairs = np.flatnonzero(self.middles - self.starts == len(raw_name))
        if len(pairs):
            window = np.lib.stride_tricks.sliding_window_view(self._data, len(raw_name))
            names = window[self.starts[pairs]].view(f"S{len(raw_name)}")[:, 0]
            pairs = pairs[names == raw_name]
        # Of equal names the last wins, and numpy keeps the last of equal indices.
        places = np.full(self._rows_count, -1, dtype=np.int64)
        places[self.rows[pairs]] = pairs
        missing = places < 0
        starts, ends = self._offsets[:-1].copy(), self._offsets[:-1].copy()
        starts[~missing] = self.middles[places[~missing]] + 1
        ends[~missing] = self.ends[places[~missing]]
        self._found[name] = _spans(self._buffer, starts, ends, missing).cast(pa.string())
        return self._found[name]

    def words_of(self, name: str) -> Any:
        """Return the words of the value of ``name``: split at blanks, empty ones dropped."""
        return _split_words(self.values_of(name))

    def tags_codes(self) -> Any:
        """Return the hash of the tag of every record; 0 without one."""
        encoded = self.values_of(TAGS).dictionary_encode()
        codes = pa.array([tags_code(tag) for tag in encoded.dictionary.to_pylist()], pa.int64())
        return pc.fill_null(codes.take(encoded.indices), 0)

    def maps(self) -> Any:
        """Return all properties as a map column; of equal names the last value is kept."""
        rows, values = self.rows, np.arange(len(self.rows))
        names = _spans(self._buffer, self.starts, self.middles)
        codes = names.dictionary_encode().indices.to_numpy().astype(np.int64)
        keys = rows * (int(codes.max(initial=0)) + 1) + codes
        _, first, inverse = np.unique(keys, return_index=True, return_inverse=True)
        if len(first) < len(keys):
            last = np.empty(len(first), dtype=np.int64)
            last[inverse] = values
            values = last[inverse[np.sort(first)]]
            names = names.take(pa.array(np.sort(first)))
            rows = rows[np.sort(first)]
        items = _spans(self._buffer, self.middles + 1, self.ends).take(pa.array(values))
        offsets = np.searchsorted(rows, np.arange(self._rows_count + 1)).astype(np.int32)
        return pa.MapArray.from_arrays(
            pa.array(offsets), names.cast(pa.string()), items.cast(pa.string())
        )


def first_bad_text(raw: Any) -> int:
    """Return the number of the first item that is not UTF-8, or the count if all are."""
    for row, item in enumerate(raw.to_pylist()):
        try:
            item.decode()
        except UnicodeDecodeError:
            return row
    return len(raw)


def same_text(text: str, count: int) -> Any:
    """Return an array of ``count`` times ``text``."""
    raw = text.encode()
    offsets = np.arange(count + 1, dtype=np.int32) * np.int32(len(raw))
    buffers = [None, pa.py_buffer(offsets), pa.py_buffer(raw * count)]
    return pa.Array.from_buffers(pa.string(), count, buffers, 0)


def timestamps(times_ms: Ints) -> Any:
    """Return times as timestamps; times outside the calendar are null, because SQL refuses them."""
    low, high = CALENDAR_MS.start, CALENDAR_MS.stop
    if len(times_ms) and times_ms.min() >= low and times_ms.max() < high:
        buffers = [None, pa.py_buffer(times_ms * 1000)]
        return pa.Array.from_buffers(TIMESTAMP, len(times_ms), buffers, 0)
    strange = (times_ms < low) | (times_ms >= high)
    return pa.array(np.where(strange, 0, times_ms) * 1000, mask=strange).view(TIMESTAMP)


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
    return pa.array(texts, pa.string()).take(addresses.indices)


def _msg_ids(heads: npt.NDArray[np.void]) -> Any:
    names = ("store_host", "store_host_port", "log_offset")
    parts = [_bytes_of(heads[name].view(f"V{heads[name].dtype.itemsize}")) for name in names]
    return _hex_text(np.concatenate(parts, axis=1))


def _hex_text(matrix: Bytes) -> Any:
    """Return each row of a byte matrix as upper-case hex."""
    count, width = matrix.shape
    offsets = np.arange(count + 1, dtype=np.int32) * np.int32(2 * width)
    digits = np.ascontiguousarray(_HEX[matrix])
    return pa.Array.from_buffers(
        pa.string(), count, [None, pa.py_buffer(offsets), pa.py_buffer(digits)]
    )


def _split_words(values: Any) -> Any:
    """Return the words of each string, split at blanks, empty ones dropped; none for null."""
    lists = pc.split_pattern(pc.fill_null(values, ""), " ")
    words = lists.flatten()
    kept = pc.not_equal(words, "").to_numpy(zero_copy_only=False)
    before = np.concatenate(([0], np.cumsum(kept))).astype(np.int32)
    offsets = before[lists.offsets.to_numpy() - int(lists.offsets[0].as_py())]
    return pa.ListArray.from_arrays(pa.array(offsets), words.filter(pa.array(kept)))
