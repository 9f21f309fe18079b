"""What each request code needs: permissions for topics and groups, or an admin account.

    STRICT   the default: the topics and groups in a request's fields, body or message are
             checked; every code that is not listed needs an admin
    JAVA     aclStrict=false, as in 4.9.7: nine codes are checked, five need an admin, and any
             known access key may send the rest

Rule: a resource is read from the same field that the handler reads. For a log offset the topic of
the message there counts; for a delayed or half message this is its real topic. A message with
INNER_MULTI_DISPATCH counts as a send to each queue that the property names.

Source: acl/plain/PlainAccessValidator.java#parse, acl/common/Permission.java#ADMIN_CODE.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Final

from mqserver.broker.acl.accounts import AclError, Perm
from mqserver.broker.names import retry_topic
from remoting.bodies import (
    BatchAckMessageRequestBody,
    CheckClientRequestBody,
    HeartbeatData,
    LockBatchRequestBody,
    QueryAssignmentRequestBody,
    UnlockBatchRequestBody,
)
from remoting.codes import ExtensionCode, LaterCode, RequestCode
from remoting.command import Command
from remoting.header import parse_int
from storefmt.errors import RecordDamaged
from storefmt.formats.batch import split_batch
from storefmt.formats.properties import INNER_MULTI_DISPATCH, parse_properties
from storefmt.names import RETRY_PREFIX

TopicAt = Callable[[int], str | None]
"""Returns the topic of the message at a log offset, or None if there is no message."""

Resource = tuple[str, Perm]
_COPIED: Final = INNER_MULTI_DISPATCH.encode()
_Needs = Callable[[Command, TopicAt], Iterable[Resource]]


class Level(Enum):
    """What kind of account a request needs."""

    ANYBODY = "nothing"
    KEY = "any key"
    PERMS = "permissions"
    ADMIN = "an admin"


@dataclass(frozen=True, slots=True)
class Rule:
    """What one request code needs.

    Attributes:
        level: what kind of account it needs.
        text: the needs in words, for the printed table.
        needs: returns the resources of one request, each with the permission that it needs.
    """

    level: Level
    text: str
    needs: _Needs = lambda command, topic_at: ()


def _perms(*parts: tuple[str, _Needs]) -> Rule:
    def needs(command: Command, topic_at: TopicAt) -> list[Resource]:
        return [resource for _, part in parts for resource in part(command, topic_at)]

    return Rule(Level.PERMS, ", ".join(text for text, _ in parts), needs)


def _topic(perm: Perm) -> tuple[str, _Needs]:
    def needs(command: Command, topic_at: TopicAt) -> list[Resource]:
        topic = command.ext.get("topic")
        return [] if topic is None else [(topic, perm)]

    word = "PUB or SUB" if perm is Perm.ANY else perm.name
    return f"{word} of the topic", needs


def _optional_topic() -> tuple[str, _Needs]:
    """Return the needs for a topic that a request may name, whose offsets it reads then."""

    def needs(command: Command, topic_at: TopicAt) -> list[Resource]:
        topic = command.ext.get("topic")
        return [(topic, Perm.ANY)] if topic else []

    return "PUB or SUB of the topic if it names one", needs


def _send(key: str, properties_key: str) -> Rule:
    """Return the rule of a send; a send to a retry topic needs SUB of its group."""

    def needs(command: Command, topic_at: TopicAt) -> list[Resource]:
        topic = command.ext.get(key)
        resources = [] if topic is None else [_sent_to(topic)]
        properties = command.ext.get(properties_key, "")
        if INNER_MULTI_DISPATCH in properties:
            resources += _copied_to(properties)
        if _COPIED in command.body:
            resources += _copied_in_batch(command.body)
        return resources

    return Rule(Level.PERMS, "PUB of the topic, and of each that the message is copied to", needs)


def _copied_to(properties: str | bytes) -> list[Resource]:
    """Return what a message needs for the light queues in its property INNER_MULTI_DISPATCH."""
    names = parse_properties(properties).get(INNER_MULTI_DISPATCH, "").split(",")
    return [_sent_to(name) for name in names if name]


def _copied_in_batch(body: bytes) -> list[Resource]:
    """Return the same for the messages of a batch; nothing for a body that is not a batch."""
    try:
        entries = split_batch(body)
    except RecordDamaged:
        return []
    return [resource for entry in entries for resource in _copied_to(entry.properties)]


def _sent_to(topic: str) -> Resource:
    return topic, Perm.SUB if topic.startswith(RETRY_PREFIX) else Perm.PUB


def _group(key: str) -> tuple[str, _Needs]:
    def needs(command: Command, topic_at: TopicAt) -> list[Resource]:
        group = command.ext.get(key)
        return [] if group is None else [(retry_topic(group), Perm.SUB)]

    return "SUB of the group", needs


def _popped() -> tuple[str, _Needs]:
    """Return the needs for a popped message, whose topic may be a retry topic of the group."""

    def needs(command: Command, topic_at: TopicAt) -> list[Resource]:
        topic, group = command.ext.get("topic"), command.ext.get("consumerGroup", "")
        return [] if topic is None else _pop_resources(topic, group)

    return "SUB of the topic and the group", needs


def _pop_resources(topic: str, group: str) -> list[Resource]:
    own = retry_topic(group)
    for separator in "_+":
        topic = topic.removeprefix(f"{own}{separator}")
    return [(topic, Perm.SUB), (own, Perm.SUB)]


def _batch_ack(command: Command, topic_at: TopicAt) -> list[Resource]:
    acks = BatchAckMessageRequestBody.decode(command.body).acks if command.body else []
    resources = [_pop_resources(ack.topic, ack.consumer_group) for ack in acks]
    return list(dict.fromkeys(each for part in resources for each in part))


def _assignment(command: Command, topic_at: TopicAt) -> list[Resource]:
    body = QueryAssignmentRequestBody.decode(command.body)
    return [(body.topic, Perm.SUB), (retry_topic(body.consumer_group), Perm.SUB)]


def _message(perm: Perm, key: str) -> tuple[str, _Needs]:
    def needs(command: Command, topic_at: TopicAt) -> list[Resource]:
        try:
            topic = topic_at(parse_int(command.ext.get(key, "")))
        except ValueError as error:
            raise AclError(f"field {key}: {error}") from None
        if topic is None:
            return []
        return [_sent_to(topic) if perm is Perm.PUB else (topic, perm)]

    return f"{perm.name} of the message's topic", needs


def _heartbeat(command: Command, topic_at: TopicAt) -> list[Resource]:
    resources: list[Resource] = []
    for consumer in HeartbeatData.decode(command.body).consumer_data_set:
        resources.append((retry_topic(consumer.group_name), Perm.SUB))
        resources += [
            (subscription.topic, Perm.SUB) for subscription in consumer.subscription_data_set
        ]
    return resources


def _locks(kind: type[LockBatchRequestBody | UnlockBatchRequestBody]) -> Rule:
    def needs(command: Command, topic_at: TopicAt) -> list[Resource]:
        body = kind.decode(command.body)
        topics = {queue.topic for queue in body.mq_set}
        group = (retry_topic(body.consumer_group), Perm.SUB)
        return [group, *((topic, Perm.SUB) for topic in sorted(topics))]

    return Rule(Level.PERMS, "SUB of the group and its topics", needs)


def _checked_filter(command: Command, topic_at: TopicAt) -> list[Resource]:
    body = CheckClientRequestBody.decode(command.body)
    resources: list[Resource] = []
    if body.group is not None:
        resources.append((retry_topic(body.group), Perm.SUB))
    if body.subscription_data is not None:
        resources.append((body.subscription_data.topic, Perm.SUB))
    return resources


def _java_send(topic_key: str, group_key: str) -> Rule:
    """Return Java's rule: a send to any retry topic needs SUB of the group in ``group_key``."""

    def needs(command: Command, topic_at: TopicAt) -> list[Resource]:
        topic, group = command.ext.get(topic_key), command.ext.get(group_key)
        if topic is not None and topic.startswith(RETRY_PREFIX):
            return [] if group is None else [(retry_topic(group), Perm.SUB)]
        return [] if topic is None else [(topic, Perm.PUB)]

    return Rule(Level.PERMS, "PUB of the topic", needs)


