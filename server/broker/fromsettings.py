"""Tables of a broker as its settings and its state files make them.

Source: broker/BrokerController.java#initialize.
"""

from typing import NamedTuple

from server.broker.config import BrokerConfig
from server.broker.delay import DelayLevels
from server.broker.filters.bloom import BloomFilter
from server.broker.filters.table import FilterTable
from server.broker.topics import BuiltIn
from storefmt.config.tables import ConsumerOffsets, DelayOffsets, GroupTable, TopicTable


class Stored(NamedTuple):
    """What the JSON files of the store directory held; None for a file that is not there."""

    topics: TopicTable | None = None
    groups: GroupTable | None = None
    offsets: ConsumerOffsets | None = None
    delay_offsets: DelayOffsets | None = None
    filters: bytes | None = None
    """The text of consumerFilter.json."""


def filter_table(config: BrokerConfig, stored: Stored, *, now_ms: int) -> FilterTable:
    """Return the table of registered filters, with what the last run knew."""
    table = FilterTable(
        BloomFilter(config.max_error_rate_of_bloom_filter, config.expect_consumer_num_use_filter),
        keep_ms=config.filter_data_clean_time_span_ms,
        strict=config.strict_filters,
    )
    if stored.filters is not None:
        table.load(stored.filters, now_ms=now_ms)
    return table


def built_in(config: BrokerConfig, levels: DelayLevels) -> BuiltIn:
    """Return what the settings say of the topics that every broker has."""
    return BuiltIn(
        broker_name=config.broker_name,
        cluster_name=config.broker_cluster_name,
        queue_count=config.default_topic_queue_nums,
        auto_create=config.auto_create_topic_enable,
        broker_topic=config.broker_topic_enable,
        cluster_topic=config.cluster_topic_enable,
        trace_topic=config.msg_trace_topic_name if config.trace_topic_enable else None,
        schedule_queue_count=max(18, levels.highest),
        has_light=config.store.enable_lmq,
    )
