"""What each request needs under ACL 2.0: actions on topics, groups and the cluster.

    JAVA     the requests that 5.4.0 checks; any authenticated user may send all others
    strict   also the requests that 5.4.0 does not check: each needs the rights of a 4.9 account
             (``rules``), expressed as Pub and Sub, or an action on the cluster

Rule: any one action of a need is enough, but every need has to be met; they are checked in this
order, since the first unmet one is the one that is reported. A retry topic stands for its group, a
dead letter topic for itself.

Source: auth/authorization/builder/DefaultAuthorizationContextBuilder.java and the annotations
RocketMQAction and RocketMQResource of the request headers (5.4.0).
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Final, NamedTuple

from mqserver.broker.acl.accounts import Perm
from mqserver.broker.acl.rules import STRICT, TopicAt
from remoting.bodies import HeartbeatData, LockBatchRequestBody, UnlockBatchRequestBody
from remoting.codes import LaterCode, RequestCode
from remoting.command import Command
from remoting.policies import Pattern, Resource
from storefmt.names import RETRY_PREFIX

PUB, SUB, CREATE, UPDATE, DELETE, GET = "Pub", "Sub", "Create", "Update", "Delete", "Get"
TOPIC, GROUP, CLUSTER = "Topic", "Group", "Cluster"


class Need(NamedTuple):
    """The actions on one resource of which at least one must be allowed."""

    resource: Resource
    actions: tuple[str, ...]


class Fields(NamedTuple):
    """Fields of a request that name resources, and the actions that it needs on each.

    Attributes:
        fields: the type of a resource, and the field that names it.
        separator: between several names in one field; by field.
    """

    actions: tuple[str, ...]
    fields: tuple[tuple[str, str], ...]
    separators: Mapping[str, str] = {}

    def of(self, command: Command) -> Iterator[Need]:
        """Yield the needs of a request; a field that it leaves out needs nothing."""
        for kind, field in self.fields:
            text = command.ext.get(field)
            if text is None:
                continue
            separator = self.separators.get(field)
            for name in text.split(separator) if separator else (text,):
                if name or not separator:
                    yield named(kind, name, *self.actions)

    @property
    def text(self) -> str:
        """The needs in words, for the printed table."""
        words = " or ".join(self.actions)
        return ", ".join(f"{words} on the {kind.lower()} `{field}`" for kind, field in self.fields)


class Computed(NamedTuple):
    """Needs that are computed from a request; none for a request that names nothing."""

    text: str
    of: Callable[[Command], Iterable[Need]]


class OnCluster(NamedTuple):
    """An action on the cluster."""

    action: str

    @property
    def text(self) -> str:
        """The needs in words, for the printed table."""
        return f"{self.action} on the cluster"


Rights = Fields | Computed | OnCluster


def literal(kind: str, name: str) -> Resource:
    """Return the resource of one topic, group or cluster."""
    return Resource(kind, name, Pattern.LITERAL)


def named(kind: str, name: str, *actions: str) -> Need:
    """Return a need for a resource that a request names; a retry topic stands for its group."""
    if kind == TOPIC and name.startswith(RETRY_PREFIX):
        return Need(literal(GROUP, name.removeprefix(RETRY_PREFIX)), actions)
    return Need(literal(kind, name), actions)


def _on(*actions: str, **fields: str) -> Fields:
    return Fields(actions, tuple((kind.capitalize(), field) for kind, field in fields.items()))


def _sent(key: str) -> Computed:
    """Return the rights of a send: Pub on the topic, or Sub on the group of a retry topic."""

    def of(command: Command) -> Iterator[Need]:
        topic = command.ext.get(key)
        if topic is not None:
            yield named(TOPIC, topic, SUB if topic.startswith(RETRY_PREFIX) else PUB)

    return Computed(f"Pub on the topic `{key}`; Sub on its group if it is a retry topic", of)


def _read(*actions: str) -> Computed:
    """Return the rights of a read of a queue: those on the group cover its retry topic."""

    def of(command: Command) -> Iterator[Need]:
        topic, group = command.ext.get("topic"), command.ext.get("consumerGroup")
        if topic is not None and not topic.startswith(RETRY_PREFIX):
            yield named(TOPIC, topic, *actions)
        if group is not None:
            yield Need(literal(GROUP, group.removeprefix(RETRY_PREFIX)), actions)

    words = " or ".join(actions)
    text = f"{words} on the topic `topic`, unless it is a retry topic, and the group"
    return Computed(f"{text} `consumerGroup`", of)


def _heartbeat(command: Command) -> Iterator[Need]:
    for consumer in HeartbeatData.decode(command.body).consumer_data_set:
        yield named(GROUP, consumer.group_name, SUB)
        for subscription in consumer.subscription_data_set:
            if not subscription.topic.startswith(RETRY_PREFIX):
                yield named(TOPIC, subscription.topic, SUB)


def _locks(kind: type[LockBatchRequestBody | UnlockBatchRequestBody]) -> Computed:
    def of(command: Command) -> Iterator[Need]:
        body = kind.decode(command.body)
        yield named(GROUP, body.consumer_group or "", SUB)
        for topic in sorted({queue.topic for queue in body.mq_set}):
            if not topic.startswith(RETRY_PREFIX):
                yield named(TOPIC, topic, SUB)

    return Computed("Sub on the group and the topics of its body", of)


def _as_named(*actions: str) -> Computed:
    """Return the rights of a request whose topic, even a retry topic, stands for itself."""

    def of(command: Command) -> Iterator[Need]:
        topic = command.ext.get("topic", "")
        if topic.strip():
            yield Need(literal(TOPIC, topic), actions)

    return Computed(f"{' or '.join(actions)} on the topic `topic` if it names one", of)


_TOPIC_GET: Final = _on(GET, topic="topic")
_SUB_POPPED: Final = Fields((SUB,), ((GROUP, "consumerGroup"), (TOPIC, "topic")))

JAVA: Final[Mapping[int, Rights]] = {
    RequestCode.SEND_MESSAGE: _sent("topic"),
    RequestCode.SEND_MESSAGE_V2: _sent("b"),
    RequestCode.SEND_BATCH_MESSAGE: _sent("b"),
    RequestCode.END_TRANSACTION: _as_named(PUB),
    LaterCode.RECALL_MESSAGE: _as_named(PUB),
    RequestCode.CONSUMER_SEND_MSG_BACK: _on(SUB, group="group"),
    RequestCode.PULL_MESSAGE: _read(SUB),
    RequestCode.QUERY_MESSAGE: _as_named(SUB, GET),
    RequestCode.QUERY_CONSUMER_OFFSET: _read(SUB, GET),
    RequestCode.UPDATE_CONSUMER_OFFSET: _read(SUB, UPDATE),
    RequestCode.HEART_BEAT: Computed("Sub on its consumer groups and their topics", _heartbeat),
    RequestCode.UNREGISTER_CLIENT: _on(SUB, group="consumerGroup"),
    RequestCode.GET_CONSUMER_LIST_BY_GROUP: _on(SUB, GET, group="consumerGroup"),
    RequestCode.LOCK_BATCH_MQ: _locks(LockBatchRequestBody),
    RequestCode.UNLOCK_BATCH_MQ: _locks(UnlockBatchRequestBody),
    LaterCode.POP_MESSAGE: _SUB_POPPED,
    LaterCode.ACK_MESSAGE: _SUB_POPPED,
    LaterCode.CHANGE_MESSAGE_INVISIBLETIME: _SUB_POPPED,
    LaterCode.NOTIFICATION: _SUB_POPPED,
    LaterCode.PEEK_MESSAGE: _on(SUB, topic="topic", group="consumerGroup"),
    LaterCode.POLLING_INFO: Fields((GET,), ((GROUP, "consumerGroup"), (TOPIC, "topic"))),
    RequestCode.UPDATE_AND_CREATE_TOPIC: _on(CREATE, topic="topic"),
    RequestCode.DELETE_TOPIC_IN_BROKER: _on(DELETE, topic="topic"),
    RequestCode.DELETE_SUBSCRIPTIONGROUP: _on(DELETE, group="groupName"),
    RequestCode.SEARCH_OFFSET_BY_TIMESTAMP: _TOPIC_GET,
    RequestCode.GET_MAX_OFFSET: _TOPIC_GET,
    RequestCode.GET_MIN_OFFSET: _TOPIC_GET,
    RequestCode.GET_EARLIEST_MSG_STORETIME: _TOPIC_GET,
    RequestCode.VIEW_MESSAGE_BY_ID: _TOPIC_GET,
    RequestCode.GET_TOPIC_STATS_INFO: _TOPIC_GET,
    RequestCode.QUERY_TOPIC_CONSUME_BY_WHO: _TOPIC_GET,
    LaterCode.GET_TOPIC_CONFIG: _TOPIC_GET,
    RequestCode.RESUME_CHECK_HALF_MESSAGE: _on(UPDATE, topic="topic"),
    RequestCode.GET_CONSUMER_CONNECTION_LIST: _on(GET, group="consumerGroup"),
    RequestCode.GET_CONSUMER_RUNNING_INFO: _on(GET, group="consumerGroup"),
    LaterCode.GET_SUBSCRIPTIONGROUP_CONFIG: _on(GET, group="group"),
    RequestCode.GET_CONSUME_STATS: Fields(
        (GET,),
        ((GROUP, "consumerGroup"), (TOPIC, "topic"), (TOPIC, "topicList")),
        {"topicList": ";"},
    ),
    RequestCode.INVOKE_BROKER_TO_RESET_OFFSET: _on(UPDATE, group="group", topic="topic"),
    RequestCode.INVOKE_BROKER_TO_GET_CONSUMER_STATUS: _on(GET, topic="topic", group="group"),
    RequestCode.QUERY_CONSUME_TIME_SPAN: _on(GET, topic="topic", group="group"),
    RequestCode.QUERY_CORRECTION_OFFSET: Fields(
        (GET,),
        ((GROUP, "filterGroups"), (GROUP, "compareGroup"), (TOPIC, "topic")),
        {"filterGroups": ","},
    ),
    RequestCode.CONSUME_MESSAGE_DIRECTLY: _on(SUB, group="consumerGroup", topic="topic"),
    RequestCode.CLONE_GROUP_OFFSET: _on(UPDATE, group="destGroup", topic="topic"),
    RequestCode.QUERY_CONSUME_QUEUE: _on(GET, topic="topic", group="consumerGroup"),
    RequestCode.GET_PRODUCER_CONNECTION_LIST: OnCluster(GET),
    RequestCode.GET_ALL_PRODUCER_INFO: OnCluster(GET),
    RequestCode.VIEW_BROKER_STATS_DATA: OnCluster(GET),
    RequestCode.GET_BROKER_CONSUME_STATS: OnCluster(GET),
    LaterCode.EXCHANGE_BROKER_HA_INFO: OnCluster(UPDATE),
    LaterCode.RESET_MASTER_FLUSH_OFFSET: OnCluster(UPDATE),
    LaterCode.AUTH_CREATE_USER: OnCluster(UPDATE),
    LaterCode.AUTH_UPDATE_USER: OnCluster(UPDATE),
    LaterCode.AUTH_DELETE_USER: OnCluster(UPDATE),
    LaterCode.AUTH_GET_USER: OnCluster(GET),
    LaterCode.AUTH_LIST_USER: OnCluster(GET),
    LaterCode.AUTH_CREATE_ACL: OnCluster(UPDATE),
    LaterCode.AUTH_UPDATE_ACL: OnCluster(UPDATE),
    LaterCode.AUTH_DELETE_ACL: OnCluster(UPDATE),
    LaterCode.AUTH_GET_ACL: OnCluster(GET),
    LaterCode.AUTH_LIST_ACL: OnCluster(GET),
}
"""What 5.4.0 checks, of the requests that this broker handles."""

ALSO_STRICT: Final = frozenset({
    RequestCode.SEND_MESSAGE, RequestCode.SEND_MESSAGE_V2, RequestCode.SEND_BATCH_MESSAGE,
    RequestCode.END_TRANSACTION, RequestCode.CONSUMER_SEND_MSG_BACK, RequestCode.VIEW_MESSAGE_BY_ID,
})  # fmt: skip
"""Requests that 5.4.0 checks by what they name, not by the message that they are about."""

ALSO_CLUSTER: Final = frozenset({
    RequestCode.CONSUME_MESSAGE_DIRECTLY, RequestCode.QUERY_CORRECTION_OFFSET,
})  # fmt: skip
"""Requests that need more than 5.4.0 asks: a message of any topic, or a deletion of offsets."""

READS: Final = frozenset({
    RequestCode.GET_ALL_TOPIC_CONFIG,
    RequestCode.GET_BROKER_CONFIG,
    RequestCode.GET_BROKER_RUNTIME_INFO,
    RequestCode.GET_ALL_CONSUMER_OFFSET,
    RequestCode.GET_ALL_DELAY_OFFSET,
    LaterCode.GET_TIMER_CHECK_POINT,
    LaterCode.GET_TIMER_METRICS,
    RequestCode.GET_ALL_SUBSCRIPTIONGROUP_CONFIG,
    RequestCode.GET_SYSTEM_TOPIC_LIST_FROM_BROKER,
    LaterCode.GET_ALL_MESSAGE_REQUEST_MODE,
    LaterCode.GET_BROKER_EPOCH_CACHE,
})  # fmt: skip
"""Requests that name no resource and only read, which need Get on the cluster; others that name no
resource need Update."""

_ACTIONS: Final = {Perm.PUB: (PUB,), Perm.SUB: (SUB,), Perm.ANY: (PUB, SUB, GET)}


def needs_of(command: Command, *, cluster: str, strict: bool, topic_at: TopicAt) -> Iterator[Need]:
    """Yield what a request needs; all of it has to be met.

    Args:
        command: the request.
        cluster: the name of the cluster of this broker.
        strict: True for the strict rules of this project, False for those of 5.4.0.
        topic_at: returns the topic of a message that a request refers to by its log offset.

    Raises:
        RemotingError: the body cannot be decoded.
        AclError: the message that a request is about cannot be read.
    """
    code, rights = command.code, JAVA.get(command.code)
    names_nothing = True
    if isinstance(rights, OnCluster):
        yield Need(literal(CLUSTER, cluster), (rights.action,))
        return
    if rights is not None:
        for need in rights.of(command):
            names_nothing = False
            yield need
    if not strict:
        return
    if code in STRICT and (rights is None or code in ALSO_STRICT):
        for name, perm in STRICT[code].needs(command, topic_at):
            actions = (SUB, GET) if code == RequestCode.VIEW_MESSAGE_BY_ID else _ACTIONS[perm]
            yield named(TOPIC, name, *actions)
    elif code in ALSO_CLUSTER or (isinstance(rights, Fields | None) and names_nothing):
        yield Need(literal(CLUSTER, cluster), (GET if code in READS else UPDATE,))
