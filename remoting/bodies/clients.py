"""Bodies about connected clients, and about the state that a consumer reports of itself.

Source: common/protocol/body (4.9.7).
"""

from dataclasses import dataclass, field
from enum import Enum

from remoting.bodies.base import Body
from remoting.bodies.heartbeat import (
    ConsumeFromWhere,
    ConsumeType,
    MessageModel,
    SubscriptionData,
)
from remoting.bodies.queues import MessageQueue
from remoting.codes import LanguageCode
from remoting.header import key


@dataclass(slots=True, kw_only=True)
class Connection(Body):
    """The connection of one member of a group."""

    client_id: str | None = None
    client_addr: str | None = None
    """The address of the client as the broker sees it, ``ip:port``."""
    language: LanguageCode | None = None
    version: int = 0
    """The MQVersion of the client."""


@dataclass(slots=True, kw_only=True)
class ProducerConnection(Body):
    """The broker returns the members of a producer group (request code 204)."""

    connection_set: list[Connection] = field(default_factory=list)


@dataclass(slots=True, kw_only=True)
class ConsumerConnection(Body):
    """The broker returns the members and subscriptions of a consumer group (request code 203)."""

    connection_set: list[Connection] = field(default_factory=list)
    subscription_table: dict[str, SubscriptionData] = field(default_factory=dict)
    consume_type: ConsumeType | None = None
    message_model: MessageModel | None = None
    consume_from_where: ConsumeFromWhere | None = None


@dataclass(slots=True, kw_only=True)
class ProducerInfo(Body):
    """One connection of a producer group."""

    client_id: str | None = None
    remote_ip: str | None = field(default=None, metadata=key("remoteIP"))
    """The address as ``/ip:port``, with a slash in front."""
    language: LanguageCode | None = None
    version: int = 0
    last_update_timestamp: int = 0
    """When the last heartbeat arrived, in ms since 1970."""


@dataclass(slots=True, kw_only=True)
class ProducerTableInfo(Body):
    """The broker returns all its producer groups (request code 328)."""

    data: dict[str, list[ProducerInfo]] = field(default_factory=dict)
    """The connections of each producer group, by group name."""


@dataclass(slots=True, kw_only=True)
class ProcessQueueInfo(Body):
    """The state of one queue in a consumer: its cached messages, its lock and its last uses.

    Offsets count entries of the queue, and times are in ms since 1970.
    """

    commit_offset: int = 0
    cached_msg_min_offset: int = 0
    cached_msg_max_offset: int = 0
    cached_msg_count: int = 0
    cached_msg_size_in_mib: int = field(default=0, metadata=key("cachedMsgSizeInMiB"))
    transaction_msg_min_offset: int = 0
    transaction_msg_max_offset: int = 0
    transaction_msg_count: int = 0
    locked: bool = False
    try_unlock_times: int = 0
    last_lock_timestamp: int = 0
    droped: bool = False
    """True when the queue was given to another member; the spelling is Java's."""
    last_pull_timestamp: int = 0
    last_consume_timestamp: int = 0


@dataclass(slots=True, kw_only=True)
class ConsumeStatus(Body):
    """The speed of a consumer in one topic.

    ``pull_rt`` and ``consume_rt`` are in ms, and every ``tps`` counts messages per second.
    """

    pull_rt: float = field(default=0.0, metadata=key("pullRT"))
    pull_tps: float = field(default=0.0, metadata=key("pullTPS"))
    consume_rt: float = field(default=0.0, metadata=key("consumeRT"))
    consume_ok_tps: float = field(default=0.0, metadata=key("consumeOKTPS"))
    consume_failed_tps: float = field(default=0.0, metadata=key("consumeFailedTPS"))
    consume_failed_msgs: int = 0
    """How many messages failed in the last hour."""


@dataclass(slots=True, kw_only=True)
class ConsumerRunningInfo(Body):
    """A connected consumer returns its state (request code 307)."""

    properties: dict[str, str] = field(default_factory=dict)
    subscription_set: list[SubscriptionData] = field(default_factory=list)
    mq_table: dict[MessageQueue, ProcessQueueInfo] = field(default_factory=dict)
    status_table: dict[str, ConsumeStatus] = field(default_factory=dict)
    jstack: str | None = None
    """The stacks of all threads as text; None when they were not asked for."""


class CMResult(Enum):
    """How a listener handled one message."""

    CR_SUCCESS = 0
    CR_LATER = 1
    CR_ROLLBACK = 2
    CR_COMMIT = 3
    CR_THROW_EXCEPTION = 4
    CR_RETURN_NULL = 5


@dataclass(slots=True, kw_only=True)
class ConsumeMessageDirectlyResult(Body):
    """A consumer returns how its listener handled one message (request code 309)."""

    order: bool = False
    auto_commit: bool = True
    consume_result: CMResult | None = None
    remark: str | None = None
    spent_time_mills: int = 0
    """How long the listener took, in ms."""
