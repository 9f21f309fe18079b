"""The SQL92 expression of each consumer group on each topic: consumerFilter.json.

    heartbeat with an expression        -> alive; a newer subVersion replaces the expression
    heartbeat without the topic         -> dead
    the last member of the group leaves -> all filters of the group are dead
    dead for a day                      -> removed when the file is written
    too many operands in total          -> the dead are removed; if that is not enough, a new filter
                                           is refused, and its group's pulls are answered with that
    the broker starts                   -> all are dead until their groups come back

Rule: pulls of a group use its filter as long as it is in the table, dead or not. An expression
that cannot be compiled removes the old one, and pulls are then refused. An expression that is too
long for this broker is ignored when the file is read. A file that was written with another bloom
filter size is ignored, because its bits do not fit the bit maps of this broker.

Source: broker/filter/ConsumerFilterManager.java, ConsumerFilterData.java (4.9.7).
"""

import logging
from collections.abc import Collection, Iterable
from dataclasses import dataclass, field
from typing import Final

from mqserver.broker.config import BrokerConfig
from mqserver.broker.filters.bloom import BloomFilter
from mqserver.broker.filters.lexer import BadExpression, TooLong
from mqserver.broker.filters.sql import SQL92, Expression, compile_sql
from mqserver.broker.filters.tags import is_tag_type
from remoting.bodies import BloomFilterData, ConsumerFilterData, SubscriptionData
from remoting.errors import BadBody
from storefmt.config.fastjson import Json, Key, dumps, loads
from storefmt.config.jsonvalues import as_object, table_of
from storefmt.formats.properties import hashmap_order

LOG = logging.getLogger(__name__)

OPERANDS_IN_ALL_MAX: Final = 131_072
"""Operands of all expressions together; each takes up to 1 KB when it is compiled."""
_OPERANDS_MIN: Final = 4
"""Each filter counts as at least this many operands, for its memory besides the expression."""
_SILENCE_MS = 30_000
_TOPICS_EXPECTED = 384
"""Expected number of topics for which Java creates its map, which decides the order of the keys.
A map that Java reads from a file has no expected number."""


def compile_filter(text: str | None, kind: str | None, *, strict: bool) -> Expression:
    """Return the compiled expression of a subscription that is not of type TAG.

    Args:
        text: the expression.
        kind: the expression type.
        strict: refuse expressions of which the real broker ignores a part, and allow LIKE.

    Raises:
        BadExpression: there is no expression, it cannot be compiled, or the type is unknown.
    """
    if kind != SQL92:
        raise BadExpression(f"unknown filter type {kind}, expected TAG or {SQL92}")
    if not text:
        raise BadExpression(f"Expression can't be null! {kind}")
    return compile_sql(text, strict=strict)


@dataclass(slots=True)
class ConsumerFilter:
    """One group's expression on one topic."""

    data: ConsumerFilterData
    expression: Expression | None
    """None for an expression of the file that cannot be compiled; it accepts every message."""
    positions: list[int] = field(default_factory=list)
    """The bits of its group in the bit map of a message."""

    @property
    def is_dead(self) -> bool:
        """Return whether this filter is unused by the consumers of its group."""
        return self.data.dead_time >= self.data.born_time

    @property
    def operand_count(self) -> int:
        """Return how many operands it counts as."""
        return max(_OPERANDS_MIN, 0 if self.expression is None else self.expression.operand_count)


