"""Settings of the store, under RocketMQ's own names.

Rule: an attribute is the snake_case form of a key of MessageStoreConfig, unless its ``key``
metadata names another key; units and limits are Java's. When a store is opened, file sizes
found on disk override the configured ones, and the recovery report says so.

Source: store/config/MessageStoreConfig.java.
"""

from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Final

from storefmt.errors import BadCall
from storefmt.formats.consumequeue import ENTRY_SIZE
from storefmt.names import parse_delay_levels

EXT_FILE_SIZE: Final = 48 << 20


class FlushDiskType(StrEnum):
    """When a message counts as stored, and consumers may see it."""

    ASYNC_FLUSH = "ASYNC_FLUSH"
    """When it is written; it is on the disk up to ``flush_interval_commit_log_ms`` later."""
    SYNC_FLUSH = "SYNC_FLUSH"
    """When it is on the disk."""


def _key(name: str) -> dict[str, str]:
    return {"key": name}


@dataclass(slots=True, kw_only=True)
class StoreConfig:
    """The settings that a store needs before it opens a directory."""

    store_path_root_dir: Path
    """The directory of the store."""
    mapped_file_size_commit_log: int = 1 << 30
    """Bytes of one commit log file."""
    mapped_file_size_consume_queue: int = 6_000_000
    """Bytes of one consume queue file; rounded up to whole entries of 20."""
    enable_consume_queue_ext: bool = False
    """Write a unit with a bit map of matching filters for each message, beside its queue entry."""
    mapped_file_size_consume_queue_ext: int = EXT_FILE_SIZE
    """Bytes of one file of queue extension units."""
    bit_map_length_consume_queue_ext: int = 64
    """Bits in each bit map; the broker sets the size that its bloom filter needs, as in Java."""
    max_hash_slot_num: int = 5_000_000
    """Hash slots of one index file; existing files keep the number that they have."""
    max_index_num: int = 20_000_000
    """Entries of one index file; existing files keep the number that they have."""
    message_index_enable: bool = True
    """Index the keys of messages, so that they can be queried."""
    flush_disk_type: FlushDiskType = FlushDiskType.ASYNC_FLUSH
    """ASYNC_FLUSH acknowledges a message when it is written, SYNC_FLUSH when it is on the disk."""
    flush_interval_commit_log_ms: int = field(default=500, metadata=_key("flushIntervalCommitLog"))
    """How often in ms the log is synced with ASYNC_FLUSH."""
    flush_commit_log_least_pages: int = 0
    """Pages (4 KiB) that must be unsynced before the log is flushed, unless the thorough interval
    is over. Java's default is 4, with which a power cut may lose ten seconds of a slow stream."""
    flush_commit_log_thorough_interval_ms: int = field(
        default=10_000, metadata=_key("flushCommitLogThoroughInterval")
    )
    """The time in ms after which the log is synced however few pages are waiting."""
    sync_flush_timeout_ms: int = field(default=5_000, metadata=_key("syncFlushTimeout"))
    """How long a message waits for the disk before it is answered FLUSH_DISK_TIMEOUT."""
    warm_maped_file_enable: bool = False
    """Write zeros over each log file that is allocated ahead, so that its blocks are in place."""
    flush_least_pages_when_warm_maped_file: int = 4096
    """Pages (4 KiB) of zeros that warmMapedFileEnable writes between two syncs."""
    os_page_cache_busy_time_out_ms: int = field(
        default=1_000, metadata=_key("osPageCacheBusyTimeOutMills")
    )
    """Duration of one disk sync from which sends are refused (response code 2)."""
    flush_interval_consume_queue_ms: int = field(
        default=1000, metadata=_key("flushIntervalConsumeQueue")
    )
    """How often queue entries and index entries are written from memory to the page cache."""
    flush_consume_queue_thorough_interval_ms: int = field(
        default=60_000, metadata=_key("flushConsumeQueueThoroughInterval")
    )
    """How often queues are synced and the checkpoint advances."""
    max_message_size: int = 4 << 20
    """Bytes of one stored body; a whole record may be 64 KiB larger."""
    max_transfer_bytes_on_message_in_memory: int = 256 << 10
    """The most bytes in the answer to one pull of recent messages."""
    max_transfer_count_on_message_in_memory: int = 32
    """The most messages in the answer to one pull of recent messages."""
    max_transfer_bytes_on_message_in_disk: int = 64 << 10
    """The most bytes in the answer to one pull of messages that count as "in disk"
    (accessMessageInMemoryMaxRatio)."""
    max_transfer_count_on_message_in_disk: int = 8
    """The most messages in the answer to one pull of messages that count as "in disk"."""
    access_message_in_memory_max_ratio: int = 40
    """Percent of the machine's memory; data further than that behind the log's end counts as
    "in disk"."""
    max_msgs_num_batch: int = 64
    """The largest number of messages that one query by key returns."""
    file_reserved_time_h: int = field(default=72, metadata=_key("fileReservedTime"))
    """Hours that a commit log file is kept after its last message."""
    delete_when: str = "04"
    """Hours of the day (local time) in which expired files are deleted, separated by ;"""
    disk_max_used_space_ratio: int = 75
    """Percentage of disk use above which expired files are deleted at any hour."""
    disk_space_clean_forcibly_ratio: int = 85
    """Percentage of disk use above which cleanFileForciblyEnable deletes unexpired files as
    well."""
    disk_space_warning_level_ratio: int = 90
    """Percentage of disk use above which messages are refused."""
    clean_file_forcibly_enable: bool = False
    """Delete unexpired files rather than refuse messages; the default is true in Java."""
    clean_resource_interval_ms: int = field(default=10_000, metadata=_key("cleanResourceInterval"))
    """The time in ms between two looks for files to delete."""
    delete_commit_log_files_interval_ms: int = field(
        default=100, metadata=_key("deleteCommitLogFilesInterval")
    )
    """The pause in ms between the deletions of two commit log files."""
    delete_consume_queue_files_interval_ms: int = field(
        default=100, metadata=_key("deleteConsumeQueueFilesInterval")
    )
    """The pause in ms between the deletions of two queue files or index files."""
    start_with_lost_commit_log: bool = False
    """Extension: start although the commit log is not the one from which the queues were made, and
    empty the queues. Without this setting such a start stops and says what it found."""
    enable_multi_dispatch: bool = False
    """Add queue entries for the other topics that a message names in INNER_MULTI_DISPATCH."""
    enable_lmq: bool = False
    """Treat topics that begin with %LMQ% as light queues, which need not be created."""
    max_lmq_consume_queue_num: int = 20_000
    """The most light queues; a message that would create one more is refused."""
    message_delay_level: str = "1s 5s 10s 30s 1m 2m 3m 4m 5m 6m 7m 8m 9m 10m 20m 30m 1h 2h"
    """The delay of each level, level 1 first, joined by blanks."""

    timer_wheel_enable: bool = True
    """Extension: deliver messages with TIMER_DELIVER_MS, TIMER_DELAY_SEC or TIMER_DELAY_MS at
    their time, as 5.x does; 4.9 delivers them at once."""
    timer_precision_ms: int = 1000
    """Extension: the length of one slot of the timer wheel, as in 5.x."""
    timer_roll_window_slot: int = 172_800
    """Extension: slots that a message may wait before it is stored again, as in 5.x."""
    timer_max_delay_s: int = field(default=259_200, metadata=_key("timerMaxDelaySec"))
    """Extension: the longest delay of a timer message, as in 5.x."""
    timer_flush_interval_ms: int = 1000
    """Extension: how often the files of the timer wheel are written and synced, as in 5.x."""
    mapped_file_size_timer_log: int = 100 << 20
    """Extension: bytes of one file of the timer log, as in 5.x."""

    @property
    def consume_queue_file_size(self) -> int:
        """Return the bytes of a consume queue file, rounded up to whole entries."""
        return -(-self.mapped_file_size_consume_queue // ENTRY_SIZE) * ENTRY_SIZE

    @property
    def record_size_max(self) -> int:
        """Return the largest record that is stored, in bytes."""
        return self.max_message_size + (64 << 10)

    @property
    def warm_size(self) -> int:
        """Return how many bytes of zeros are written between syncs while warming; 0 if disabled."""
        return self.flush_least_pages_when_warm_maped_file * 4096 * self.warm_maped_file_enable

    @property
    def is_sync_flush(self) -> bool:
        """Return whether a message is acknowledged only once it is on the disk."""
        return self.flush_disk_type is FlushDiskType.SYNC_FLUSH

    def delete_hours(self) -> frozenset[int]:
        """Return the hours of the day in which expired files are deleted.

        Raises:
            ValueError: a part of ``delete_when`` is not an hour.
        """
        parts = [part.strip() for part in self.delete_when.split(";") if part.strip()]
        for part in parts:
            if not part.isdecimal() or int(part) > 23:
                raise ValueError(f"deleteWhen part {part!r}; expected hours 00 to 23 joined by ;")
        return frozenset(int(part) for part in parts)

    def delays_ms(self) -> tuple[int, ...]:
        """Return the delay in ms of each delay level, the first one being level 1.

        Raises:
            ValueError: a part of ``message_delay_level`` is not a number with a unit.
        """
        try:
            return parse_delay_levels(self.message_delay_level)
        except BadCall as error:
            raise ValueError(f"messageDelayLevel: {error}") from error
