"""Routes: what is the same for every send to a topic, cached until a topic changes.

Rule: a route exists only for a topic that accepts sends; code that changes a topic or the
broker's permission calls ``forget``.

Source: broker/processor/AbstractSendMessageProcessor.java#msgCheck (the order of checks
and the texts are Java's).
"""

import logging
import random
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from mqserver.broker import names
from mqserver.broker.broker_context import BrokerContext
from mqserver.broker.names import is_writable
from mqserver.broker.stats.counters import TOPIC_PUT_NUMS, TOPIC_PUT_SIZE, Counter
from mqserver.runtime.request import RequestRefused
from remoting.aio.server import ServerConn
from remoting.codes import RequestCode, ResponseCode
from remoting.command import Command
from remoting.headers import SendMessage, SendMessageV2
from storefmt.config.tables import MULTI_TAG, UNIT_FLAG, UNIT_SUB_FLAG, TopicConfig
from storefmt.formats.sysflag import MULTI_TAGS
from storefmt.names import RETRY_PREFIX, REVIVE_PREFIX, perm_text

STOPPING: Final = "the broker is stopping"
LOG = logging.getLogger(__name__)
RETRY_TIMES_VERSION: Final = 121
"""MQVersion V3_4_9: since this version a client sends ``maxReconsumeTimes`` itself."""


SendFields = SendMessage | SendMessageV2
"""The header of a send; its two forms differ in the names on the wire alone."""


@dataclass(slots=True, frozen=True)
class Route:
    """What is the same for every send to one topic."""

    config: TopicConfig
    topic: str
    topic_bytes: bytes
    queue_limit: int
    write_queues: int
    sys_flag: int
    retry_group: str | None
    put_nums: Counter
    put_size: Counter


def send_fields(command: Command) -> SendFields:
    """Return the header of a send: with long field names in the code that has them, else short.

    Raises:
        BadHeader: a field is missing or has a wrong value.
    """
    has_long_names = command.code in (RequestCode.SEND_MESSAGE, RequestCode.SEND_REPLY_MESSAGE)
    return command.header(SendMessage) if has_long_names else command.header(SendMessageV2)


def topic_text(topic: TopicConfig) -> str:
    """Return a topic as Java's TopicConfig#toString prints it."""
    return (
        f"TopicConfig [topicName={topic.topic_name}, readQueueNums={topic.read_queue_nums}, "
        f"writeQueueNums={topic.write_queue_nums}, perm={perm_text(topic.perm)}, "
        f"topicFilterType={topic.topic_filter_type}, topicSysFlag={topic.topic_sys_flag}, "
        f"order={'true' if topic.order else 'false'}]"
    )


