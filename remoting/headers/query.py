"""Messages out by id or key; apart from those that send, so that a look-up need not load them.

Source: common/protocol/header (4.9.7).
"""

from dataclasses import dataclass

from remoting.header import Header, Int32, Int64


@dataclass(frozen=True, slots=True, kw_only=True)
class ViewMessage(Header):
    """Read the one record at a commit log offset (request code 33)."""

    offset: Int64
    """Commit log offset, bytes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ViewMessageResponse(Header):
    """Answer to request code 33; the record is in the body."""


@dataclass(frozen=True, slots=True, kw_only=True)
class QueryMessage(Header):
    """Find messages of a topic by key or unique id (request code 12)."""

    topic: str
    key: str
    max_num: Int32
    begin_timestamp: Int64
    """Earliest store time, ms."""
    end_timestamp: Int64
    """Latest store time, ms."""


@dataclass(frozen=True, slots=True, kw_only=True)
class QueryMessageResponse(Header):
    """How far the index reaches; the records are in the body."""

    index_last_update_timestamp: Int64
    """Store time of the last indexed message, ms."""
    index_last_update_phyoffset: Int64
    """Commit log offset of the last indexed message, bytes."""
