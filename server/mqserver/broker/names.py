"""The topics and groups with a special meaning, the check of names, and permissions.

    %RETRY%<group>        messages that a consumer group sent back
    %DLQ%<group>          dead letters: messages that reached the group's maximum of retries
    TBW102                the template of auto-created topics
    SCHEDULE_TOPIC_XXXX   delayed messages that wait, with one queue per level

Rule: every topic and group of a request is checked with ``check_topic`` or ``check_group`` (or
``topic_fault`` and ``group_fault``, which only tell the fault) before it becomes a key, a path or a
message. The texts are Java's.

A permission has three bits: 4 to read, 2 to write, 1 to inherit (the topic may be the template of
new topics).

Source: common/constant/PermName.java, common/topic/TopicValidator.java, common/MixAll.java,
common/help/FAQUrl.java.
"""

from collections.abc import Sequence
from typing import Final

from mqserver.runtime.request import RequestRefused
from remoting.codes import ResponseCode
from storefmt.errors import BadCall
from storefmt.names import (
    AUTO_CREATE_TOPIC,
    BENCHMARK_TOPIC,
    CHECK_MAX_TIME_TOPIC,
    DLQ_PREFIX,
    HALF_TOPIC,
    OFFSET_MOVED_TOPIC,
    OP_HALF_TOPIC,
    PERM_INHERIT,
    PERM_READ,
    PERM_WRITE,
    RETRY_PREFIX,
    SCHEDULE_TOPIC,
    SELF_TEST_TOPIC,
    TIMER_TOPIC,
    TOOLS_GROUP,
    TRACE_TOPIC,
)
from storefmt.paths import GROUP_SIZE_MAX, TOPIC_SIZE_MAX, check_topic_name


def is_readable(perm: int) -> bool:
    """Return whether messages may be pulled."""
    return bool(perm & PERM_READ)


def is_writable(perm: int) -> bool:
    """Return whether messages may be sent."""
    return bool(perm & PERM_WRITE)


def is_inherited(perm: int) -> bool:
    """Return whether a topic may be the template of new topics."""
    return bool(perm & PERM_INHERIT)


SYSTEM_TOPICS: Final = frozenset({
    AUTO_CREATE_TOPIC, SCHEDULE_TOPIC, BENCHMARK_TOPIC, HALF_TOPIC, TRACE_TOPIC,
    OP_HALF_TOPIC, CHECK_MAX_TIME_TOPIC, SELF_TEST_TOPIC, OFFSET_MOVED_TOPIC,
})  # fmt: skip
"""No request may create or delete these; a broker adds its own name and its cluster's."""

SEND_REFUSED_TOPICS: Final = frozenset({
    SCHEDULE_TOPIC, HALF_TOPIC, OP_HALF_TOPIC, CHECK_MAX_TIME_TOPIC, SELF_TEST_TOPIC,
    OFFSET_MOVED_TOPIC, TIMER_TOPIC,
})  # fmt: skip
"""No client may send to these."""

SYSTEM_GROUPS: Final = (
    TOOLS_GROUP,
    "FILTERSRV_CONSUMER",
    "SELF_TEST_C_GROUP",
    "CID_ONS-HTTP-PROXY",
    "CID_ONSAPI_PULL",
    "CID_ONSAPI_PERMISSION",
    "CID_ONSAPI_OWNER",
)
"""Groups that every broker has from the start."""

NAMED_MAX: Final = 5
"""Most topics that are named in one log line."""
_FAQ: Final = "\nSee http://rocketmq.apache.org/docs/faq/ for further details."
_LATER_FAQ: Final = "\nSee https://rocketmq.apache.org/docs/bestPractice/06FAQ for further details."


def see_faq(text: str) -> str:
    """Return ``text`` with the link to the FAQ with which Java's remarks end."""
    return text + _FAQ


def see_later_faq(text: str) -> str:
    """Return ``text`` with the link of 5.4.0, for requests that 4.9.7 does not have."""
    return text + _LATER_FAQ


def retry_topic(group: str) -> str:
    """Return the retry topic of a consumer group."""
    return RETRY_PREFIX + group


def dlq_topic(group: str) -> str:
    """Return the dead letter topic of a consumer group."""
    return DLQ_PREFIX + group


def first_names(topics: Sequence[str]) -> str:
    """Return the first ``NAMED_MAX`` names as text for one log line."""
    return ", ".join(topics[:NAMED_MAX]) + (", ..." if len(topics) > NAMED_MAX else "")


def topic_fault(topic: str | None) -> str | None:
    """Return Java's remark if a name cannot be a topic, or None if it can."""
    if topic is None or not topic.strip():
        return "The specified topic is blank."
    if not _has_legal_characters(topic):
        return "The specified topic contains illegal characters, allowing only ^[%|a-zA-Z0-9_-]+$"
    if len(topic) > TOPIC_SIZE_MAX:
        return "The specified topic is longer than topic max length."
    return None


def group_fault(group: str | None) -> str | None:
    """Return a remark if a name cannot be a group, or None if it can."""
    if group is None or not group.strip():
        return "the specified group is blank"
    if not _has_legal_characters(group):
        return "the specified group contains illegal characters, allowing only ^[%|a-zA-Z0-9_-]+$"
    if len(group) > GROUP_SIZE_MAX:
        return "the specified group is longer than group max length 255."
    return None


def check_topic(topic: str | None) -> None:
    """Refuse a request whose topic has a name that no topic can have.

    Raises:
        RequestRefused: with Java's remark.
    """
    _refuse(topic_fault(topic))


def check_group(group: str | None) -> None:
    """Refuse a request whose group has a name that no group can have.

    Raises:
        RequestRefused: with a remark that says why.
    """
    _refuse(group_fault(group))


def _refuse(fault: str | None) -> None:
    if fault is not None:
        raise RequestRefused(ResponseCode.SYSTEM_ERROR, fault)


def _has_legal_characters(name: str) -> bool:
    try:
        check_topic_name(name, size_max=len(name))
    except BadCall:
        return False
    return True


def filter_unsupported(expression_type: str | None) -> str:
    """Return Java's remark for a filter when ``enablePropertyFilter`` is not set."""
    return f"The broker does not support consumer to filter message by {expression_type}"
