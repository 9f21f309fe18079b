"""Where the parts of many records lie, found with numpy for all of them at once.

    starts ──> heads (one gather of 88 bytes a record, viewed as a big-endian struct)
           ──> where body, topic and properties lie, and whether the lengths add up

Rule: numpy is enough here, without pyarrow. Records with IPv6 hosts have longer heads. Each of the
four combinations of hosts is a lane: its heads are gathered separately, and the results are
scattered back into the order of records. The numpy types come from ``layout.MESSAGE``. A record
need not be whole, but its head must lie within the data (see ``PAD_SIZE``).

Source: as ``storefmt.formats.message``, against which it is tested record by record.
"""

from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from storefmt.formats import layout
from storefmt.formats.message import (
    MAGIC_V2,
    RECORD_SIZE_MIN,
    TOPIC_SIZE_V1_MAX,
    TOPIC_SIZE_V2_MAX,
)
from storefmt.formats.properties import PROPERTIES_SIZE_MAX
from storefmt.formats.sysflag import HOSTS_V6

Bytes = npt.NDArray[np.uint8]
Ints = npt.NDArray[np.int64]
Flags = npt.NDArray[np.bool_]

PAD_SIZE: Final = 128
"""Spare bytes that let a head be gathered before it is known to be whole."""
_HEAD: Final = layout.MESSAGE.part("body_size")
_SYS_FLAG_LOW: Final = layout.MESSAGE.part("sys_flag").struct().size - 1
_TAIL_SIZE_MIN: Final = RECORD_SIZE_MIN - _HEAD.struct().size

LANES: Final = {
    v6: np.dtype(_HEAD.numpy_fields(v6=v6)) for v6 in range(0, HOSTS_V6 + 1, HOSTS_V6 // 3)
}
"""The type of a head by the host bits of its ``sys_flag``."""
assert [dtype.itemsize for dtype in LANES.values()] == [88, 100, 100, 112]


class Lane(NamedTuple):
    """The records of one combination of hosts: their rows (None for all), their heads."""

    rows: Ints | None
    heads: npt.NDArray[np.void]


class RecordPositions(NamedTuple):
    """Where the parts of records lie in the data, one item a record.

    After the first record that is not whole, positions are undefined.
    """

    body: Ints
    body_end: Ints
    topic: Ints
    topic_end: Ints
    properties: Ints
    end: Ints
    is_whole: Flags


class RecordHeads:
    """The heads of records in one buffer.

    Args:
        data: the buffer; the head of each record lies within it.
        starts: where records start, as ``scan.scan_log`` found them.

    Attributes:
        host_bits: the bits of ``sys_flag`` that say which hosts are long.
        lanes: the heads by their host bits.
    """

    def __init__(self, data: Bytes, starts: Ints) -> None:
        self._data = data
        self._starts = starts
        self.host_bits = data[starts + _SYS_FLAG_LOW] & HOSTS_V6
        present = np.flatnonzero(np.bincount(self.host_bits, minlength=1)).tolist() or [0]
        self.lanes: list[Lane] = []
        self._sizes: Ints | int = LANES[present[0]].itemsize
        if len(present) > 1:
            self._sizes = np.empty(len(starts), dtype=np.int64)
        for bits in present:
            dtype = LANES[bits]
            rows = np.flatnonzero(self.host_bits == bits) if len(present) > 1 else None
            picked = starts if rows is None else starts[rows]
            window = np.lib.stride_tricks.sliding_window_view(data, dtype.itemsize)
            self.lanes.append(Lane(rows, window[picked].view(dtype).reshape(len(picked))))
            if rows is not None and not isinstance(self._sizes, int):
                self._sizes[rows] = dtype.itemsize

    def __len__(self) -> int:
        return len(self._starts)

    def ints(self, name: str) -> Ints:
        """Return a fixed field (or ``born_host_port``) of every record, as int64."""
        first = self.lanes[0]
        if first.rows is None:
            return first.heads[name].astype(np.int64)
        values = np.empty(len(self), dtype=np.int64)
        for lane in self.lanes:
            values[lane.rows] = lane.heads[name]
        return values

    def positions(self) -> RecordPositions:
        """Return where the variable parts lie, and which records' lengths add up."""
        data, starts = self._data, self._starts
        end = starts + self.ints("size")
        body = starts + self._sizes
        body_sizes = self.ints("body_size")
        body_end = body + body_sizes
        is_whole = (body_sizes >= 0) & (body_end + _TAIL_SIZE_MIN <= end)
        topic_head = np.where(is_whole, body_end, starts)
        topic_sizes = data[topic_head].astype(np.int64)
        is_v2 = self.ints("magic") == MAGIC_V2
        limits: Ints | int = TOPIC_SIZE_V1_MAX
        if is_v2.any():
            limits = np.where(is_v2, TOPIC_SIZE_V2_MAX, TOPIC_SIZE_V1_MAX)
            topic_sizes = np.where(is_v2, topic_sizes << 8 | data[topic_head + 1], topic_sizes)
        topic = body_end + 1 + is_v2
        topic_end = topic + topic_sizes
        is_whole &= (topic_sizes <= limits) & (topic_end + 2 <= end)
        properties_head = np.where(is_whole, topic_end, starts)
        sizes = data[properties_head].astype(np.int64) << 8 | data[properties_head + 1]
        properties = topic_end + 2
        is_whole &= (sizes <= PROPERTIES_SIZE_MAX) & (properties + sizes == end)
        return RecordPositions(body, body_end, topic, topic_end, properties, end, is_whole)
