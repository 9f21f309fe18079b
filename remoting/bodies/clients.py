"""Connected clients, and the state that a live consumer reports of itself.

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
    """One member of a group."""

    client_id: str | None = None
    client_addr: str | None = None
    """``ip:port`` the broker sees."""
    language: LanguageCode | None = None
    version: int = 0
    """MQVersion of the client."""


@dataclass(slots=True, kw_only=True)
class ProducerConnection(Body):
    """The members of a producer group (request code 204)."""

    connection_set: list[Connection] = field(default_factory=list)


@dataclass(slots=True, kw_only=True)
class ConsumerConnection(Body):
    """The members of a consumer group and what they subscribe to (request code 203)."""

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
    """``/ip:port``, with a slash in front."""
    language: LanguageCode | None = None
    version: int = 0
    last_update_timestamp: int = 0
    """Last heartbeat, ms."""


@dataclass(slots=True, kw_only=True)
class ProducerTableInfo(Body):
    """Every producer group of a broker (request code 328)."""

    data: dict[str, list[ProducerInfo]] = field(default_factory=dict)


@dataclass(slots=True, kw_only=True)
class ProcessQueueInfo(Body):
    """What a consumer holds of one queue; offsets in entries, times in ms."""

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
    """Java's spelling: the queue was given to another member."""
    last_pull_timestamp: int = 0
    last_consume_timestamp: int = 0


@dataclass(slots=True, kw_only=True)
class ConsumeStatus(Body):
    """How fast a consumer works on one topic: times in ms, rates per second."""

    pull_rt: float = field(default=0.0, metadata=key("pullRT"))
    pull_tps: float = field(default=0.0, metadata=key("pullTPS"))
    consume_rt: float = field(default=0.0, metadata=key("consumeRT"))
    consume_ok_tps: float = field(default=0.0, metadata=key("consumeOKTPS"))
    consume_failed_tps: float = field(default=0.0, metadata=key("consumeFailedTPS"))
    consume_failed_msgs: int = 0
    """Failed in the last hour."""


@dataclass(slots=True, kw_only=True)
class ConsumerRunningInfo(Body):
    """The state of one live consumer, in its own words (request code 307)."""

    properties: dict[str, str] = field(default_factory=dict)
    subscription_set: list[SubscriptionData] = field(default_factory=list)
    mq_table: dict[MessageQueue, ProcessQueueInfo] = field(default_factory=dict)
    status_table: dict[str, ConsumeStatus] = field(default_factory=dict)
    jstack: str | None = None
    """Thread dump, when it was asked for."""


class CMResult(Enum):
    """What a listener made of one message."""

    CR_SUCCESS = 0
    CR_LATER = 1
    CR_ROLLBACK = 2
    CR_COMMIT = 3
    CR_THROW_EXCEPTION = 4
    CR_RETURN_NULL = 5


@dataclass(slots=True, kw_only=True)
class ConsumeMessageDirectlyResult(Body):
    """A consumer was handed one message and says how it went (request code 309)."""

    order: bool = False
    auto_commit: bool = True
    consume_result: CMResult | None = None
    remark: str | None = None
    spent_time_mills: int = 0
    """Time the listener took, ms."""