class FilterTable:
    """Every SQL92 filter of one broker.

    Args:
        config: the settings of filters.
        operands_max: the largest total of operands in all filters.
    """

    def __init__(self, config: BrokerConfig, *, operands_max: int = OPERANDS_IN_ALL_MAX) -> None:
        self.bloom = BloomFilter(
            config.max_error_rate_of_bloom_filter, config.expect_consumer_num_use_filter
        )
        """Gives each group its bits."""
        self._config = config
        self.change_count = 0
        """Increases with every change."""
        self._topics: dict[str, dict[str, ConsumerFilter]] = {}
        self._topics_expected = _TOPICS_EXPECTED
        self._operands_max = operands_max
        self._operand_count = 0

    def get(self, topic: str, group: str) -> ConsumerFilter | None:
        """Return a group's filter on a topic, or None."""
        return self._topics.get(topic, {}).get(group)

    def on_topic(self, topic: str) -> Collection[ConsumerFilter]:
        """Return every filter on a topic."""
        return self._topics.get(topic, {}).values()

    def register(
        self, group: str, subscriptions: Iterable[SubscriptionData], *, now_ms: int
    ) -> None:
        """Register the subscriptions of a group's heartbeat; filters on other topics are dead."""
        said = {subscription.topic: subscription for subscription in subscriptions}
        for subscription in said.values():
            if not is_tag_type(subscription.expression_type) and subscription.sub_string:
                self._register_filter(group, subscription, now_ms)
        for topic, groups in self._topics.items():
            consumer_filter = groups.get(group)
            if consumer_filter is not None and topic not in said and not consumer_filter.is_dead:
                self._die(consumer_filter, now_ms)

    def unregister(self, group: str, *, now_ms: int) -> None:
        """Mark all filters of a group as dead, because its last member has left."""
        for groups in self._topics.values():
            consumer_filter = groups.get(group)
            if consumer_filter is not None and not consumer_filter.is_dead:
                self._die(consumer_filter, now_ms)

    def _die(self, consumer_filter: ConsumerFilter, now_ms: int) -> None:
        consumer_filter.data.dead_time = now_ms
        self.change_count += 1

    def _register_filter(self, group: str, subscription: SubscriptionData, now_ms: int) -> None:
        topic, text = subscription.topic or "", subscription.sub_string
        kind, version = subscription.expression_type, subscription.sub_version
        groups = self._topics.setdefault(topic, {})
        old = groups.get(group)
        if old is not None and version <= old.data.client_version:
            if version == old.data.client_version and old.is_dead:
                old.data.dead_time = 0
                self.change_count += 1
            return
        self.change_count += 1
        positions = self.bloom.positions(f"{group}#{topic}")
        bits = BloomFilterData(bit_pos=positions, bit_num=self.bloom.bit_count)
        if old is not None and (
            (old.data.expression, old.data.expression_type) == (text, kind)
            and old.data.bloom_filter_data == bits
        ):
            old.data.client_version = version
            if old.is_dead:
                old.data.dead_time = 0
            return
        try:
            expression = compile_filter(text, kind, strict=self._config.strict_filters)
        except BadExpression as error:
            LOG.warning("group %s, topic %s: filter %r refused: %s", group, topic, text, error)
            self._remove(groups, group)
            return
        consumer_filter = ConsumerFilter(
            ConsumerFilterData(
                consumer_group=group,
                topic=topic,
                expression=text,
                expression_type=kind,
                born_time=now_ms,
                bloom_filter_data=bits,
                client_version=version,
            ),
            expression,
            positions,
        )
        self._remove(groups, group)
        if not self._has_room(consumer_filter.operand_count):
            LOG.warning(
                "group %s, topic %s: filter %r refused: all filters together have %d operands, "
                "the limit is %d", group, topic, text, self._operand_count, self._operands_max,
            )  # fmt: skip
            return
        if expression.ignored:
            LOG.warning(
                "group %s, topic %s: %r after the filter is ignored, as the real broker does; "
                "set strictFilters to refuse it", group, topic, expression.ignored,
            )  # fmt: skip
        self._operand_count += consumer_filter.operand_count
        groups[group] = consumer_filter

    def _remove(self, groups: dict[str, ConsumerFilter], group: str) -> None:
        removed = groups.pop(group, None)
        if removed is not None:
            self._operand_count -= removed.operand_count

    def _has_room(self, operand_count: int) -> bool:
        """Return whether there is room for more operands; remove dead filters if there is none."""
        if self._operand_count + operand_count > self._operands_max:
            for groups in self._topics.values():
                for name in [
                    name for name, consumer_filter in groups.items() if consumer_filter.is_dead
                ]:
                    self._remove(groups, name)
        return self._operand_count + operand_count <= self._operands_max

    # consumerFilter.json

    def encode(self, now_ms: int) -> str:
        """Remove filters that are dead for too long, and return the text of the file."""
        self._forget_dead(now_ms)
        table: dict[Key, Json] = {}
        for topic in hashmap_order(list(self._topics), peak_count=self._topics_expected):
            groups = self._topics[topic]
            filters: dict[Key, Json] = {
                group: groups[group].data.to_json() for group in hashmap_order(list(groups))
            }
            table[topic] = {"groupFilterData": filters, "topic": topic}
        return dumps({"filterDataByTopic": table}, pretty=True)

    def _forget_dead(self, now_ms: int) -> None:
        keep_ms = self._config.filter_data_clean_time_span_ms
        for topic, groups in list(self._topics.items()):
            for group, consumer_filter in list(groups.items()):
                if consumer_filter.is_dead and now_ms - consumer_filter.data.dead_time >= keep_ms:
                    self._remove(groups, group)
            if not groups:
                del self._topics[topic]

    def load(self, text: bytes, *, now_ms: int) -> None:
        """Load the filters of a file; all are dead until their groups come back.

        Raises:
            ConfigDamaged: the text is not the content of such a file.
        """
        topics: dict[str, dict[str, ConsumerFilter]] = {}
        for topic, content in table_of(as_object(loads(text), "the file"), "filterDataByTopic"):
            groups = topics[str(topic)] = {}
            for group, value in table_of(as_object(content, str(topic)), "groupFilterData"):
                try:
                    consumer_filter = self._loaded(ConsumerFilterData.from_json(value), now_ms)
                except (BadBody, TooLong) as error:
                    LOG.warning("ignored the filter of %s on %s: %s", group, topic, error)
                    continue
                if consumer_filter is None:
                    LOG.warning("ignored consumerFilter.json: its bloom filter has another size")
                    return
                groups[str(group)] = consumer_filter
        self._topics, self._topics_expected = topics, 0
        self._operand_count = sum(
            consumer_filter.operand_count
            for groups in topics.values()
            for consumer_filter in groups.values()
        )

    def _loaded(self, data: ConsumerFilterData, now_ms: int) -> ConsumerFilter | None:
        bits = data.bloom_filter_data
        if bits is None or not self.bloom.fits(bits.bit_pos, bits.bit_num):
            return None
        try:
            expression = compile_filter(
                data.expression, data.expression_type, strict=self._config.strict_filters
            )
        except TooLong:
            raise
        except BadExpression as error:
            LOG.warning("stored filter of %s on %s: %s", data.consumer_group, data.topic, error)
            expression = None
        if data.dead_time == 0:
            data.dead_time = max(data.born_time, now_ms - _SILENCE_MS)
        return ConsumerFilter(data, expression, list(bits.bit_pos or ()))