ADMIN: Final = Rule(Level.ADMIN, "an admin")
KEY: Final = Rule(Level.KEY, "any key")
ANYBODY: Final = Rule(Level.ANYBODY, "nothing, not even a key")

_SUB_BOTH: Final = _perms(_topic(Perm.SUB), _group("consumerGroup"))
_POPPED: Final = _perms(_popped())
_OFFSETS: Final = _perms(_topic(Perm.ANY))
_HEARTBEAT: Final = Rule(Level.PERMS, "SUB of its groups and their topics", _heartbeat)

STRICT: Final[Mapping[int, Rule]] = {
    RequestCode.SEND_MESSAGE: _send("topic", "properties"),
    RequestCode.SEND_MESSAGE_V2: _send("b", "i"),
    RequestCode.SEND_BATCH_MESSAGE: _send("b", "i"),
    RequestCode.SEND_REPLY_MESSAGE: _send("topic", "properties"),
    RequestCode.SEND_REPLY_MESSAGE_V2: _send("b", "i"),
    RequestCode.END_TRANSACTION: _perms(_message(Perm.PUB, "commitLogOffset")),
    LaterCode.RECALL_MESSAGE: _perms(_topic(Perm.PUB)),
    RequestCode.PULL_MESSAGE: _SUB_BOTH,
    LaterCode.LITE_PULL_MESSAGE: _SUB_BOTH,
    RequestCode.QUERY_MESSAGE: _perms(_topic(Perm.SUB)),
    RequestCode.VIEW_MESSAGE_BY_ID: _perms(_message(Perm.SUB, "offset")),
    # The answer contains the filter of the group, so SUB of the group is needed as well.
    RequestCode.QUERY_CONSUME_QUEUE: _SUB_BOTH,
    RequestCode.CONSUMER_SEND_MSG_BACK: _perms(_group("group"), _message(Perm.SUB, "offset")),
    RequestCode.QUERY_CONSUMER_OFFSET: _SUB_BOTH,
    RequestCode.UPDATE_CONSUMER_OFFSET: _SUB_BOTH,
    RequestCode.SEARCH_OFFSET_BY_TIMESTAMP: _OFFSETS,
    RequestCode.GET_MAX_OFFSET: _OFFSETS,
    RequestCode.GET_MIN_OFFSET: _OFFSETS,
    RequestCode.GET_EARLIEST_MSG_STORETIME: _OFFSETS,
    RequestCode.HEART_BEAT: _HEARTBEAT,
    RequestCode.UNREGISTER_CLIENT: _perms(_group("consumerGroup")),
    RequestCode.GET_CONSUMER_LIST_BY_GROUP: _perms(_group("consumerGroup")),
    RequestCode.REGISTER_MESSAGE_FILTER_CLASS: _SUB_BOTH,
    RequestCode.LOCK_BATCH_MQ: _locks(LockBatchRequestBody),
    RequestCode.UNLOCK_BATCH_MQ: _locks(UnlockBatchRequestBody),
    RequestCode.CHECK_CLIENT_CONFIG: Rule(
        Level.PERMS, "SUB of the group and the topic", _checked_filter
    ),
    RequestCode.GET_TOPIC_STATS_INFO: _OFFSETS,
    RequestCode.QUERY_TOPIC_CONSUME_BY_WHO: _OFFSETS,
    RequestCode.GET_CONSUMER_CONNECTION_LIST: _perms(_group("consumerGroup")),
    RequestCode.GET_CONSUME_STATS: _perms(_group("consumerGroup"), _optional_topic()),
    RequestCode.GET_CONSUMER_RUNNING_INFO: _perms(_group("consumerGroup")),
    RequestCode.INVOKE_BROKER_TO_GET_CONSUMER_STATUS: _perms(_group("group")),
    RequestCode.QUERY_CONSUME_TIME_SPAN: _perms(_topic(Perm.ANY), _group("group")),
    LaterCode.POP_MESSAGE: _SUB_BOTH,
    LaterCode.PEEK_MESSAGE: _SUB_BOTH,
    LaterCode.NOTIFICATION: _SUB_BOTH,
    LaterCode.POLLING_INFO: _SUB_BOTH,
    LaterCode.ACK_MESSAGE: _POPPED,
    LaterCode.CHANGE_MESSAGE_INVISIBLETIME: _POPPED,
    LaterCode.BATCH_ACK_MESSAGE: Rule(Level.PERMS, "SUB of its topics and groups", _batch_ack),
    LaterCode.GET_TOPIC_CONFIG: _OFFSETS,
    LaterCode.GET_SUBSCRIPTIONGROUP_CONFIG: _perms(_group("group")),
    LaterCode.QUERY_ASSIGNMENT: Rule(Level.PERMS, "SUB of the topic and the group", _assignment),
}
"""The requests of ordinary clients; every other request needs an admin."""

