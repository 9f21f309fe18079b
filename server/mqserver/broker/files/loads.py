"""Read the JSON files of a store directory when a broker starts; ``saves`` writes them.

Rule: if a file and its ``.bak`` both cannot be read, the broker does not start. If neither exists,
the table is empty. In a store that was used before, a missing file is reported, because this
broker writes all of them when it starts.

Source: common/ConfigManager.java#load, broker/BrokerController.java#initialize.
"""

from collections.abc import Iterator
from typing import Final, NamedTuple

from mqserver.runtime.jsonfile import load_state_file
from mqserver.store.store_config import StoreConfig
from remoting.bodies import MessageRequestModeSerializeWrapper
from remoting.errors import BadBody
from storefmt.config.fastjson import loads
from storefmt.config.tables import (
    ConsumerOffsets,
    DelayOffsets,
    GroupTable,
    TopicChanges,
    TopicTable,
)
from storefmt.errors import ConfigDamaged
from storefmt.paths import StorePaths


class StoredTables(NamedTuple):
    """The content of the JSON files of the store directory; None for a missing file."""

    topics: TopicTable | None = None
    groups: GroupTable | None = None
    offsets: ConsumerOffsets | None = None
    delay_offsets: DelayOffsets | None = None
    filters: bytes | None = None
    """The text of consumerFilter.json."""
    request_modes: MessageRequestModeSerializeWrapper | None = None


_LOSSES: Final = {
    "topics": "topics are unknown until they are created again, with default settings",
    "subscriptionGroup": "all consumer groups have the default settings",
    "consumerOffset": "no group has an offset, so each starts where its clients choose",
    "delayOffset": "delayed messages that are still in the store are delivered again",
}
"""The effect of losing each file. Losing consumerFilter.json has none, because consumers send their
expressions again."""


def offset_files(config: StoreConfig) -> tuple[str, str]:
    """Return the file of consumer offsets, then the one that the opposite enableLmq uses."""
    names = ("lmqConsumerOffset.json", "consumerOffset.json")
    return names if config.enable_lmq else names[::-1]


def load_state(paths: StorePaths, config: StoreConfig) -> StoredTables:
    """Return the content of the JSON files.

    Raises:
        ConfigDamaged: a file and its ``.bak`` are both unreadable.
        OSError: a damaged file that has a good ``.bak`` cannot be moved aside.
    """
    offsets = None
    for name in offset_files(config):
        offsets = offsets or load_state_file(paths.config_file(name), ConsumerOffsets.decode)
    topics = load_state_file(paths.config_file("topics.json"), TopicTable.decode)
    changes = load_state_file(paths.config_file("topicChanges.json"), TopicChanges.decode)
    if topics is not None and changes is not None:
        topics.apply(changes)
    return StoredTables(
        topics=topics,
        groups=load_state_file(paths.config_file("subscriptionGroup.json"), GroupTable.decode),
        offsets=offsets,
        delay_offsets=load_state_file(paths.config_file("delayOffset.json"), DelayOffsets.decode),
        filters=load_state_file(paths.config_file("consumerFilter.json"), _filter_text),
        request_modes=load_state_file(paths.config_file("messageRequestMode.json"), _request_modes),
    )


def missing_files(stored: StoredTables) -> Iterator[str]:
    """Yield the name of each missing file, by which ``StateFiles`` knows it."""
    tables = stored.topics, stored.groups, stored.offsets, stored.delay_offsets, stored.filters
    for name, table in zip((*_LOSSES, "consumerFilter"), tables, strict=True):
        if table is None:
            yield name


def loss_warnings(paths: StorePaths, stored: StoredTables, config: StoreConfig) -> Iterator[str]:
    """Yield a warning for each file that a used store lacks together with its ``.bak``."""
    for name in missing_files(stored):
        if name in _LOSSES:
            own = offset_files(config)[0] if name == "consumerOffset" else f"{name}.json"
            path = paths.config_file(own)
            yield (
                f"{path} and {path.name}.bak are missing, but the store has been used before: "
                f"{_LOSSES[name]}; if you have a copy, stop this broker and restore it"
            )


def _request_modes(data: bytes) -> MessageRequestModeSerializeWrapper:
    """Return the content of messageRequestMode.json, which only exists once a mode was set."""
    try:
        return MessageRequestModeSerializeWrapper.decode(data)
    except BadBody as error:
        raise ConfigDamaged(str(error)) from None


def _filter_text(data: bytes) -> bytes:
    """Return the text of consumerFilter.json; raise ConfigDamaged if it is not JSON."""
    loads(data)
    return data
