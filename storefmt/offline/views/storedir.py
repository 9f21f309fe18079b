"""The entry point of this package: a store directory, opened read-only.

    with StoreDir.open("/data/rocketmq/store") as store:
        for item in store.records():
            ...
        store.find_message("7F0000010000557700000000000ABCDE")

Rule: read-only. Nothing is written, created or locked, so it works on a copy, on a
read-only mount, and beside a running broker.
"""

from collections.abc import Iterator
from functools import cached_property

from storefmt.config.tables import GroupTable, TopicTable
from storefmt.formats.message import Record
from storefmt.offline.views import lookup
from storefmt.offline.views.config import ConfigTables, read_config
from storefmt.offline.views.info import (
    FileView,
    GroupInfo,
    StoreInfo,
    group_infos,
    store_files,
    store_info,
)
from storefmt.offline.views.log_scan import LogItem
from storefmt.offline.views.store_view import StoreView


class StoreDir(StoreView):
    """One store directory, opened read-only with ``StoreDir.open(path)``."""

    def records(self, start: int | None = None, end: int | None = None) -> Iterator[LogItem]:
        """Yield the items of the commit log in order; damage is an item and not an error.

        Args:
            start: log offset (bytes) to begin at, ``end`` to stop before.
        """
        return self.log.items(start, end)

    def record_at(self, log_offset: int) -> Record:
        """Return the record at a log offset; errors as ``LogView.record_at``."""
        return self.log.record_at(log_offset)

    def find_message(self, message_id: str) -> Record:
        """Return the message with an offset id or a unique key.

        Raises:
            NotInStore: no record has it.
        """
        return lookup.find_message(self, message_id)

    def query_key(
        self,
        topic: str,
        key: str,
        *,
        begin_ms: int = 0,
        end_ms: int = lookup.TIME_MAX_MS,
        count_max: int = 64,
    ) -> list[Record]:
        """Return the newest messages of a topic with a key, in log order.

        See ``storefmt.offline.views.lookup.query_key``.
        """
        return lookup.query_key(
            self, topic, key, begin_ms=begin_ms, end_ms=end_ms, count_max=count_max
        )

    @cached_property
    def state(self) -> ConfigTables:
        """The state files of ``config/``, read once.

        Raises:
            StoreError: topics, groups and offsets are in RocksDB, which cannot be read: the
                package that reads it is missing, or it is damaged.
        """
        if self.unread_settings is not None:
            raise self.unread_settings
        return read_config(self)

    def topics(self) -> TopicTable:
        """Return the topics of topics.json; empty where there is none."""
        return self.state.topics

    def groups(self) -> GroupTable:
        """Return the groups of subscriptionGroup.json; empty where there is none."""
        return self.state.groups

    def offsets(self) -> dict[tuple[str, str], dict[int, int]]:
        """Return (topic, group) -> queue id -> next queue offset to read."""
        return self.state.offsets

    def group_offsets(self) -> list[GroupInfo]:
        """Return the position and the lag of each group in each of its queues."""
        return group_infos(self, self.state)

    def delay_offsets(self) -> dict[int, int]:
        """Return delay level -> next queue offset of its queue."""
        return self.state.delay_offsets

    def info(self) -> StoreInfo:
        """Return the summary of the store."""
        return store_info(self, read_config(self))

    def files(self) -> list[FileView]:
        """Return every file with the part of the store that it covers."""
        return list(store_files(self))