JAVA: Final[Mapping[int, Rule]] = {
    RequestCode.SEND_MESSAGE: _java_send("topic", "group"),
    RequestCode.SEND_MESSAGE_V2: _java_send("b", "a"),
    RequestCode.CONSUMER_SEND_MSG_BACK: _perms(_group("group")),
    RequestCode.PULL_MESSAGE: _SUB_BOTH,
    RequestCode.QUERY_MESSAGE: _perms(_topic(Perm.SUB)),
    RequestCode.HEART_BEAT: _HEARTBEAT,
    RequestCode.UNREGISTER_CLIENT: _perms(_group("consumerGroup")),
    RequestCode.GET_CONSUMER_LIST_BY_GROUP: _perms(_group("consumerGroup")),
    RequestCode.UPDATE_CONSUMER_OFFSET: _SUB_BOTH,
    RequestCode.UPDATE_AND_CREATE_TOPIC: ADMIN,
    RequestCode.UPDATE_BROKER_CONFIG: ADMIN,
    RequestCode.UPDATE_AND_CREATE_SUBSCRIPTIONGROUP: ADMIN,
    RequestCode.DELETE_SUBSCRIPTIONGROUP: ADMIN,
    RequestCode.DELETE_TOPIC_IN_BROKER: ADMIN,
    # Unlike Java: a client with an uploaded filter, and a filter server, can read the messages.
    RequestCode.REGISTER_MESSAGE_FILTER_CLASS: _SUB_BOTH,
    RequestCode.REGISTER_FILTER_SERVER: ADMIN,
    # Unlike Java: changing accounts or listing them always needs an admin.
    RequestCode.UPDATE_AND_CREATE_ACL_CONFIG: ADMIN,
    RequestCode.DELETE_ACL_CONFIG: ADMIN,
    RequestCode.UPDATE_GLOBAL_WHITE_ADDRS_CONFIG: ADMIN,
    RequestCode.GET_BROKER_CLUSTER_ACL_CONFIG: ADMIN,
}

