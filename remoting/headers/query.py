"""Requests that look up messages by id or key.

They have a module of their own so that a look-up need not load the headers of sends.

Source: common/protocol/header (4.9.7).
"""

from dataclasses import dataclass

from remoting.header import Header, Int32, Int64


@dataclass(frozen=True, slots=True, kw_only=True)
class ViewMessage(Header):
    """Return the record at a commit log offset (request code 33)."""

    offset: Int64
    """The commit log offset of the record, in bytes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class QueryMessage(Header):
    """Find messages of a topic by a key or by their unique key (request code 12)."""

    topic: str
    key: str
    max_num: Int32
    begin_timestamp: Int64
    """The earliest store time, in ms since 1970."""
    end_timestamp: Int64
    """The latest store time, in ms since 1970."""


@dataclass(frozen=True, slots=True, kw_only=True)
class QueryMessageResponse(Header):
    """The broker returns how far its index reaches (request code 12); the records are the body."""

    index_last_update_timestamp: Int64
    """The store time of the last indexed message, in ms since 1970."""
    index_last_update_phyoffset: Int64
    """The commit log offset of the last indexed message, in bytes."""
