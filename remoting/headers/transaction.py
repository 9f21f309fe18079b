"""Transactional messages: the decision, the question, the second chance.

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
    """Queue offset of the half message, in entries."""
    commit_log_offset: Int64
    """Commit log offset of the half message, bytes."""
    commit_or_rollback: Int32
    """8 commit, 12 roll back, 0 not known."""
    from_transaction_check: bool = False
    msg_id: str
    """The client's unique key."""
    transaction_id: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class EndTransactionResponse(Header):
    """Answer to request code 37; it is not sent, the request is oneway."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckTransactionState(Rpc):
    """A broker asks a producer to decide on a half message (request code 39, oneway)."""

    tran_state_table_offset: Int64
    """Queue offset of the half message, in entries."""
    commit_log_offset: Int64
    """Commit log offset of the half message, bytes."""
    msg_id: str | None = None
    """The client's unique key."""
    transaction_id: str | None = None
    offset_msg_id: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckTransactionStateResponse(Header):
    """A decision in the form of a response; 4.9 clients send code 37 instead."""

    producer_group: str
    tran_state_table_offset: Int64
    """Queue offset of the half message, in entries."""
    commit_log_offset: Int64
    """Commit log offset of the half message, bytes."""
    commit_or_rollback: Int32
    """8 commit, 12 roll back, 0 not known."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ResumeCheckHalfMessage(Header):
    """Put a given-up half message back with its check count at 0 (request code 323)."""

    msg_id: str | None = None
    """Offset id of the half message."""
