"""The filter of a pull, as up to three tests of rising cost.

    queue entry ── codes(tags code) ──> ext unit ── by_bits(unit) ──> record ── by_properties
                    hash of the tag      bit map of the groups          SQL92

Rule: a message matches if every test that is present accepts it; a filter without tests accepts
every message. A message of a retry topic is tested with the filter of its real topic, but only if
filterSupportRetry is set, because each such message has to be read.

Source: broker/filter/ExpressionMessageFilter.java, ExpressionForRetryMessageFilter.java.
"""

import struct
from collections.abc import Callable
from typing import Final, NamedTuple

from mqserver.broker.filters.bloom import has_all
from mqserver.broker.filters.sql import OPERANDS_MAX, Expression
from mqserver.broker.filters.table import ConsumerFilter, FilterTable
from mqserver.broker.filters.tags import codes_of_subscription, is_tag_type
from mqserver.broker.filters.terms import Properties
from remoting.bodies import SubscriptionData
from storefmt.formats.consumequeue_ext import ExtUnit
from storefmt.formats.message import MAGIC_V2
from storefmt.formats.properties import RETRY_TOPIC, parse_properties
from storefmt.formats.sysflag import BORN_HOST_V6, STORE_HOST_V6
from storefmt.names import RETRY_PREFIX

_SIZE: Final = struct.Struct(">i")
_SIZE_SHORT: Final = struct.Struct(">H")
_BODY_POS_V4: Final = 84
_V6_MORE: Final = 12
# Measured cost of reading a record, parsing its properties and evaluating one operand, in units of
# about a microsecond.
_RECORD_WORK: Final = 4
_SIZE_PER_WORK: Final = 4_096
_PROPERTIES_SIZE_PER_WORK: Final = 10
OPERAND_WORK: Final = 2
OPERAND_SIZE: Final = 1_024
"""Measured memory of a compiled expression, in bytes for each of its operands."""
CODE_SIZE: Final = 96
"""The same for each tag code of a set."""


class MessageFilter(NamedTuple):
    """The tests of one pull; None accepts every message."""

    codes: frozenset[int] | None = None
    """The tag codes that match."""
    by_bits: Callable[[ExtUnit], bool] | None = None
    by_properties: Callable[[Properties], bool] | None = None
    operand_count: int = 0
    """Operands of the expression that ``by_properties`` evaluates."""
    size: int = 0
    """Memory in bytes, if only one pull has this filter."""

    def takes_unit(self, unit: ExtUnit) -> bool:
        """Return whether a message may match, judged by the bit map in its ext unit."""
        return self.by_bits is None or self.by_bits(unit)

    def takes_record(self, record: bytes) -> bool:
        """Return whether a record matches, judged by its properties."""
        test = self.by_properties
        return test is None or test(parse_properties(raw_properties(record)))

    def work_for(self, record: bytes) -> int:
        """Return the cost of ``takes_record`` for a record, in units of about a microsecond."""
        properties_size = len(raw_properties(record))
        return (
            _RECORD_WORK
            + len(record) // _SIZE_PER_WORK
            + properties_size // _PROPERTIES_SIZE_PER_WORK
            + self.operand_count * OPERAND_WORK
        )


EVERYTHING: Final = MessageFilter()


def carried_tags(codes: frozenset[int] | None) -> MessageFilter:
    """Return the filter for tags that a pull carries; None accepts every message."""
    return MessageFilter(codes, size=CODE_SIZE * len(codes or ()))


def carried_filter(expression: Expression) -> MessageFilter:
    """Return the filter for an expression that a pull carries."""
    count = expression.operand_count
    return MessageFilter(
        by_properties=expression.matches, operand_count=count, size=OPERAND_SIZE * count
    )


def registered_filter(consumer_filter: ConsumerFilter, table: FilterTable) -> MessageFilter:
    """Return the filter for an expression that a group sent in its heartbeats."""
    if consumer_filter.expression is None:
        return EVERYTHING
    positions, born_ms = consumer_filter.positions, consumer_filter.data.born_time
    size = table.bloom.bit_count // 8

    def by_bits(unit: ExtUnit) -> bool:
        # The bit map says nothing if the message is older than the filter or the sizes differ.
        if unit.store_ms <= born_ms or len(unit.bit_map) != size:
            return True
        return has_all(unit.bit_map, positions)

    return carried_filter(consumer_filter.expression)._replace(by_bits=by_bits, size=0)


def subscription_filter(
    subscription: SubscriptionData, consumer_filter: ConsumerFilter | None, table: FilterTable
) -> MessageFilter:
    """Return the filter for a subscription of a heartbeat, of any expression type."""
    if is_tag_type(subscription.expression_type):
        return MessageFilter(codes_of_subscription(subscription))
    if subscription.class_filter_mode or consumer_filter is None:
        return EVERYTHING
    return registered_filter(consumer_filter, table)


def with_retry(tests: MessageFilter, topic: str, table: FilterTable) -> MessageFilter:
    """Return the filter for a retry topic: each message is tested with its real topic's filter."""
    if not topic.startswith(RETRY_PREFIX):
        return tests
    group = topic[len(RETRY_PREFIX) :]

    def by_properties(properties: Properties) -> bool:
        consumer_filter = table.get(properties.get(RETRY_TOPIC, ""), group)
        if consumer_filter is None or consumer_filter.expression is None:
            return True
        return consumer_filter.expression.matches(properties)

    # Each message may have a different filter, so assume the largest one.
    return tests._replace(by_properties=by_properties, operand_count=OPERANDS_MAX)


def raw_properties(record: bytes) -> bytes:
    """Return the stored bytes of the properties of a whole record."""
    sys_flag = _SIZE.unpack_from(record, 36)[0]
    pos = _BODY_POS_V4
    if sys_flag & BORN_HOST_V6:
        pos += _V6_MORE
    if sys_flag & STORE_HOST_V6:
        pos += _V6_MORE
    pos += 4 + int(_SIZE.unpack_from(record, pos)[0])
    if _SIZE.unpack_from(record, 4)[0] == MAGIC_V2:
        pos += 2 + int(_SIZE_SHORT.unpack_from(record, pos)[0])
    else:
        pos += 1 + record[pos]
    size = int(_SIZE_SHORT.unpack_from(record, pos)[0])
    return record[pos + 2 : pos + 2 + size]
