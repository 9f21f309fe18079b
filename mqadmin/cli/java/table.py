"""The names of RocketMQ's own tool, their commands, and the parameters that their flags fill.

Rule: flags are those of the tool of 4.9.7, and every one that came with 5.x; a test compares
them with the tool itself. Most names that came with 5.x are in ``later.py``. Flags without a
meaning here are accepted and ignored, or are refused with what says the same; those of 5.x
are accepted only where ours does what they ask for.
"""

from typing import Final

from mqadmin.cli.java.later import LATER
from mqadmin.cli.java.names import Branch, Java, JavaOption
from mqadmin.cli.java.values import (
    ids_of_semicolons,
    index_of,
    seconds_of_ms,
    utf_8,
)
from mqadmin.cli.positions import entry_of, parse_force, parse_timestamp
from mqadmin.cli.tree import fold
from mqadmin.cli.types import falsehood

BROKER: Final = JavaOption("b", "brokerAddr", "broker")
ONE_BROKER: Final = BROKER._replace(required=True)
CLUSTER: Final = JavaOption("c", "clusterName", "cluster")
TOPIC: Final = JavaOption("t", "topic", "topic", required=True)
ONE_CLUSTER: Final = CLUSTER._replace(required=True)
GROUP: Final = JavaOption("g", "groupName", "group", required=True)
BROKER_NAME: Final = JavaOption("b", "brokerName", "broker", required=True)
SHORT_CLUSTER: Final = JavaOption("c", "cluster", "cluster")
CLUSTER_OF_5: Final = JavaOption("c", "cluster", "cluster", since_5=True)
BODY_FORMAT: Final = JavaOption(
    "f", "bodyFormat", parse=utf_8, since_5=True, means="bodies are shown as UTF-8, and only so"
)
TOPIC_OF_5: Final = JavaOption("t", "topic", "topic", since_5=True)
DIRECTORY: Final = JavaOption("f", "filePath", "directory")
ANY_GROUP: Final = JavaOption("g", "consumerGroup")
ANY_CLIENT: Final = JavaOption("d", "clientId")
SEND_AGAIN: Final = JavaOption("s", "sendMessage")
UNIT: Final = JavaOption("u", "unitName")
MSG_ID: Final = JavaOption("i", "msgId", "message_id", required=True)
MSG_IDS: Final = MSG_ID._replace(field="message_ids")
TO_GROUP: Final = JavaOption("g", "consumerGroup", "group")
TO_CLIENT: Final = JavaOption("d", "clientId", "client")
LIST_FILE: Final = JavaOption("f", "filename", "file", required=True)
NAMESPACE: Final = JavaOption("s", "namespace", "namespace", required=True)
PRINTED: Final = (
    JavaOption("b", "beginTimestamp", "from_"),
    JavaOption("e", "endTimestamp", "to"),
    JavaOption("s", "subExpression", "tag"),
    JavaOption("c", "charsetName", parse=utf_8),
    JavaOption("d", "printBody", "no_body", parse=falsehood),
)
CONTROLLERS: Final = JavaOption("a", "controllerAddress", "controller", required=True)
CONTAINER: Final = JavaOption("c", "brokerContainerAddr", "container", required=True)
GROUP_OF_BROKERS: Final = JavaOption("bn", "brokerName", "group", required=True)
KEY: Final = JavaOption("k", "key", "key", required=True)
VALUE: Final = JavaOption("v", "value", "value", required=True)
"""Flags that many names have."""
SERVERS: Final = ("broker", "cluster")
"""Options of which many names need one."""
EXPORTS: Final = (("directory", "/tmp/rocketmq/export"),)
"""Where Java's tool writes its exports."""