class Routes:
    """The routes of one broker, by topic.

    Args:
        context: the parts of the broker; sends may create topics.
        refusal: returns why the broker stores no messages; empty when it stores them.
    """

    def __init__(self, context: BrokerContext, *, refusal: Callable[[], str]) -> None:
        self._refusal = refusal
        self._context = context
        self.known: dict[str, Route] = {}
        """The cached routes by topic."""
        self._is_open = True
        self.get = self.known.get
        """Return the known route of a topic, or None."""

    def forget(self) -> None:
        """Drop every route; call it when a topic or the broker's permission has changed."""
        self.known.clear()

    def close(self) -> None:
        """Refuse every send from now on, because the broker stops."""
        self._is_open = False
        self.forget()

    def make(self, conn: ServerConn, send: SendFields, now_ms: int) -> Route:
        """Return the route of a send; create its topic if it is missing and that is allowed.

        Raises:
            RequestRefused: the broker does not accept sends now, the topic's name or the permission
                forbids it, or the topic is missing and may not be created.
        """
        if not self._is_open:
            raise RequestRefused(ResponseCode.SERVICE_NOT_AVAILABLE, STOPPING)
        accepts_from_ms = self._context.config.start_accept_send_request_time_stamp
        if now_ms < accepts_from_ms:
            text = f"broker unable to service, until {_human_time(accepts_from_ms)}"
            raise RequestRefused(ResponseCode.SYSTEM_ERROR, text)
        if why := self._refusal():
            raise RequestRefused(ResponseCode.SERVICE_NOT_AVAILABLE, why)
        topic = send.topic
        config = self._context.topics.get(topic)
        if (
            config is not None
            and config.order
            and not is_writable(self._context.config.broker_permission)
        ):
            text = f"the broker[{self._context.config.broker_ip1}] sending message is forbidden"
            raise RequestRefused(ResponseCode.NO_PERMISSION, text)
        fault = names.topic_fault(topic)
        if fault is not None:
            raise RequestRefused(ResponseCode.SYSTEM_ERROR, fault)
        if topic in names.SEND_REFUSED_TOPICS or topic.startswith(REVIVE_PREFIX):
            text = f"Sending message to topic[{topic}] is forbidden."
            raise RequestRefused(ResponseCode.NO_PERMISSION, text)
        if config is None:
            config = self._create(send, now_ms)
        if not is_writable(config.perm):
            LOG.warning(
                "%s sends to topic %s, whose permission is %s; stored anyway, as in Java",
                conn.address, topic, perm_text(config.perm),
            )  # fmt: skip
        is_retry = topic.startswith(RETRY_PREFIX)
        route = Route(
            config,
            topic,
            topic.encode(),
            max(config.write_queue_nums, config.read_queue_nums),
            config.write_queue_nums,
            MULTI_TAGS if config.topic_filter_type == MULTI_TAG else 0,
            topic.removeprefix(RETRY_PREFIX) if is_retry else None,
            self._context.stats.counter(TOPIC_PUT_NUMS, topic),
            self._context.stats.counter(TOPIC_PUT_SIZE, topic),
        )
        if topic not in self._context.topics.unsaved:
            # Answers of a cached route do not wait for topics.json to be saved.
            self.known[topic] = route
        return route

    def _create(self, send: SendFields, now_ms: int) -> TopicConfig:
        topic = send.topic
        is_retry = topic.startswith(RETRY_PREFIX)
        sys_flag = (UNIT_SUB_FLAG if is_retry else UNIT_FLAG) if send.unit_mode else 0
        made = self._context.topics.create_by_template(
            topic,
            send.default_topic,
            queue_count=send.default_topic_queue_nums,
            sys_flag=sys_flag,
            now_ms=now_ms,
        )
        if made is None and is_retry:
            made = self._context.topics.create_for_group(
                topic, queue_count=1, sys_flag=sys_flag, now_ms=now_ms
            )
        if made is None:
            text = names.see_faq(f"topic[{topic}] not exist, apply first please!")
            raise RequestRefused(ResponseCode.TOPIC_NOT_EXIST, text)
        return made


def _human_time(time_ms: int) -> str:
    """Return a time of this machine as Java's UtilAll#timeMillisToHumanString2 prints it."""
    try:
        moment = datetime.fromtimestamp(time_ms // 1000)
    except (OverflowError, OSError, ValueError):
        return f"{time_ms} ms"
    return f"{moment:%Y-%m-%d %H:%M:%S},{time_ms % 1000:03d}"


def choose_queue(conn: ServerConn, queue_id: int, route: Route) -> int:
    """Return the id of a random write queue for a send with a negative queue id.

    Raises:
        RequestRefused: the queue id is too high, or the topic has no write queue.
    """
    if queue_id >= route.queue_limit:
        text = (
            f"request queueId[{queue_id}] is illegal, {topic_text(route.config)} "
            f"Producer: {conn.address}"
        )
        raise RequestRefused(ResponseCode.SYSTEM_ERROR, text)
    if route.write_queues <= 0:
        text = f"topic[{route.topic}] has no write queue to choose from"
        raise RequestRefused(ResponseCode.SYSTEM_ERROR, text)
    return random.randrange(route.write_queues)
