"""Namespaces, which give each tenant of a cluster its own topics and groups.

    application            brokers and name servers (namespace N)
    T                      N%T
    %RETRY%G, %DLQ%G       %RETRY%N%G, %DLQ%N%G
    TBW102, CID_RMQ_SYS_…  unchanged, because they belong to the system

Names in requests have the namespace, and so have all names inside a consumer. Where the
application sees a name, it is with or without the namespace as in Java. The application may give
either form, because wrapping a wrapped name changes nothing.

Source: common/protocol/NamespaceUtil.java, client/ClientConfig.java#withNamespace,
#queueWithNamespace (4.9.7).
"""

from typing import Final

from mqclient.argument_checks import check_text
from mqclient.errors import BadRequest
from mqclient.message import MessageExt
from remoting.bodies import MessageQueue
from storefmt.errors import StoreError
from storefmt.names import DLQ_PREFIX, RETRY_PREFIX, SYSTEM_GROUP_PREFIX, TopicKind, kind_of
from storefmt.paths import check_group_name

_NOT_SYSTEM: Final = {
    TopicKind.ORDINARY,
    TopicKind.RETRY,
    TopicKind.DLQ,
    TopicKind.LMQ,
    TopicKind.REPLY,
}


def wrap(namespace: str, name: str) -> str:
    """Return a topic or group with the namespace (wrapNamespace)."""
    if not namespace or not name or _is_system(name):
        return name
    prefix, bare = _parted(name)
    if bare.startswith(f"{namespace}%"):
        return name
    return f"{prefix}{namespace}%{bare}"


def unwrap(namespace: str, name: str) -> str:
    """Return a topic or group without the namespace (withoutNamespace)."""
    if not namespace:
        return name
    prefix, bare = _parted(name)
    return prefix + bare.removeprefix(f"{namespace}%")


def checked_group(name: str, namespace: str = "") -> str:
    """Return the name of a group with its namespace, as brokers know it.

    Raises:
        BadRequest: the name is not allowed.
    """
    check_text("group", name)
    try:
        return check_group_name(wrap(namespace, check_group_name(name)))
    except StoreError as error:
        raise BadRequest(str(error)) from error


def retry_topic_of(group: str) -> str:
    """Return the retry topic of a group, which is given with its namespace."""
    return RETRY_PREFIX + group


def is_retry_topic(topic: str) -> bool:
    """Return whether a topic holds the messages that some group failed to consume."""
    return topic.startswith(RETRY_PREFIX)


def wrap_queue(namespace: str, queue: MessageQueue) -> MessageQueue:
    """Return a queue whose topic has the namespace."""
    if not namespace:
        return queue
    return MessageQueue(wrap(namespace, queue.topic), queue.broker_name, queue.queue_id)


def unwrap_queue(namespace: str, queue: MessageQueue) -> MessageQueue:
    """Return a queue whose topic is without the namespace."""
    if not namespace:
        return queue
    return MessageQueue(unwrap(namespace, queue.topic), queue.broker_name, queue.queue_id)


def unwrap_message(namespace: str, message: MessageExt) -> MessageExt:
    """Return a message whose topic is without the namespace."""
    return message if not namespace else message.but(topic=unwrap(namespace, message.topic))


def _is_system(name: str) -> bool:
    return name.startswith(SYSTEM_GROUP_PREFIX) or kind_of(name) not in _NOT_SYSTEM


def _parted(name: str) -> tuple[str, str]:
    for prefix in (RETRY_PREFIX, DLQ_PREFIX):
        if name.startswith(prefix):
            return prefix, name[len(prefix) :]
    return "", name
