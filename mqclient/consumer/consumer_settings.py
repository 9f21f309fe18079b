"""The settings of push and lite pull consumers, with RocketMQ's names and defaults.

Java's ``pullThreadNums`` has no counterpart, because pulls need no threads here.

Rule: a value that is not allowed raises an error when the settings are made, where the mistake is.

Source: client/consumer/DefaultMQPushConsumer.java, DefaultLitePullConsumer.java,
client/ClientConfig.java, client/impl/consumer/DefaultMQPushConsumerImpl.java#checkConfig (4.9.7).
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum, StrEnum
from typing import Final

from mqclient.argument_checks import check_kind, check_range
from mqclient.errors import BadRequest
from remoting.bodies import ConsumeFromWhere, MessageModel, MessageQueue
from remoting.bodies.route import MASTER_ID

HALF_AN_HOUR_MS: Final = 1_800_000

Room = Callable[[str], str]
"""Returns the machine room of a broker name or of a client id."""


class Strategy(StrEnum):
    """The names that Java's strategies report (AllocateMessageQueueStrategy#getName)."""

    AVG = "AVG"
    AVG_BY_CIRCLE = "AVG_BY_CIRCLE"
    CONFIG = "CONFIG"
    MACHINE_ROOM = "MACHINE_ROOM"
    CONSISTENT_HASH = "CONSISTENT_HASH"
    MACHINE_ROOM_NEARBY = "MACHINE_ROOM_NEARBY-AVG"


def room_before_at(name: str) -> str:
    """Return the room of a name in the form ``room@rest``, as RocketMQ's own deployments use it."""
    return name.partition("@")[0]


