"""Makes the columns without compiled kernels: numpy and Arrow functions over whole slices.

    data, starts ──> Records ──┬──> numbers, texts, bodies ──> one array a column
                               └──> Properties ──> map, tags, keys, ids

Rule: each column has one function. This module and ``storefmt.arrow.columns`` define what a
column contains; the compiled way (``storefmt.arrow.columns_compiled``) gives the same rows.

Source: as ``storefmt.formats.message``, with which the rows agree.
"""

from collections.abc import Callable
from functools import cached_property
from typing import Any, Final

import numpy as np
import pyarrow as pa

from storefmt.arrow.columns_decode import (
    Bytes,
    Ints,
    Properties,
    Records,
    same_text,
    text,
    timestamps,
)
from storefmt.formats.properties import KEYS, PRODUCER_GROUP, TAGS, UNIQUE_KEY


class PlainColumns:
    """Makes a batch of each slice of records that is added."""

    gathers: Final = False

    def __init__(self, schema: Any, file_name: str, check_crc: bool, rows_max: int) -> None:
        self._schema = schema
        self._file_name = file_name
        self._check_crc = check_crc
        self._batch: Any = None

    def add(self, data: Bytes, starts: Ints, at: int | None) -> int:
        """Take the records that start there; return how many are good, before one is not.

        Args:
            data: with ``PAD_SIZE`` bytes to spare behind the last record.
            at: the log offset of the first byte of ``data``, where records must lie as they say;
                None if they may say anything.
        """
        records = Records(data, starts, at)
        slice_of = _Slice(records, self._file_name, self._check_crc)
        arrays = [_MAKERS[field.name](slice_of) for field in self._schema]
        self._batch = pa.RecordBatch.from_arrays(arrays, schema=self._schema)
        return records.count

    def take(self) -> Any:
        """Return what was added since the last time as a record batch."""
        return self._batch


class _Slice:
    """Makes the columns of one slice of records."""

    def __init__(self, records: Records, file_name: str, check_crc: bool) -> None:
        self.records = records
        self._file_name = file_name
        self._check_crc = check_crc

    @cached_property
    def properties_raw(self) -> Any:
        """The raw properties."""
        return self.records.properties_raw()

    @cached_property
    def properties(self) -> Properties:
        """The properties, found in their text."""
        return Properties(text(self.properties_raw))

    def file(self) -> Any:
        """Return the name of the file for every record."""
        return same_text(self._file_name, self.records.count)

    def int32(self, name: str) -> Any:
        """Return a field of the head as a column."""
        return pa.array(self.records.ints(name).astype(np.int32))

    def int64(self, name: str) -> Any:
        """Return a field of the head as a column."""
        return pa.array(self.records.ints(name))

    def crc_ok(self) -> Any:
        """Return whether bodies fit their CRCs; null when that was not asked for."""
        records = self.records
        if not self._check_crc:
            return pa.nulls(records.count, pa.bool_())
        # An empty body has no CRC to check, as in Java.
        good = records.crcs() == records.ints("body_crc")
        return pa.array(good | (records.ints("body_size") == 0))


_MAKERS: Final[dict[str, Callable[[_Slice], Any]]] = {
    "file": _Slice.file,
    "log_offset": lambda some: some.int64("log_offset"),
    "store_size": lambda some: some.int32("size"),
    "magic": lambda some: some.int32("magic"),
    "topic": lambda some: some.records.topics,
    "queue_id": lambda some: some.int32("queue_id"),
    "queue_offset": lambda some: some.int64("queue_offset"),
    "flag": lambda some: some.int32("flag"),
    "sys_flag": lambda some: some.int32("sys_flag"),
    "body_crc": lambda some: some.int32("body_crc"),
    "crc_ok": _Slice.crc_ok,
    "body_size": lambda some: some.int32("body_size"),
    "body": lambda some: some.records.bodies(),
    "born_timestamp": lambda some: timestamps(some.records.ints("born_ms")),
    "born_host": lambda some: some.records.addresses("born_host"),
    "born_port": lambda some: some.int32("born_host_port"),
    "store_timestamp": lambda some: timestamps(some.records.ints("store_ms")),
    "store_host": lambda some: some.records.addresses("store_host"),
    "store_port": lambda some: some.int32("store_host_port"),
    "reconsume_times": lambda some: some.int32("reconsume_times"),
    "prepared_transaction_offset": lambda some: some.int64("prepared_transaction_offset"),
    "tags": lambda some: some.properties.values_of(TAGS),
    "tags_code": lambda some: some.properties.tags_codes(),
    "keys": lambda some: some.properties.words_of(KEYS),
    "unique_key": lambda some: some.properties.values_of(UNIQUE_KEY),
    "msg_id": lambda some: some.records.msg_ids(),
    "producer_group": lambda some: some.properties.values_of(PRODUCER_GROUP),
    "properties": lambda some: some.properties.maps(),
    "properties_raw": lambda some: some.properties_raw,
}
