"""Makes the columns with the compiled kernel, whose buffers become Arrow arrays.

    data, starts ──kernel.Columns.add──> buffers ──take_batch──> arrays ──> RecordBatch

Rule: the rows are those of ``columns_plain``. Only ``columns`` imports this module, and only
where the kernel was built. A batch may come from many slices of a file.

Source: as ``storefmt.arrow.columns_plain``.
"""

from typing import Any, ClassVar, Final

import numpy as np
import pyarrow as pa

from storefmt.arrow.columns_decode import same_text, timestamps
from storefmt.arrow.columns_kernel import Columns
from storefmt.arrow.record_positions import LANES, Bytes, Ints

_DTYPES: Final = tuple(LANES.values())
_FIELDS: Final = {
    "store_size": "size",
    "born_timestamp": "born_ms",
    "born_port": "born_host_port",
    "store_timestamp": "store_ms",
    "store_port": "store_host_port",
}
"""The fields of a head that are columns of another name."""
_NUMBERS: Final = (
    *_FIELDS, "log_offset", "magic", "queue_id", "queue_offset", "flag", "sys_flag", "body_crc",
    "body_size", "reconsume_times", "prepared_transaction_offset",
)  # fmt: skip


def _places(field: str) -> tuple[int, ...]:
    """Return where a field lies in each kind of head."""
    return tuple(int(dtype.fields[field][1]) for dtype in _DTYPES if dtype.fields is not None)


_INTS: Final = {
    name: (_places(_FIELDS.get(name, name)), _DTYPES[0][_FIELDS.get(name, name)].itemsize)
    for name in _NUMBERS
}
_HOSTS: Final = (_places("born_host"), _places("store_host"))


class CompiledColumns:
    """Gathers records into batches."""

    gathers: Final = True
    # Records are decoded one by one, from a window that stays in the cache of the core.
    window_size: ClassVar[int] = 1 << 20

    def __init__(self, schema: Any, file_name: str, check_crc: bool, rows_max: int) -> None:
        self._schema = schema
        self._file_name = file_name
        self._rows_max = rows_max
        self._names = set(schema.names) - (set() if check_crc else {"crc_ok"})
        self._ints = [(name, *_INTS[name]) for name in dict.fromkeys(schema.names) if name in _INTS]
        self._columns = self._fresh(None)

    def _fresh(self, before: Columns | None) -> Columns:
        return Columns(self._ints, self._names, _HOSTS, self._rows_max, before)

    def add(self, data: Bytes, starts: Ints, at: int | None) -> int:
        """Add the records at ``starts``; return how many are valid before the first that is not.

        Args:
            data: the bytes.
            at: the log offset of the first of them, if records must lie where they claim; None if
                they may claim any position.
        """
        return self._columns.add(data, starts, at)

    def take_batch(self) -> Any:
        """Return what was added since the last time as a record batch."""
        columns, self._columns = self._columns, self._fresh(self._columns)
        buffers = columns.finish()
        arrays = [
            self._array(field, columns.count, buffers.get(field.name)) for field in self._schema
        ]
        return pa.RecordBatch.from_arrays(arrays, schema=self._schema)

    def _array(self, field: Any, count: int, made: Any) -> Any:
        kind = field.type
        if field.name == "file":
            return same_text(self._file_name, count)
        if made is None:
            return pa.nulls(count, kind)
        if pa.types.is_boolean(kind):
            return pa.array(np.frombuffer(made, dtype=np.bool_))
        if pa.types.is_timestamp(kind):
            return timestamps(np.frombuffer(made, dtype=np.int64))
        if pa.types.is_map(kind):
            lists, names, values = made
            return pa.MapArray.from_arrays(
                _offsets(lists), _texts(names, pa.string()), _texts(values, pa.string())
            )
        if pa.types.is_list(kind):
            lists, words = made
            return pa.ListArray.from_arrays(_offsets(lists), _texts(words, pa.string()))
        if pa.types.is_integer(kind):
            return pa.Array.from_buffers(kind, count, [None, pa.py_buffer(made)], 0)
        return _texts(made, kind)


def _texts(made: Any, kind: Any) -> Any:
    buffers = [pa.py_buffer(made.offsets), pa.py_buffer(made.data)]
    count = len(made.offsets) // 4 - 1
    valid = pa.py_buffer(made.valid) if made.nulls else None
    return pa.Array.from_buffers(kind, count, [valid, *buffers], made.nulls)


def _offsets(made: Any) -> Any:
    return pa.Array.from_buffers(
        pa.int32(), len(made.offsets) // 4, [None, pa.py_buffer(made.offsets)], 0
    )