ADMIN_WRITES: Final[frozenset[int]] = frozenset({
    RequestCode.UPDATE_AND_CREATE_TOPIC,
    RequestCode.UPDATE_BROKER_CONFIG,
    RequestCode.UPDATE_AND_CREATE_ACL_CONFIG,
    RequestCode.DELETE_ACL_CONFIG,
    RequestCode.UPDATE_GLOBAL_WHITE_ADDRS_CONFIG,
    RequestCode.GET_BROKER_CLUSTER_ACL_CONFIG,
    RequestCode.UPDATE_AND_CREATE_SUBSCRIPTIONGROUP,
    RequestCode.DELETE_SUBSCRIPTIONGROUP,
    RequestCode.DELETE_TOPIC_IN_BROKER,
    RequestCode.INVOKE_BROKER_TO_RESET_OFFSET,
    RequestCode.CLONE_GROUP_OFFSET,
    RequestCode.QUERY_CORRECTION_OFFSET,
    RequestCode.CONSUME_MESSAGE_DIRECTLY,
    RequestCode.RESUME_CHECK_HALF_MESSAGE,
    RequestCode.CLEAN_EXPIRED_CONSUMEQUEUE,
    RequestCode.CLEAN_UNUSED_TOPIC,
    RequestCode.DELETE_EXPIRED_COMMITLOG,
    RequestCode.REGISTER_FILTER_SERVER,
    LaterCode.SET_MESSAGE_REQUEST_MODE,
    ExtensionCode.PROMOTE_SLAVE,
    ExtensionCode.DEMOTE_MASTER,
})  # fmt: skip
"""Without access control these are accepted only from this machine and from adminAddresses. 308 is
among them because it deletes offsets in Java."""

OPEN_CODES: Final[frozenset[int]] = frozenset({
    ExtensionCode.GET_EPOCH, LaterCode.NOTIFY_BROKER_ROLE_CHANGED,
})  # fmt: skip
"""Requests that need no account. A controller has none, and its notice (1008) only lets the broker
ask it, once at a time."""

READS_LOG: Final[frozenset[int]] = frozenset({
    RequestCode.END_TRANSACTION,
    RequestCode.VIEW_MESSAGE_BY_ID,
    RequestCode.CONSUMER_SEND_MSG_BACK,
})  # fmt: skip
"""Requests whose needs depend on the message at a log offset that they name."""


def rule_of(code: int, *, strict: bool) -> Rule:
    """Return the rule of a request code, by the strict rules or by Java's."""
    if code in OPEN_CODES:
        return ANYBODY
    return STRICT.get(code, ADMIN) if strict else JAVA.get(code, KEY)