_PUSH_RANGES: Final = {
    "consume_thread_min": (1, 1000),
    "consume_thread_max": (1, 1000),
    "consume_concurrently_max_span": (1, 65_535),
    "pull_threshold_for_queue": (1, 65_535),
    "pull_threshold_size_for_queue": (1, 1024),
    "pull_interval_ms": (0, 65_535),
    "consume_message_batch_max_size": (1, 1024),
    "pull_batch_size": (1, 1024),
    "max_reconsume_times": (-1, 2**31 - 1),
    "suspend_current_queue_time_ms": (10, 30_000),
    "consume_timeout_min": (1, 2**31),
    "await_termination_ms_when_shutdown": (0, 2**31),
    "persist_consumer_offset_interval_ms": (1, 2**31),
    "pull_time_delay_ms_when_exception": (1, 2**31),
}
_TOPIC_RANGES: Final = {
    "pull_threshold_for_topic": (1, 6_553_500),
    "pull_threshold_size_for_topic": (1, 102_400),
}
"""For these, -1 means that there is no limit."""
_SHARED_KINDS: Final[Mapping[str, type[Enum]]] = {
    "message_model": MessageModel,
    "consume_from_where": ConsumeFromWhere,
    "allocate_strategy": Strategy,
}
"""The settings of both kinds of consumer that are members of an enumeration."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PushSettings:
    """How a push consumer works; every attribute is one of Java's ``DefaultMQPushConsumer``.

    Attributes:
        message_model: CLUSTERING delivers a message to one member of the group, BROADCASTING
            to each.
        consume_from_where: where a group starts that has no offset in a queue yet.
        consume_from_ms: CONSUME_FROM_TIMESTAMP only: store time to start at, in ms since 1970;
            half an hour before the start when None (consumeTimestamp).
        allocate_strategy: how members share the queues; it must be the same in every member.
        configured_queues: strategy CONFIG only: the queues of this member.
        rooms: strategy MACHINE_ROOM only: the rooms whose brokers are consumed.
        room_of: strategy MACHINE_ROOM_NEARBY only: returns the room of a broker name or client id.
        consume_thread_min: how many listeners may run at a time.
        consume_thread_max: must not be below the minimum, and has no other effect (as in Java).
        consume_concurrently_max_span: a pull pauses while the first and the last message that
            wait of a queue are this many entries apart.
        pull_threshold_for_queue: a pull pauses while this many messages of a queue wait.
        pull_threshold_size_for_queue: a pull pauses while this many MiB of a queue wait.
        pull_threshold_for_topic: the limit on the messages of a topic that wait, which its queues
            share; -1 means no limit.
        pull_threshold_size_for_topic: the same limit in MiB; -1 means no limit.
        pull_interval_ms: pause between two pulls of a queue.
        consume_message_batch_max_size: the limit on the messages that a listener gets in one call.
        pull_batch_size: how many messages a pull asks for.
        post_subscription_when_pull: True sends the expression with every pull.
        unit_mode: True when the group belongs to a unit.
        max_reconsume_times: how often a message may fail before it goes to the dead letter queue;
            -1 means 16 for concurrent consumption and no limit for orderly consumption.
        suspend_current_queue_time_ms: pause of an orderly queue after a failure.
        consume_timeout_min: minutes after which the message of a listener that still runs is
            sent back to the broker.
        await_termination_ms_when_shutdown: how long a shutdown waits for listeners that run.
        persist_consumer_offset_interval_ms: pause between two commits of offsets.
        pull_time_delay_ms_when_exception: pause after a pull that failed.
    """

    message_model: MessageModel = MessageModel.CLUSTERING
    consume_from_where: ConsumeFromWhere = ConsumeFromWhere.CONSUME_FROM_LAST_OFFSET
    consume_from_ms: int | None = None
    allocate_strategy: Strategy = Strategy.AVG
    configured_queues: Sequence[MessageQueue] = ()
    rooms: Sequence[str] = ()
    room_of: Room = field(default=room_before_at)
    consume_thread_min: int = 20
    consume_thread_max: int = 20
    consume_concurrently_max_span: int = 2000
    pull_threshold_for_queue: int = 1000
    pull_threshold_size_for_queue: int = 100
    pull_threshold_for_topic: int = -1
    pull_threshold_size_for_topic: int = -1
    pull_interval_ms: int = 0
    consume_message_batch_max_size: int = 1
    pull_batch_size: int = 32
    post_subscription_when_pull: bool = False
    unit_mode: bool = False
    max_reconsume_times: int = -1
    suspend_current_queue_time_ms: int = 1000
    consume_timeout_min: int = 15
    await_termination_ms_when_shutdown: int = 0
    persist_consumer_offset_interval_ms: int = 5000
    pull_time_delay_ms_when_exception: int = 1000

    def __post_init__(self) -> None:
        """Check every setting.

        Raises:
            BadRequest: a number is out of its range, or a choice is not of its enumeration.
        """
        check_shared(self, from_ms=self.consume_from_ms)
        for name, (low, high) in _PUSH_RANGES.items():
            check_range(name, getattr(self, name), low=low, high=high)
        for name, (low, high) in _TOPIC_RANGES.items():
            value = getattr(self, name)
            if value != -1:
                check_range(name, value, low=low, high=high)
        if self.consume_thread_min > self.consume_thread_max:
            raise BadRequest(
                f"consume_thread_min {self.consume_thread_min} is over consume_thread_max "
                f"{self.consume_thread_max}"
            )

    @property
    def broadcasting(self) -> bool:
        """Whether every member gets every message."""
        return self.message_model is MessageModel.BROADCASTING


def check_shared(settings: object, *, from_ms: object) -> None:
    """Check the settings that both kinds of consumer have.

    Raises:
        BadRequest: one of them is not allowed.
    """
    for name, kind in _SHARED_KINDS.items():
        check_kind(name, getattr(settings, name), kind)
    if from_ms is not None:
        check_range("consume_from_ms", from_ms, low=0, high=2**63 - 1)


_LITE_PULL_RANGES: Final = {
    "auto_commit_interval_ms": (1000, 2**31),
    "pull_batch_size": (1, 1024),
    "pull_threshold_for_all": (1, 2**31),
    "pull_threshold_for_queue": (1, 65_535),
    "pull_threshold_size_for_queue": (1, 1024),
    "consume_max_span": (1, 65_535),
    "poll_timeout_ms": (0, 2**31),
    "topic_metadata_check_interval_ms": (1, 2**31),
    "broker_suspend_max_time_ms": (1, 2**31),
    "consumer_timeout_ms_when_suspend": (1, 2**31),
    "default_broker_id": (0, 2**63 - 1),
    "pull_time_delay_ms_when_exception": (1, 2**31),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class LitePullSettings:
    """How a lite pull consumer works; every attribute is one of ``DefaultLitePullConsumer``.

    Attributes:
        message_model: CLUSTERING delivers a message to one member of the group, BROADCASTING
            to each.
        consume_from_where: where a group starts that has no offset in a queue yet.
        consume_from_ms: CONSUME_FROM_TIMESTAMP only: store time to start at, in ms since 1970;
            half an hour before the start when None (consumeTimestamp).
        allocate_strategy: how members share the queues; it must be the same in every member.
        rooms: strategy MACHINE_ROOM only: the rooms whose brokers are consumed.
        room_of: strategy MACHINE_ROOM_NEARBY only: returns the room of a broker name or client id.
        auto_commit: True lets ``poll`` commit what it returned before; otherwise only ``commit``
            does.
        auto_commit_interval_ms: pause between two of these commits, at least 1000.
        pull_batch_size: how many messages a pull asks for, and a ``poll`` returns at most.
        pull_threshold_for_all: all pulls pause while this many messages of all queues wait.
        pull_threshold_for_queue: a pull pauses while this many messages of a queue wait.
        pull_threshold_size_for_queue: a pull pauses while this many MiB of a queue wait.
        consume_max_span: a pull pauses while the first and the last message that wait of a queue
            are this many entries apart.
        poll_timeout_ms: how long a ``poll`` waits for a message.
        topic_metadata_check_interval_ms: pause between two checks for changed queues.
        broker_suspend_max_time_ms: how long a broker may hold a pull that finds no message.
        consumer_timeout_ms_when_suspend: how long the answer to a pull may take in all; it must be
            longer than ``broker_suspend_max_time_ms``.
        connect_broker_by_user: True pulls from the member of each broker that ``default_broker_id``
            names, and not from the one that brokers suggest.
        default_broker_id: the member to pull from; 0 is the master. Another member replaces it
            while it is away.
        unit_mode: True when the group belongs to a unit.
        pull_time_delay_ms_when_exception: pause after a pull that failed.
    """

    message_model: MessageModel = MessageModel.CLUSTERING
    consume_from_where: ConsumeFromWhere = ConsumeFromWhere.CONSUME_FROM_LAST_OFFSET
    consume_from_ms: int | None = None
    allocate_strategy: Strategy = Strategy.AVG
    rooms: Sequence[str] = ()
    room_of: Room = field(default=room_before_at)
    auto_commit: bool = True
    auto_commit_interval_ms: int = 5000
    pull_batch_size: int = 10
    pull_threshold_for_all: int = 10_000
    pull_threshold_for_queue: int = 1000
    pull_threshold_size_for_queue: int = 100
    consume_max_span: int = 2000
    poll_timeout_ms: int = 5000
    topic_metadata_check_interval_ms: int = 30_000
    broker_suspend_max_time_ms: int = 20_000
    consumer_timeout_ms_when_suspend: int = 30_000
    connect_broker_by_user: bool = False
    default_broker_id: int = MASTER_ID
    unit_mode: bool = False
    pull_time_delay_ms_when_exception: int = 1000

    def __post_init__(self) -> None:
        """Check every setting.

        Raises:
            BadRequest: a number is out of its range, or a choice is not of its enumeration.
        """
        check_shared(self, from_ms=self.consume_from_ms)
        for name, (low, high) in _LITE_PULL_RANGES.items():
            check_range(name, getattr(self, name), low=low, high=high)
        if self.consumer_timeout_ms_when_suspend <= self.broker_suspend_max_time_ms:
            raise BadRequest(
                f"consumer_timeout_ms_when_suspend {self.consumer_timeout_ms_when_suspend} is not "
                f"over broker_suspend_max_time_ms {self.broker_suspend_max_time_ms}"
            )
        if self.allocate_strategy is Strategy.CONFIG:
            raise BadRequest("strategy CONFIG for a polling consumer", hint="use assign()")

    @property
    def broker_id(self) -> int | None:
        """The member of each broker to pull from; None for the one that brokers suggest."""
        return self.default_broker_id if self.connect_broker_by_user else None

    def as_push(self) -> PushSettings:
        """Return these settings in the form that the shared parts of both consumers read."""
        return PushSettings(
            message_model=self.message_model,
            consume_from_where=self.consume_from_where,
            consume_from_ms=self.consume_from_ms,
            allocate_strategy=self.allocate_strategy,
            rooms=self.rooms,
            room_of=self.room_of,
            consume_concurrently_max_span=self.consume_max_span,
            pull_threshold_for_queue=self.pull_threshold_for_queue,
            pull_threshold_size_for_queue=self.pull_threshold_size_for_queue,
            pull_batch_size=self.pull_batch_size,
            consume_message_batch_max_size=self.pull_batch_size,
            unit_mode=self.unit_mode,
            pull_time_delay_ms_when_exception=self.pull_time_delay_ms_when_exception,
        )
