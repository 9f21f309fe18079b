"""Requests about transactions: a producer decides, and a broker asks for a decision.

Source: common/protocol/header (4.9.7).
"""

from dataclasses import dataclass

from remoting.header import Header, Int32, Int64
from remoting.headers.rpc import Rpc


@dataclass(frozen=True, slots=True, kw_only=True)
class EndTransaction(Rpc):
    """A producer commits or rolls back a half message (request code 37, oneway)."""

    producer_group: str
    tran_state_table_offset: Int64
    """The queue offset of the half message, in entries."""
    commit_log_offset: Int64
    """The commit log offset of the half message, in bytes."""
    commit_or_rollback: Int32
    """8 commits, 12 rolls back, and 0 means that the state is not known."""
    from_transaction_check: bool = False
    msg_id: str
    """The unique key that the client gave to the message."""
    transaction_id: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckTransactionState(Rpc):
    """A broker asks a producer to decide on a half message (request code 39, oneway)."""

    tran_state_table_offset: Int64
    """The queue offset of the half message, in entries."""
    commit_log_offset: Int64
    """The commit log offset of the half message, in bytes."""
    msg_id: str | None = None
    """The unique key that the client gave to the message."""
    transaction_id: str | None = None
    offset_msg_id: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ResumeCheckHalfMessage(Header):
    """Let the broker check a half message again that it has given up (request code 323).

    The broker then counts its checks of this message from 0.
    """

    msg_id: str | None = None
    """The offset id of the half message."""
