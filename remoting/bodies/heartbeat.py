"""The heartbeat that a client sends every 30 seconds, with its groups and subscriptions.

Source: common/protocol/heartbeat (4.9.7).
"""

from dataclasses import dataclass, field
from enum import Enum

from remoting.bodies.base import Body
from remoting.header import key


class ConsumeType(Enum):
    """Whether the application asks for messages (pull) or the client library does (push)."""

    CONSUME_ACTIVELY = "PULL"
    CONSUME_PASSIVELY = "PUSH"


class MessageModel(Enum):
    """Whether every member of a group gets each message, or only one of them."""

    BROADCASTING = "BROADCASTING"
    CLUSTERING = "CLUSTERING"


class ConsumeFromWhere(Enum):
    """Where a group starts to read when it has no consumer offset yet.

    The members are declared in Java's order.
    """

    CONSUME_FROM_LAST_OFFSET = 0
    CONSUME_FROM_LAST_OFFSET_AND_FROM_MIN_WHEN_BOOT_FIRST = 1
    CONSUME_FROM_MIN_OFFSET = 2
    CONSUME_FROM_MAX_OFFSET = 3
    CONSUME_FROM_FIRST_OFFSET = 4
    CONSUME_FROM_TIMESTAMP = 5


@dataclass(slots=True, kw_only=True)
class SubscriptionData(Body):
    """The subscription of a group to one topic."""

    class_filter_mode: bool = False
    topic: str
    sub_string: str | None = None
    """Tags joined by ``||``, ``*`` for all messages, or an SQL92 expression."""
    tags_set: list[str] = field(default_factory=list)
    code_set: list[int] = field(default_factory=list)
    """The Java hash of each tag; the list is empty for ``*`` and for SQL92."""
    sub_version: int = 0
    """When the subscription was made, in ms since 1970; the newest subscription counts."""
    expression_type: str | None = "TAG"
    """TAG or SQL92."""


@dataclass(slots=True, kw_only=True)
class ProducerData(Body):
    """One producer group of a client."""

    group_name: str


@dataclass(slots=True, kw_only=True)
class ConsumerData(Body):
    """One consumer group of a client."""

    group_name: str
    consume_type: ConsumeType | None = None
    message_model: MessageModel | None = None
    consume_from_where: ConsumeFromWhere | None = None
    subscription_data_set: list[SubscriptionData] = field(default_factory=list)
    unit_mode: bool = False


@dataclass(slots=True, kw_only=True)
class HeartbeatData(Body):
    """A client names every group that it is a member of (request code 34)."""

    client_id: str | None = field(default=None, metadata=key("clientID"))
    producer_data_set: list[ProducerData] = field(default_factory=list)
    consumer_data_set: list[ConsumerData] = field(default_factory=list)


@dataclass(slots=True, kw_only=True)
class CheckClientRequestBody(Body):
    """A client asks whether an SQL92 expression is legal (request code 46)."""

    client_id: str | None = None
    group: str | None = None
    subscription_data: SubscriptionData | None = None
