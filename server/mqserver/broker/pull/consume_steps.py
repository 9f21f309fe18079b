"""Checks before anything is read for a consumer: tables of steps in the order of Java's code.

    PULL_STEPS   PullMessageProcessor#processRequest (4.9.7)
    POP_STEPS    PopMessageProcessor#processRequest, and those of peeks and notifications (5.4.0)
    QUEUE_STEPS  AckMessageProcessor#processRequest, ChangeInvisibleTimeProcessor (5.4.0)

A step raises what it finds wrong, and records in the ``Reading`` what later steps need.

Rule: the first step that fails decides the answer, so the order of a table is part of the protocol.
The texts are Java's, which differ between the versions; a ``Wording`` has what differs.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, NamedTuple

from mqserver.broker import names
from mqserver.broker.broker_context import BrokerContext
from mqserver.broker.config import BrokerConfig
from mqserver.broker.names import is_readable
from mqserver.runtime.request import RequestRefused
from remoting.aio.server import ServerConn
from remoting.codes import LaterResponseCode, ResponseCode
from storefmt.config.tables import SubscriptionGroup, TopicConfig
from storefmt.names import RETRY_PREFIX
from storefmt.paths import TOPIC_SIZE_MAX


class Wording(NamedTuple):
    """What differs between the refusals of one kind of request and those of another."""

    verb: str
    """In "the broker[…] … message is forbidden"."""
    topic_verb: str
    """In "the topic[…] … message is forbidden"."""
    with_faq: Callable[[str], str]
    """Adds Java's hint to its list of frequent questions."""
    queue_code: int
    """The code for a queue that does not exist."""


PULL: Final = Wording("pulling", "pulling", names.see_faq, ResponseCode.SYSTEM_ERROR)
POP: Final = Wording("pop", "peeking", names.see_later_faq, LaterResponseCode.INVALID_PARAMETER)
PEEK: Final = POP._replace(verb="peek")
ACK: Final = POP._replace(queue_code=ResponseCode.MESSAGE_ILLEGAL)


@dataclass(slots=True)
class Reading:
    """What a consumer wants to read, and what the steps have found out about it."""

    context: BrokerContext
    wording: Wording
    conn: ServerConn
    topic: str
    group: str
    queue_id: int
    now_ms: int
    topic_config: TopicConfig | None = None
    group_config: SubscriptionGroup | None = None


Step = Callable[[Reading], None]


def broker_is_readable(reading: Reading) -> None:
    """Refuse a broker whose brokerPermission forbids reading."""
    config = reading.context.config
    if not is_readable(config.broker_permission):
        text = f"the broker[{config.broker_ip1}] {reading.wording.verb} message is forbidden"
        raise RequestRefused(ResponseCode.NO_PERMISSION, text)


def group_exists(reading: Reading) -> None:
    """Refuse a group that does not exist; it is created where that is allowed."""
    name = reading.group
    reading.group_config = reading.context.groups.find(name, now_ms=reading.now_ms)
    if reading.group_config is None:
        text = reading.wording.with_faq(f"subscription group [{name}] does not exist, ")
        raise RequestRefused(ResponseCode.SUBSCRIPTION_GROUP_NOT_EXIST, text)


def group_may_consume(reading: Reading) -> None:
    """Refuse a group whose consumeEnable is off."""
    if reading.group_config is not None and not reading.group_config.consume_enable:
        text = f"subscription group no permission, {reading.group}"
        raise RequestRefused(ResponseCode.NO_PERMISSION, text)


def topic_exists(reading: Reading) -> None:
    """Refuse a topic that does not exist."""
    topic = reading.topic
    reading.topic_config = reading.context.topics.get(topic)
    if reading.topic_config is None:
        text = reading.wording.with_faq(f"topic[{topic}] not exist, apply first please! ")
        raise RequestRefused(ResponseCode.TOPIC_NOT_EXIST, text)


def topic_is_readable(reading: Reading) -> None:
    """Refuse a topic whose permission forbids reading."""
    if reading.topic_config is not None and not is_readable(reading.topic_config.perm):
        text = f"the topic[{reading.topic}] {reading.wording.topic_verb} message is forbidden"
        raise RequestRefused(ResponseCode.NO_PERMISSION, text)


def queue_exists(reading: Reading) -> None:
    """Refuse a read queue that the topic does not have."""
    config, queue_id = reading.topic_config, reading.queue_id
    if config is not None and not 0 <= queue_id < config.read_queue_nums:
        text = (
            f"queueId[{queue_id}] is illegal, topic:[{reading.topic}] topicConfig."
            f"readQueueNums:[{config.read_queue_nums}] consumer:[/{reading.conn.address}]"
        )
        raise RequestRefused(reading.wording.queue_code, text)


def broker_serves_pops(reading: Reading) -> None:
    """Refuse everything about pops on a slave."""
    check_role(reading.context.config)


def check_role(config: BrokerConfig) -> None:
    """Refuse a request about pops on a slave.

    Raises:
        RequestRefused: this broker is a slave.
    """
    if config.is_slave:
        text = f"this broker is a slave, the master of {config.broker_name} serves pops"
        raise RequestRefused(ResponseCode.SERVICE_NOT_AVAILABLE, text)


def retry_topic_has_a_name(reading: Reading) -> None:
    """Refuse a group and a topic whose retry topic would have too long a name."""
    group, topic = reading.group, reading.topic
    if len(RETRY_PREFIX) + len(group) + 1 + len(topic) > TOPIC_SIZE_MAX:
        text = (
            f"the names of group and topic are too long together for their retry topic: "
            f"{len(group)} and {len(topic)} characters"
        )
        raise RequestRefused(LaterResponseCode.INVALID_PARAMETER, text)


PULL_STEPS: Final[tuple[Step, ...]] = (
    broker_is_readable,
    group_exists,
    group_may_consume,
    topic_exists,
    topic_is_readable,
    queue_exists,
)
"""A pull. What a slave refuses comes before it, the filter after it."""

POP_STEPS: Final[tuple[Step, ...]] = (
    broker_serves_pops,
    broker_is_readable,
    topic_exists,
    topic_is_readable,
    queue_exists,
    group_exists,
    group_may_consume,
    retry_topic_has_a_name,
)
"""A pop, a peek, a notification, or a question for the polling information."""

QUEUE_STEPS: Final[tuple[Step, ...]] = (topic_exists, queue_exists)
"""An acknowledgement, or a longer time of hiding."""


def check(reading: Reading, steps: tuple[Step, ...]) -> None:
    """Do the steps in their order.

    Raises:
        RequestRefused: one of them failed.
    """
    for step in steps:
        step(reading)
