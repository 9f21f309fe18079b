"""Bit maps of messages: which of the registered filters each message matches.

    stored message ──> each filter on its topic: does it match? ──> its bits are set

Rule: all filters of a topic are evaluated, including those of dead groups, so that the bits are
right for a group that comes back. A topic has no bit maps if it has no filters or if its filters
together have too many operands; then each pull evaluates its own expression.

Source: broker/filter/CommitLogDispatcherCalcBitMap.java (4.9.7).
"""

from collections.abc import Callable
from typing import Final

from mqserver.broker.filters.bloom import bit_map
from mqserver.broker.filters.messagefilter import raw_properties
from mqserver.broker.filters.table import FilterTable
from mqserver.store.results import DispatchEntry
from storefmt.formats.properties import parse_properties

BIT_MAP_OPERANDS_MAX: Final = 2_048
"""Largest total of operands in the filters of a topic; beyond it the topic has no bit maps."""


class BitMaps:
    """Calculates the bit maps of one broker.

    Args:
        table: the registered filters.
        read_record: returns the record at a log offset.
    """

    def __init__(self, table: FilterTable, *, read_record: Callable[[int], bytes | None]) -> None:
        self._table = table
        self._read_record = read_record

    def of(self, entry: DispatchEntry) -> bytes:
        """Return the bit map of a stored message, or b"" if its topic has no bit maps.

        Raises:
            OSError: the message cannot be read.
        """
        filters = self._table.on_topic(entry.topic)
        operand_count = sum(
            consumer_filter.expression.operand_count
            for consumer_filter in filters
            if consumer_filter.expression is not None
        )
        if operand_count > BIT_MAP_OPERANDS_MAX:
            return b""
        record = self._read_record(entry.log_offset) if filters else None
        if record is None:
            return b""
        properties = parse_properties(raw_properties(record))
        matched = [
            position
            for consumer_filter in filters
            if consumer_filter.expression is not None
            and consumer_filter.expression.matches(properties)
            for position in consumer_filter.positions
        ]
        return bit_map(self._table.bloom.bit_count, matched)
