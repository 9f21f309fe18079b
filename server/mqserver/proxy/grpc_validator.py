"""What the proxy checks before it asks a broker: names, times, texts, and types of topics.

Rule: each refusal has the code and the text of the proxy of 5.4.0.

Source: proxy/grpc/v2/common/GrpcValidator.java, client/Validators.java,
proxy/processor/validator/DefaultTopicMessageTypeValidator.java (5.4.0).
"""

import re
from collections.abc import Mapping
from typing import Final

from mqclient.consumer.subscription import SQL92, TAG, Subscription
from mqclient.errors import BadRequest
from mqserver.proxy.cluster import TopicType
from mqserver.proxy.grpc_status import ProxyRefused, refused_inside
from mqserver.proxy.protocol.codes import Code, FilterType
from mqserver.proxy.protocol.definitions import FilterExpression, Resource
from mqserver.proxy.proxy_config import ProxyConfig
from storefmt.formats.properties import DELAY, TIMER_NAMES, TRANSACTION_PREPARED
from storefmt.names import SYSTEM_GROUP_PREFIX

TOPIC_SIZE_MAX: Final = 127
GROUP_SIZE_MAX: Final = 120
PRIORITY: Final = "_SYS_MSG_PRIORITY_"
SHARDING_KEY: Final = "__SHARDINGKEY"
_DELAYS: Final = frozenset({DELAY, *TIMER_NAMES})
_ALLOWED: Final = "^[%|a-zA-Z0-9_-]+$"
_NAME: Final = re.compile(r"[%|a-zA-Z0-9_-]+")
_CONTROL: Final = re.compile(r"[\x00-\x1f\x7f-\x9f]")
_SYSTEM_PREFIX: Final = "rmq_sys_"
_SYSTEM_TOPICS: Final = frozenset({
    "TBW102", "SCHEDULE_TOPIC_XXXX", "BenchmarkTest", "RMQ_SYS_TRANS_HALF_TOPIC",
    "RMQ_SYS_ROCKSDB_TRANS_HALF_TOPIC", "RMQ_SYS_TRACE_TOPIC", "RMQ_SYS_TRANS_OP_HALF_TOPIC",
    "RMQ_SYS_ROCKSDB_TRANS_OP_HALF_TOPIC", "TRANS_CHECK_MAX_TIME_TOPIC", "SELF_TEST_TOPIC",
    "OFFSET_MOVED_EVENT", "CHECKPOINT_TOPIC",
})  # fmt: skip


def topic_of(resource: Resource | None) -> str:
    """Return the name of a topic that a client may use.

    Raises:
        ProxyRefused: there is none, or it is not allowed.
    """
    name = "" if resource is None else resource.name
    if not name.strip():
        raise ProxyRefused(Code.ILLEGAL_TOPIC, "The specified topic is blank")
    if len(name) > TOPIC_SIZE_MAX:
        text = f"The specified topic is longer than topic max length {TOPIC_SIZE_MAX}."
        raise ProxyRefused(Code.ILLEGAL_TOPIC, text)
    if not _NAME.fullmatch(name):
        text = f"The specified topic[{name}] contains illegal characters, allowing only {_ALLOWED}"
        raise ProxyRefused(Code.ILLEGAL_TOPIC, text)
    if name in _SYSTEM_TOPICS or name.startswith(_SYSTEM_PREFIX):
        raise ProxyRefused(Code.ILLEGAL_TOPIC, "cannot access system topic")
    return name


def group_of(resource: Resource | None) -> str:
    """Return the name of a consumer group that a client may use.

    Raises:
        ProxyRefused: there is none, or it is not allowed.
    """
    name = "" if resource is None else resource.name
    code = Code.ILLEGAL_CONSUMER_GROUP
    if not name.strip():
        raise ProxyRefused(code, "the specified group is blank")
    if len(name) > GROUP_SIZE_MAX:
        most = f"group max length: {GROUP_SIZE_MAX}"
        raise ProxyRefused(code, f"the specified group[{name}] is longer than {most}.")
    if not _NAME.fullmatch(name):
        text = f"the specified group[{name}] contains illegal characters, allowing only {_ALLOWED}"
        raise ProxyRefused(code, text)
    if name.startswith(SYSTEM_GROUP_PREFIX):
        raise ProxyRefused(code, "cannot use system consumer group")
    return name


def check_invisible_time(invisible_ms: int, config: ProxyConfig, *, low_ms: int = 0) -> None:
    """Check the invisible time of a message.

    Raises:
        ProxyRefused: the time is out of its limits.
    """
    if invisible_ms < low_ms:
        text = f"the invisibleTime is too small. min is {low_ms}"
        raise ProxyRefused(Code.ILLEGAL_INVISIBLE_TIME, text)
    if 0 < config.max_invisible_time_ms < invisible_ms:
        text = f"the invisibleTime is too large. max is {config.max_invisible_time_ms}"
        raise ProxyRefused(Code.ILLEGAL_INVISIBLE_TIME, text)


def has_control_character(text: str) -> bool:
    """Return whether a text has one of the control characters of ISO 8859."""
    return _CONTROL.search(text) is not None


def subscription_of(filter_: FilterExpression | None) -> Subscription:
    """Return the subscription of a filter; without a filter it accepts every message.

    Raises:
        ProxyRefused: the expression cannot be used.
    """
    given = filter_ or FilterExpression()
    try:
        if given.type is FilterType.SQL:
            if not given.expression:
                raise BadRequest("Expression can't be null! SQL92")
            return Subscription.parse(given.expression, kind=SQL92)
        return Subscription.parse(given.expression, kind=TAG)
    except BadRequest as error:
        raise ProxyRefused(Code.ILLEGAL_FILTER_EXPRESSION, str(error)) from error


def message_type(properties: Mapping[str, str]) -> TopicType:
    """Return which kind of topic a message needs, by its properties."""
    if properties.get(TRANSACTION_PREPARED, "").lower() == "true":
        return TopicType.TRANSACTION
    if not _DELAYS.isdisjoint(properties):
        return TopicType.DELAY
    if SHARDING_KEY in properties:
        return TopicType.FIFO
    return TopicType.PRIORITY if PRIORITY in properties else TopicType.NORMAL


def check_type(needed: TopicType, given: TopicType) -> None:
    """Check that a topic accepts a kind of message.

    Args:
        needed: the type of the topic.
        given: the type of the message.

    Raises:
        ProxyRefused: the topic accepts other messages.
    """
    if given is TopicType.UNSPECIFIED or needed not in (given, TopicType.MIXED):
        raise refused_inside(
            Code.MESSAGE_PROPERTY_CONFLICT_WITH_TYPE,
            f"TopicMessageType validate failed, the expected type is {needed.name}, "
            f"but actual type is {given.name}",
        )
