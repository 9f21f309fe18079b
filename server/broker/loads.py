"""Reads the JSON files of a store directory when a broker starts; saves.py writes them.

Rule: a file that is not there is an empty table, one that cannot be read ends the start.

Source: common/ConfigManager.java#load.
"""

from server.broker.fromsettings import Stored
from server.store.config import StoreConfig
from storefmt.configs import ConsumerOffsets, DelayOffsets, GroupTable, TopicTable, load_config
from storefmt.fastjson import loads
from storefmt.paths import StorePaths


def offset_files(config: StoreConfig) -> tuple[str, str]:
    """Return the file of consumer offsets, and the one that another enableLmq has filled."""
    names = ("lmqConsumerOffset.json", "consumerOffset.json")
    return names if config.enable_lmq else names[::-1]


def load_state(paths: StorePaths, config: StoreConfig) -> Stored:
    """Return what the JSON files hold.

    Raises:
        ConfigDamaged: a file and its copy are both unreadable.
    """
    offsets = None
    for name in offset_files(config):
        offsets = offsets or load_config(paths.config_file(name), ConsumerOffsets.decode)
    return Stored(
        topics=load_config(paths.config_file("topics.json"), TopicTable.decode),
        groups=load_config(paths.config_file("subscriptionGroup.json"), GroupTable.decode),
        offsets=offsets,
        delay_offsets=load_config(paths.config_file("delayOffset.json"), DelayOffsets.decode),
        filters=load_config(paths.config_file("consumerFilter.json"), _filter_text),
    )


def _filter_text(data: bytes) -> bytes:
    """Return the text of consumerFilter.json; ConfigDamaged where it is no JSON."""
    loads(data)
    return data
