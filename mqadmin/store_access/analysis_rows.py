"""Rows that a ``store`` command and the pipeline's job of the same name both print."""

from dataclasses import dataclass
from typing import Final

from mqadmin.output.rows import EpochMs, Row, Share

EVENTS_DETAILS: Final = (
    "Events are pauses, clocks that were set back, deleted log files, how far the store was "
    "flushed, and whether a broker died with it open. Each event names the message that proves "
    "it."
)


@dataclass(frozen=True, slots=True, kw_only=True)
class FindingRow(Row):
    """One thing that is not as it should be; ``offset`` is the byte in ``file``."""

    kind: str
    severity: str
    file: str
    offset: int
    field: str
    found: str
    expected: str
    hint: str
    size: int
    count: int


@dataclass(frozen=True, slots=True, kw_only=True)
class DiffRow(Row):
    """The log, or one queue that is not the same.

    ``kind`` log: ranges in bytes, ``first`` is the first byte of the log that both have and
    that differs, ``changed`` the bytes behind it, ``only_a`` and ``only_b`` the bytes that one
    log has before or behind the other. ``kind`` queue: the same in entries. -1 for none.
    """

    kind: str
    same: bool
    topic: str
    queue_id: int
    a_min: int
    a_max: int
    b_min: int
    b_max: int
    only_a: int
    only_b: int
    changed: int
    first: int


@dataclass(frozen=True, slots=True, kw_only=True)
class SpanRow(Row):
    """The messages of one span of time; ``relative`` is its part of the fullest span."""

    start_ms: EpochMs
    end_ms: EpochMs
    count: int
    bytes: int
    relative: Share
    first_ms: EpochMs
    last_ms: EpochMs


@dataclass(frozen=True, slots=True, kw_only=True)
class EventRow(Row):
    """One thing that happened to a store, at the time of the message that proves it.

    ``log_offset`` is of that message, -1 where none is meant; ``span_ms`` is how long a pause
    was, or how far a clock went back, 0 for others.
    """

    at_ms: EpochMs
    kind: str
    log_offset: int
    span_ms: int
    detail: str