JAVA: Final = (
    Java(
        "addBroker",
        "broker container add",
        (CONTAINER, JavaOption("b", "brokerConfigPath", "path", required=True)),
    ),
    Java("addWritePerm", "broker write-perm add", (BROKER_NAME,)),
    Java(
        "allocateMQ",
        "rebalance plan",
        (TOPIC, JavaOption("i", "ipList", "add", required=True)),
        preset=(("group", "ALLOCATE_MQ"),),
    ),
    Java(
        "brokerConsumeStats",
        "broker consume-stats",
        (
            ONE_BROKER,
            JavaOption("t", "timeoutMillis", "timeout", parse=seconds_of_ms),
            JavaOption("l", "level", "min_lag"),
            JavaOption("o", "order", "order"),
        ),
    ),
    Java("brokerStatus", "broker status", (BROKER, CLUSTER), any_of=SERVERS),
    Java(
        "checkMsgSendRT",
        "message bench",
        (TOPIC, JavaOption("a", "amount", "count"), JavaOption("s", "size", "size")),
        preset=(("count", "100"), ("threads", "1"), ("each", "")),
    ),
    Java(
        "cleanBrokerMetadata",
        "controller clean",
        (
            CONTROLLERS,
            JavaOption("b", "brokerControllerIdsToClean", "broker_ids", parse=ids_of_semicolons),
            GROUP_OF_BROKERS,
            CLUSTER,
            JavaOption("l", "cleanLivingBroker", "living", has_arg=False),
        ),
    ),
    Java("cleanExpiredCQ", "broker clean expired-queues", (BROKER, SHORT_CLUSTER)),
    Java("cleanUnusedTopic", "broker clean unused-topics", (BROKER, SHORT_CLUSTER)),
    Java(
        "cloneGroupOffset",
        "offset clone",
        (
            JavaOption("s", "srcGroup", "source", required=True),
            JavaOption("d", "destGroup", "target", required=True),
            TOPIC,
            JavaOption("o", "offline"),
        ),
    ),
    Java("clusterAclConfigVersion", "acl version", (BROKER, CLUSTER), any_of=SERVERS),
    Java(
        "clusterList",
        "cluster list",
        (
            JavaOption("i", "interval", "watch"),
            JavaOption("m", "moreStats", "totals", has_arg=False),
            JavaOption("c", "clusterName", "cluster", since_5=True),
        ),
    ),
    Java(
        "clusterRT",
        "cluster rt",
        (
            JavaOption("a", "amount", "count"),
            JavaOption("s", "size", "size"),
            SHORT_CLUSTER,
            JavaOption("p", "print log", "log"),
            JavaOption("m", "machine room", "room"),
            JavaOption("i", "interval", "every"),
        ),
        preset=(("count", "100"), ("every", "10")),
    ),
    Java(
        "consumeMessage",
        "message print",
        (
            TOPIC,
            JavaOption("b", "brokerName", "broker"),
            JavaOption("i", "queueId", "queue"),
            JavaOption("o", "offset", "start"),
            JavaOption("c", "MessageNumber", "limit"),
            JavaOption("s", "beginTimestamp", "from_"),
            JavaOption("e", "endTimestamp", "to"),
            ANY_GROUP,
        ),
        preset=(("limit", "128"),),
    ),
    Java(
        "consumerConnection",
        "group show",
        (JavaOption("g", "consumerGroup", "group", required=True), BROKER),
    ),
    Java(
        "consumerProgress",
        "group lag",
        (
            JavaOption("g", "groupName", "group"),
            JavaOption("s", "showClientIP", "no_clients", parse=falsehood),
            JavaOption("t", "topicName", "topic", since_5=True),
            CLUSTER_OF_5,
        ),
        preset=(("no_clients", ""),),
    ),
    Java(
        "consumerStatus",
        "group running",
        (
            JavaOption("g", "consumerGroup", "group", required=True),
            JavaOption("i", "clientId", "client"),
            JavaOption("s", "jstack", "jstack", has_arg=False),
            BROKER,
        ),
    ),
    Java(
        "deleteAclConfig",
        "acl delete",
        (BROKER, CLUSTER, JavaOption("a", "accessKey", "account", required=True)),
        aliases=("deleteAccessConfig",),
        any_of=SERVERS,
    ),
    Java("deleteExpiredCommitLog", "broker clean expired-log", (BROKER, SHORT_CLUSTER)),
    Java("deleteKvConfig", "namesrv kv delete", (NAMESPACE, KEY)),
    Java(
        "deleteSubGroup",
        "group delete",
        (GROUP, BROKER, CLUSTER, JavaOption("r", "removeOffset", "offsets")),
        preset=(("topics", "true"),),
        any_of=SERVERS,
    ),
    Java("deleteTopic", "topic delete", (ONE_CLUSTER, TOPIC)),
    Java(
        "electMaster",
        "controller elect",
        (
            CONTROLLERS,
            JavaOption("b", "brokerId", "broker_id", required=True),
            GROUP_OF_BROKERS,
            ONE_CLUSTER,
        ),
    ),
    Java("exportConfigs", "export configs", (ONE_CLUSTER, DIRECTORY), preset=EXPORTS),
    Java(
        "exportMetadata",
        "export metadata",
        (
            CLUSTER,
            BROKER,
            DIRECTORY,
            JavaOption("t", "topic", "only", has_arg=False, value="topics"),
            JavaOption("g", "subscriptionGroup", "only", has_arg=False, value="groups"),
            JavaOption("s", "specialTopic", "special", has_arg=False),
        ),
        preset=EXPORTS,
        any_of=("cluster", "broker"),
    ),
    Java("exportMetrics", "export metrics", (ONE_CLUSTER, DIRECTORY), preset=EXPORTS),
    Java(
        "getAclConfig",
        "acl list",
        (BROKER, CLUSTER),
        aliases=("getAccessConfigSubCommand",),
        any_of=SERVERS,
    ),
    Java("getBrokerConfig", "broker config get", (BROKER, CLUSTER), any_of=SERVERS),
    Java("getConsumerConfig", "group config", (GROUP,)),
    Java(
        "getBrokerEpoch",
        "ha epochs",
        (
            CLUSTER,
            JavaOption("b", "brokerName", "broker"),
            JavaOption("i", "interval"),
        ),
        any_of=SERVERS,
    ),
    Java("getControllerConfig", "controller config get", (CONTROLLERS,)),
    Java("getControllerMetaData", "controller leader", (CONTROLLERS,)),
    Java("getNamesrvConfig", "namesrv config get", ()),
    Java(
        "getSyncStateSet",
        "controller status",
        (
            CONTROLLERS,
            CLUSTER,
            JavaOption("b", "brokerName", "groups"),
            JavaOption("i", "interval"),
        ),
        any_of=("groups", "cluster"),
    ),
    Java("haStatus", "ha status", (BROKER, CLUSTER, JavaOption("i", "interval"))),
    Java(
        "printMsg",
        "message print",
        (TOPIC, *PRINTED, JavaOption("l", "lmqParentTopic", "parent", since_5=True)),
    ),
    Java(
        "printMsgByQueue",
        "message print",
        (
            TOPIC,
            JavaOption("a", "brokerName", "broker", required=True),
            JavaOption("i", "queueId", "queue", required=True),
            JavaOption("p", "print msg"),
            JavaOption("f", "calculate", "count_tags"),
            *PRINTED,
        ),
    ),
    Java(
        "producer",
        "broker connections",
        (JavaOption("b", "broker", "broker", required=True),),
        preset=(("kind", "producer"),),
    ),
    Java(
        "producerConnection",
        "broker connections",
        (JavaOption("g", "producerGroup", "group", required=True), TOPIC),
        preset=(("kind", "producer"),),
    ),
    Java(
        "queryCq",
        "queue show",
        (
            TOPIC,
            JavaOption("q", "queue", "queue", required=True),
            JavaOption("i", "index", "start", required=True),
            JavaOption("c", "count", "limit"),
            JavaOption("b", "broker", "broker"),
            JavaOption("g", "consumer", "group"),
        ),
    ),
    Java(
        "queryMsgById",
        "message query id",
        (
            MSG_IDS,
            ANY_GROUP,
            ANY_CLIENT,
            SEND_AGAIN,
            UNIT,
            TOPIC_OF_5,
            CLUSTER_OF_5,
            BODY_FORMAT,
        ),
        branches=(Branch(("g", "d"), "message consume-direct"), Branch(("s",), "message resend")),
    ),
    Java(
        "queryMsgById",
        "message consume-direct",
        (MSG_ID, TO_GROUP, TO_CLIENT, SEND_AGAIN, UNIT, TOPIC_OF_5),
        is_branch=True,
    ),
    Java(
        "queryMsgById",
        "message resend",
        (MSG_IDS, ANY_GROUP, ANY_CLIENT, SEND_AGAIN, UNIT, TOPIC_OF_5),
        is_branch=True,
    ),
    Java(
        "queryMsgByKey",
        "message query key",
        (
            TOPIC,
            JavaOption("k", "msgKey", "key", required=True),
            JavaOption("b", "beginTimestamp", "from_", since_5=True),
            JavaOption("e", "endTimestamp", "to", since_5=True),
            JavaOption("m", "maxNum", "count", since_5=True),
            CLUSTER_OF_5,
            JavaOption("p", "keyType", "index", parse=index_of, since_5=True),
            JavaOption("l", "lastKey", "last_key", since_5=True),
        ),
    ),
    Java(
        "queryMsgByOffset",
        "message query offset",
        (
            BROKER_NAME,
            TOPIC,
            JavaOption("i", "queueId", "queue", required=True),
            JavaOption("o", "offset", "queue_offset", required=True),
            BODY_FORMAT,
        ),
    ),
    Java(
        "queryMsgByUniqueKey",
        "message query unique-key",
        (
            TOPIC,
            MSG_ID,
            JavaOption("a", "showAll", "all_", has_arg=False),
            ANY_GROUP,
            ANY_CLIENT,
            CLUSTER_OF_5,
            JavaOption("s", "startTime", "from_", since_5=True),
            JavaOption("e", "endTime", "to", since_5=True),
        ),
        branches=(Branch(("g", "d"), "message consume-direct"),),
    ),
    Java(
        "queryMsgByUniqueKey",
        "message consume-direct",
        (TOPIC, MSG_ID, JavaOption("a", "showAll", has_arg=False), TO_GROUP, TO_CLIENT),
        is_branch=True,
    ),
    Java(
        "queryMsgTraceById",
        "message trace",
        (
            JavaOption("i", "msgId", "which", required=True),
            JavaOption("t", "traceTopic", "trace_topic"),
            JavaOption("b", "beginTimestamp", "from_", since_5=True),
            JavaOption("e", "endTimestamp", "to", since_5=True),
            JavaOption("c", "maxNum", "count", since_5=True),
        ),
        aliases=("QueryMsgTraceById",),
    ),
    Java(
        "removeBroker",
        "broker container remove",
        (CONTAINER, JavaOption("b", "brokerIdentity", "broker", required=True)),
    ),
    Java(
        "resetMasterFlushOffset",
        "ha reset-flush-offset",
        (BROKER, JavaOption("o", "offset", "offset")),
    ),
    Java(
        "resetOffsetByTime",
        "offset reset",
        (
            JavaOption("g", "group", "group", required=True),
            TOPIC,
            JavaOption("s", "timestamp", "to", required=True, parse=parse_timestamp),
            JavaOption("f", "force", "only_back", parse=falsehood),
            JavaOption("c", "cplus", "cpp", has_arg=False),
            JavaOption("b", "broker", "broker", since_5=True),
            JavaOption("q", "queue", "queue", since_5=True),
            JavaOption("", "offset", "to", parse=entry_of, since_5=True, wins=True),
        ),
    ),
    Java(
        "sendMessage",
        "message send",
        (
            TOPIC,
            JavaOption("p", "body", "body", required=True),
            JavaOption("k", "key", "key"),
            JavaOption("c", "tags", "tag"),
            JavaOption("b", "broker", "broker"),
            JavaOption("i", "qid", "queue"),
            JavaOption("m", "msgTraceEnable", "trace"),
        ),
    ),
    Java(
        "sendMsgStatus",
        "message bench",
        (
            JavaOption("b", "brokerName", "topic", required=True),
            JavaOption("s", "messageSize", "size"),
            JavaOption("c", "count", "count"),
        ),
        preset=(("count", "50"), ("threads", "1"), ("each", "")),
    ),
    Java(
        "skipAccumulatedMessage",
        "offset skip",
        (
            JavaOption("g", "group", "group", required=True),
            TOPIC,
            JavaOption("f", "force", parse=parse_force),
            CLUSTER_OF_5,
        ),
    ),
    Java("startMonitoring", "doctor", (), preset=(("watch", "60"), ("backlog", "0"))),
    Java(
        "statsAll",
        "group tps",
        (
            JavaOption("a", "activeTopic", "active", has_arg=False),
            JavaOption("t", "topic", "topic"),
        ),
    ),
    Java("topicClusterList", "topic clusters", (TOPIC,)),
    Java("topicList", "topic list", (JavaOption("c", "clusterModel", "groups", has_arg=False),)),
    Java("topicRoute", "topic route", (TOPIC, JavaOption("l", "list", "brief", has_arg=False))),
    Java("topicStatus", "topic status", (TOPIC, CLUSTER_OF_5)),
    Java(
        "updateAclConfig",
        "acl set",
        (
            BROKER,
            CLUSTER,
            JavaOption("a", "accessKey", "account", required=True),
            JavaOption("s", "secretKey", "secret", required=True),
            JavaOption("w", "whiteRemoteAddress", "white_addr"),
            JavaOption("i", "defaultTopicPerm", "default_topic_perm"),
            JavaOption("u", "defaultGroupPerm", "default_group_perm"),
            JavaOption("t", "topicPerms", "topic_perm"),
            JavaOption("g", "groupPerms", "group_perm"),
            JavaOption("m", "admin", "admin"),
        ),
        any_of=SERVERS,
    ),
    Java(
        "updateBrokerConfig",
        "broker config set",
        (
            BROKER,
            CLUSTER,
            JavaOption(
                "a", "updateAllBroker", since_5=True, means="`-c` always includes the slaves"
            ),
            KEY,
            VALUE,
        ),
        any_of=SERVERS,
    ),
    Java("updateControllerConfig", "controller config set", (CONTROLLERS, KEY, VALUE)),
    Java(
        "updateGlobalWhiteAddr",
        "acl white-addr",
        (
            BROKER,
            CLUSTER,
            JavaOption("g", "globalWhiteRemoteAddresses", "patterns", required=True),
            JavaOption("p", "aclFileFullPath", "file"),
        ),
        any_of=SERVERS,
    ),
    Java("updateKvConfig", "namesrv kv set", (NAMESPACE, KEY, VALUE)),
    Java("updateNamesrvConfig", "namesrv config set", (KEY, VALUE)),
    Java(
        "updateOrderConf",
        "topic order-conf",
        (
            TOPIC,
            JavaOption("v", "orderConf", "conf"),
            JavaOption("m", "method", "method", required=True),
        ),
    ),
    Java(
        "updateSubGroup",
        "group update",
        (
            GROUP,
            BROKER,
            CLUSTER,
            JavaOption("s", "consumeEnable", "consume_enable"),
            JavaOption("m", "consumeFromMinEnable", "consume_from_min_enable"),
            JavaOption("d", "consumeBroadcastEnable", "consume_broadcast_enable"),
            JavaOption("q", "retryQueueNums", "retry_queue_nums"),
            JavaOption("r", "retryMaxTimes", "retry_max_times"),
            JavaOption("i", "brokerId", "broker_id"),
            JavaOption("w", "whichBrokerWhenConsumeSlowly", "which_broker_when_consume_slowly"),
            JavaOption("a", "notifyConsumerIdsChanged", "notify_consumer_ids_changed_enable"),
            JavaOption("", "consumeMessageOrderly", "consume_message_orderly", since_5=True),
            JavaOption("p", "groupRetryPolicy", "group_retry_policy", since_5=True),
            JavaOption("", "attributes", "attributes", since_5=True),
        ),
        preset=(("create", "true"),),
        any_of=SERVERS,
    ),
    Java("updateSubGroupList", "group import", (BROKER, CLUSTER, LIST_FILE)),
    Java(
        "updateTopic",
        "topic update",
        (
            BROKER,
            CLUSTER,
            TOPIC,
            JavaOption("r", "readQueueNums", "read_queues"),
            JavaOption("w", "writeQueueNums", "write_queues"),
            JavaOption("p", "perm", "perm"),
            JavaOption("o", "order", "order"),
            JavaOption("u", "unit", "unit"),
            JavaOption("s", "hasUnitSub", "unit_sub"),
            JavaOption("a", "attributes", "attributes", since_5=True),
        ),
        preset=(("create", "true"),),
        any_of=SERVERS,
    ),
    Java("updateTopicList", "topic import", (BROKER, CLUSTER, LIST_FILE)),
    Java(
        "updateTopicPerm",
        "topic perm",
        (TOPIC, JavaOption("p", "perm", "perm", required=True), BROKER, CLUSTER),
        any_of=SERVERS,
    ),
    Java("wipeWritePerm", "broker write-perm wipe", (BROKER_NAME,)),
    *LATER,
)


def java_of(word: str, command: str | None = None) -> Java | None:
    """Return the entry of a name in any case, for one of its commands if given."""
    folded = fold(word)
    for java in JAVA:
        matches = not java.is_branch if command is None else java.command == command
        if matches and folded in map(fold, (java.name, *java.aliases)):
            return java
    return None


def native_of(word: str) -> str | None:
    """Return the command of a name of Java's tool, None if the name is unknown."""
    java = java_of(word)
    return java.command if java is not None else None


def spellings() -> dict[str, str]:
    """Return every name as Java spells it, and the native one."""
    return {
        name: java.command
        for java in JAVA
        if not java.is_branch
        for name in (java.name, *java.aliases)
    }
