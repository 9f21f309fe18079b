"""Reads the JSON files of a store directory when a broker starts; saves.py writes them.

Rule: a file that is there and cannot be read, nor its ``.bak``, ends the start. Where neither
is there the table is empty; in a store that was used before, that is told: every broker of ours
writes all of them when it starts.

Source: common/ConfigManager.java#load, broker/BrokerController.java#initialize.
"""

from collections.abc import Iterator
from typing import Final, NamedTuple

from server.broker.config import BrokerConfig
from server.broker.delay.schedule import DelayLevels
from server.broker.filters.bloom import BloomFilter
from server.broker.filters.table import FilterTable
from server.broker.topics import BuiltIn
from server.runtime.jsonfile import load_state_file
from server.store.config import StoreConfig
from storefmt.config.fastjson import loads
from storefmt.config.tables import ConsumerOffsets, DelayOffsets, GroupTable, TopicTable
from storefmt.paths import StorePaths


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


_LOSSES: Final = {
    "topics": "topics are unknown until they are made again, with default settings",
    "subscriptionGroup": "settings of consumer groups are the defaults",
    "consumerOffset": "no group has a position, each begins where its clients say",
    "delayOffset": "delayed messages that are still kept are delivered again",
}
"""What is lost with a file. Consumers tell the expressions of consumerFilter.json again."""


def offset_files(config: StoreConfig) -> tuple[str, str]:
    """Return the file of consumer offsets, and the one that another enableLmq has filled."""
    names = ("lmqConsumerOffset.json", "consumerOffset.json")
    return names if config.enable_lmq else names[::-1]


def load_state(paths: StorePaths, config: StoreConfig) -> Stored:
    """Return what the JSON files hold.

    Raises:
        ConfigDamaged: a file and its copy are both unreadable.
        OSError: a damaged file that has a good copy cannot be put aside.
    """
    offsets = None
    for name in offset_files(config):
        offsets = offsets or load_state_file(paths.config_file(name), ConsumerOffsets.decode)
    return Stored(
        topics=load_state_file(paths.config_file("topics.json"), TopicTable.decode),
        groups=load_state_file(paths.config_file("subscriptionGroup.json"), GroupTable.decode),
        offsets=offsets,
        delay_offsets=load_state_file(paths.config_file("delayOffset.json"), DelayOffsets.decode),
        filters=load_state_file(paths.config_file("consumerFilter.json"), _filter_text),
    )


def absent(stored: Stored) -> Iterator[str]:
    """Yield the name of each file that is not there, as its broker declares it."""
    tables = stored.topics, stored.groups, stored.offsets, stored.delay_offsets, stored.filters
    for name, table in zip((*_LOSSES, "consumerFilter"), tables, strict=True):
        if table is None:
            yield name


def losses(paths: StorePaths, stored: Stored, config: StoreConfig) -> Iterator[str]:
    """Yield what to tell of each file that a store in use has lost with its copy."""
    for name in absent(stored):
        if name in _LOSSES:
            own = offset_files(config)[0] if name == "consumerOffset" else f"{name}.json"
            path = paths.config_file(own)
            yield (
                f"{path} and {path.name}.bak are not there, but the store was used before: "
                f"{_LOSSES[name]}; if there is a copy, stop this broker and put it back"
            )


def _filter_text(data: bytes) -> bytes:
    """Return the text of consumerFilter.json; ConfigDamaged where it is no JSON."""
    loads(data)
    return data
