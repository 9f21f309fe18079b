"""The messages that requests of RocketMQ 5 share: topics, queues, messages, settings.

Rule: names and numbers of the fields are the protocol's, so that its documentation applies. Fields
that only later clients send and nothing here uses are left out; a decoder skips them.

Source: apache/rocketmq/v2/definition.proto, as rocketmq-proto 2.1.1 has it.
"""

from dataclasses import dataclass

from mqserver.proxy.protocol.codes import (
    AddressScheme,
    ClientType,
    Code,
    DigestType,
    Encoding,
    FilterType,
    Language,
    MessageType,
    Permission,
)
from mqserver.proxy.protocol.protobuf import (
    WireMessage,
    all_millis,
    binary,
    choice,
    choices,
    flag,
    many,
    maybe_choice,
    maybe_flag,
    maybe_number,
    maybe_text,
    millis,
    number,
    one,
    real,
    text,
    texts,
    texts_by_name,
)


@dataclass(slots=True, kw_only=True)
class Status(WireMessage):
    """How a request ended."""

    code: Code = choice(1, Code)
    message: str = text(2)


@dataclass(slots=True, kw_only=True)
class Resource(WireMessage):
    """The name of a topic or a group."""

    resource_namespace: str = text(1)
    name: str = text(2)


@dataclass(slots=True, kw_only=True)
class Address(WireMessage):
    """One address of a server."""

    host: str = text(1)
    port: int = number(2)


@dataclass(slots=True, kw_only=True)
class Endpoints(WireMessage):
    """The addresses of a server."""

    scheme: AddressScheme = choice(1, AddressScheme)
    addresses: list[Address] = many(2, Address)


@dataclass(slots=True, kw_only=True)
class FilterExpression(WireMessage):
    """Selects messages of a topic."""

    type: FilterType = choice(1, FilterType)
    expression: str = text(2)


@dataclass(slots=True, kw_only=True)
class SubscriptionEntry(WireMessage):
    """The subscription to one topic."""

    topic: Resource | None = one(1, Resource)
    expression: FilterExpression | None = one(2, FilterExpression)


@dataclass(slots=True, kw_only=True)
class Broker(WireMessage):
    """A broker as a client sees it: the endpoints are the proxy's."""

    name: str = text(1)
    id: int = number(2)
    endpoints: Endpoints | None = one(3, Endpoints)


@dataclass(slots=True, kw_only=True)
class MessageQueue(WireMessage):
    """A queue of a topic; the id -1 stands for every queue of the broker."""

    topic: Resource | None = one(1, Resource)
    id: int = number(2)
    permission: Permission = choice(3, Permission)
    broker: Broker | None = one(4, Broker)
    accept_message_types: list[MessageType] = choices(5, MessageType)


@dataclass(slots=True, kw_only=True)
class Assignment(WireMessage):
    """A queue from which a consumer has to receive."""

    message_queue: MessageQueue | None = one(1, MessageQueue)


@dataclass(slots=True, kw_only=True)
class Digest(WireMessage):
    """A checksum of a body."""

    type: DigestType = choice(1, DigestType)
    checksum: str = text(2)


@dataclass(slots=True, kw_only=True)
class DeadLetterQueue(WireMessage):
    """Where a dead letter comes from."""

    topic: str = text(1)
    message_id: str = text(2)


@dataclass(slots=True, kw_only=True)
class SystemProperties(WireMessage):
    """The properties that RocketMQ adds to a message; times are ms since 1970."""

    tag: str | None = maybe_text(1)
    keys: list[str] = texts(2)
    message_id: str = text(3)
    body_digest: Digest | None = one(4, Digest)
    body_encoding: Encoding = choice(5, Encoding)
    message_type: MessageType = choice(6, MessageType)
    born_timestamp: int | None = millis(7)
    born_host: str = text(8)
    store_timestamp: int | None = millis(9)
    store_host: str = text(10)
    delivery_timestamp: int | None = millis(11)
    receipt_handle: str | None = maybe_text(12)
    queue_id: int = number(13)
    queue_offset: int | None = maybe_number(14)
    invisible_duration: int | None = millis(15)
    delivery_attempt: int | None = maybe_number(16)
    message_group: str | None = maybe_text(17)
    trace_context: str | None = maybe_text(18)
    orphaned_transaction_recovery_duration: int | None = millis(19)
    dead_letter_queue: DeadLetterQueue | None = one(20, DeadLetterQueue)
    lite_topic: str | None = maybe_text(21)
    priority: int | None = maybe_number(22)


@dataclass(slots=True, kw_only=True)
class Message(WireMessage):
    """A message that is sent or received."""

    topic: Resource | None = one(1, Resource)
    user_properties: dict[str, str] = texts_by_name(2)
    system_properties: SystemProperties | None = one(3, SystemProperties)
    body: bytes = binary(4)


@dataclass(slots=True, kw_only=True)
class ExponentialBackoff(WireMessage):
    """Pauses between attempts that grow; in ms."""

    initial: int | None = millis(1)
    max: int | None = millis(2)
    multiplier: float = real(3)


@dataclass(slots=True, kw_only=True)
class CustomizedBackoff(WireMessage):
    """Pauses between attempts, one by one; in ms."""

    next: list[int] = all_millis(1)


@dataclass(slots=True, kw_only=True)
class RetryPolicy(WireMessage):
    """How often and when something is tried again; it has one of the two backoffs."""

    max_attempts: int = number(1)
    exponential_backoff: ExponentialBackoff | None = one(2, ExponentialBackoff)
    customized_backoff: CustomizedBackoff | None = one(3, CustomizedBackoff)


@dataclass(slots=True, kw_only=True)
class UserAgent(WireMessage):
    """What the client is."""

    language: Language = choice(1, Language)
    version: str = text(2)
    platform: str = text(3)
    hostname: str = text(4)


@dataclass(slots=True, kw_only=True)
class Publishing(WireMessage):
    """The settings of a producer."""

    topics: list[Resource] = many(1, Resource)
    max_body_size: int = number(2)
    validate_message_type: bool = flag(3)


@dataclass(slots=True, kw_only=True)
class Subscription(WireMessage):
    """The settings of a consumer; durations are ms."""

    group: Resource | None = one(1, Resource)
    subscriptions: list[SubscriptionEntry] = many(2, SubscriptionEntry)
    fifo: bool | None = maybe_flag(3)
    receive_batch_size: int | None = maybe_number(4)
    long_polling_timeout: int | None = millis(5)
    lite_subscription_quota: int | None = maybe_number(6)
    max_lite_topic_size: int | None = maybe_number(7)


@dataclass(slots=True, kw_only=True)
class Metric(WireMessage):
    """Where a client reports its figures, if anywhere."""

    on: bool = flag(1)
    endpoints: Endpoints | None = one(2, Endpoints)


@dataclass(slots=True, kw_only=True)
class Settings(WireMessage):
    """The settings of a client: it sends its own, and gets back the effective ones."""

    client_type: ClientType | None = maybe_choice(1, ClientType)
    access_point: Endpoints | None = one(2, Endpoints)
    backoff_policy: RetryPolicy | None = one(3, RetryPolicy)
    request_timeout: int | None = millis(4)
    publishing: Publishing | None = one(5, Publishing)
    subscription: Subscription | None = one(6, Subscription)
    user_agent: UserAgent | None = one(7, UserAgent)
    metric: Metric | None = one(8, Metric)
