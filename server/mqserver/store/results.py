"""The values that a store takes and returns.

Rule: values only, no behaviour. The statuses have Java's names, because the status of a
get is sent to clients as text.

Source: store/PutMessageStatus.java, store/GetMessageStatus.java, store/GetMessageResult.java,
store/QueryMessageResult.java, store/DispatchRequest.java (4.9.7).
"""

from dataclasses import dataclass, field
from enum import StrEnum
from typing import NamedTuple

Chunk = bytes | memoryview
"""Whole records, one right after another."""


@dataclass(slots=True, kw_only=True)
class PutMessage:
    """One message to store, with every field that the store does not assign itself.

    A host is packed: 4 or 16 address bytes and an int32 port. ``keys`` are the index keys
    without the topic: the unique key first, then the user's keys in their order.
    """

    topic: str
    topic_bytes: bytes
    queue_id: int
    body: Chunk
    properties: bytes
    flag: int = 0
    sys_flag: int = 0
    born_ms: int
    born_host: bytes
    store_host: bytes
    reconsume_times: int = 0
    prepared_transaction_offset: int = 0
    tags_code: int = 0
    keys: tuple[str, ...] = ()


class RunMessage(NamedTuple):
    """The fields in which one message of a ``PutRun`` differs from the others."""

    body: bytes | memoryview
    properties: bytes
    flag: int
    tags_code: int
    keys: tuple[str, ...]


@dataclass(slots=True)
class PutRun:
    """Messages of one request for one queue; fields are named as in ``PutMessage``."""

    topic: str
    topic_bytes: bytes
    queue_id: int
    sys_flag: int
    born_ms: int
    born_host: bytes
    store_host: bytes
    reconsume_times: int
    messages: list[RunMessage]


class PutStatus(StrEnum):
    """How a put ended."""

    PUT_OK = "PUT_OK"
    FLUSH_DISK_TIMEOUT = "FLUSH_DISK_TIMEOUT"
    FLUSH_SLAVE_TIMEOUT = "FLUSH_SLAVE_TIMEOUT"
    SLAVE_NOT_AVAILABLE = "SLAVE_NOT_AVAILABLE"
    SERVICE_NOT_AVAILABLE = "SERVICE_NOT_AVAILABLE"
    CREATE_MAPPED_FILE_FAILED = "CREATE_MAPEDFILE_FAILED"
    MESSAGE_ILLEGAL = "MESSAGE_ILLEGAL"
    PROPERTIES_SIZE_EXCEEDED = "PROPERTIES_SIZE_EXCEEDED"
    OS_PAGE_CACHE_BUSY = "OS_PAGECACHE_BUSY"
    LMQ_CONSUME_QUEUE_NUM_EXCEEDED = "LMQ_CONSUME_QUEUE_NUM_EXCEEDED"
    UNKNOWN_ERROR = "UNKNOWN_ERROR"


class PutResult(NamedTuple):
    """Where a message will be stored; it is not stored until the next ``write`` has returned."""

    status: PutStatus
    queue_offset: int
    log_offset: int
    size: int


class RunResult(NamedTuple):
    """Where the messages of a ``PutRun`` will be stored once the next ``write`` has returned."""

    status: PutStatus
    queue_offset: int
    """Queue offset of the first message; the others follow one by one."""
    log_offsets: list[int]
    size: int


class DispatchEntry(NamedTuple):
    """One stored record, as it is reported to everything that follows the log.

    A copy in a queue of another topic (multi-dispatch) has its own entry, right after
    that of its record, with the same log offset and no keys.
    """

    topic: str
    queue_id: int
    queue_offset: int
    log_offset: int
    size: int
    tags_code: int
    store_ms: int
    sys_flag: int
    keys: tuple[str, ...]


class GetStatus(StrEnum):
    """How a get ended; the value is the remark of the response."""

    FOUND = "FOUND"
    NO_MATCHED_MESSAGE = "NO_MATCHED_MESSAGE"
    MESSAGE_WAS_REMOVING = "MESSAGE_WAS_REMOVING"
    OFFSET_FOUND_NULL = "OFFSET_FOUND_NULL"
    OFFSET_OVERFLOW_BADLY = "OFFSET_OVERFLOW_BADLY"
    OFFSET_OVERFLOW_ONE = "OFFSET_OVERFLOW_ONE"
    OFFSET_TOO_SMALL = "OFFSET_TOO_SMALL"
    NO_MATCHED_LOGIC_QUEUE = "NO_MATCHED_LOGIC_QUEUE"
    NO_MESSAGE_IN_QUEUE = "NO_MESSAGE_IN_QUEUE"


@dataclass(slots=True)
class GetResult:
    """Whole records of one queue, in order; one chunk may hold several records."""

    status: GetStatus
    chunks: list[Chunk]
    count: int
    next_offset: int
    """The queue offset to ask for next."""
    min_offset: int
    max_offset: int
    suggest_slave: bool = False
    """The messages are so far behind the log's end that a slave should serve them."""


@dataclass(slots=True)
class RecoveryReport:
    """What was found and done when a directory was opened, for the log and for operators."""

    clean: bool = True
    """The last broker shut down properly."""
    scanned_size: int = 0
    """Bytes of commit log that were read record by record."""
    record_count: int = 0
    checked_reads: int = 0
    """Reads that checked queue files against the safe point."""
    log_end: int = 0
    """Log offset at the end of the last record."""
    cut_size: int = 0
    """Bytes of a torn tail that were erased."""
    damaged: list[tuple[int, int]] = field(default_factory=list)
    """(log offset, size) of each range of the log that is not a record; nothing was erased."""
    rebuilt_queues: list[tuple[str, int]] = field(default_factory=list)
    """(topic, queue id) of each consume queue that did not match the log."""
    rebuilt_index_files: int = 0
    notes: list[str] = field(default_factory=list)
    """Further lines for the log."""
