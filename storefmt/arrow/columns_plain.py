"""Makes the columns without compiled kernels: numpy and Arrow functions over whole slices.

    data, starts ──> Records ──┬──> numbers, texts, bodies ──> one array a column
                               └──> Properties ──> map, tags, keys, ids

Rule: each column has one function. This module and ``storefmt.arrow.columns`` define what a
column contains; the compiled way (``storefmt.arrow.columns_compiled``) gives the same rows.

Source: as ``storefmt.formats.message``, with which the rows agree.
"""

from collections.abc import Callable
from typing import Any, ClassVar, Final

import numpy as np
import pyarrow as pa

from storefmt.arrow.columns_decode import (
    Records,
    same_text,
    timestamps,
)
from storefmt.arrow.record_positions import Bytes, Ints
from storefmt.formats.properties import KEYS, PRODUCER_GROUP, TAGS, UNIQUE_KEY


class PlainColumns:
    """Makes a batch of each slice of records that is added."""

    gathers: Final = False
    # Functions over whole slices cost less for each record of a large slice.
    window_size: ClassVar[int] = 8 << 20

    def __init__(self, schema: Any, file_name: str, check_crc: bool, rows_max: int) -> None:
        self._schema = schema
        self._file_name = file_name
        self._check_crc = check_crc
        self._batch: Any = None

    def add(self, data: Bytes, starts: Ints, at: int | None) -> int:
        """Add the records at ``starts``; return how many are valid before the first that is not.

        Args:
            data: with ``PAD_SIZE`` bytes to spare after the last record.
            at: the log offset of the first byte of ``data``, if records must lie where they
                claim; None if they may claim any position.
        """
        records = Records(data, starts, at)
        arrays = [self._column(field.name, records) for field in self._schema]
        self._batch = pa.RecordBatch.from_arrays(arrays, schema=self._schema)
        return records.count

    def take_batch(self) -> Any:
        """Return what was added since the last time as a record batch."""
        return self._batch

    def _column(self, name: str, records: Records) -> Any:
        if name == "file":
            return same_text(self._file_name, records.count)
        if name == "crc_ok":
            return _crc_ok(records) if self._check_crc else pa.nulls(records.count, pa.bool_())
        return _MAKERS[name](records)


def _crc_ok(records: Records) -> Any:
    # An empty body has no CRC to check, as in Java.
    good = records.crcs() == records.ints("body_crc")
    return pa.array(good | (records.ints("body_size") == 0))


def _int32(name: str) -> Callable[[Records], Any]:
    return lambda records: pa.array(records.ints(name).astype(np.int32))


def _int64(name: str) -> Callable[[Records], Any]:
    return lambda records: pa.array(records.ints(name))


_MAKERS: Final[dict[str, Callable[[Records], Any]]] = {
    "log_offset": _int64("log_offset"),
    "store_size": _int32("size"),
    "magic": _int32("magic"),
    "topic": lambda records: records.topics,
    "queue_id": _int32("queue_id"),
    "queue_offset": _int64("queue_offset"),
    "flag": _int32("flag"),
    "sys_flag": _int32("sys_flag"),
    "body_crc": _int32("body_crc"),
    "body_size": _int32("body_size"),
    "body": lambda records: records.bodies(),
    "born_timestamp": lambda records: timestamps(records.ints("born_ms")),
    "born_host": lambda records: records.addresses("born_host"),
    "born_port": _int32("born_host_port"),
    "store_timestamp": lambda records: timestamps(records.ints("store_ms")),
    "store_host": lambda records: records.addresses("store_host"),
    "store_port": _int32("store_host_port"),
    "reconsume_times": _int32("reconsume_times"),
    "prepared_transaction_offset": _int64("prepared_transaction_offset"),
    "tags": lambda records: records.properties.values_of(TAGS),
    "tags_code": lambda records: records.properties.tags_codes(),
    "keys": lambda records: records.properties.words_of(KEYS),
    "unique_key": lambda records: records.properties.values_of(UNIQUE_KEY),
    "msg_id": lambda records: records.msg_ids(),
    "producer_group": lambda records: records.properties.values_of(PRODUCER_GROUP),
    "properties": lambda records: records.properties.maps(),
    "properties_raw": lambda records: records.properties_raw,
}
