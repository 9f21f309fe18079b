"""Descriptions of options in RocketMQ's own tool: name -> letter -> text.

The texts are those of 4.9.7, unchanged; a test compares every page with the tool itself.
"""

from typing import Final

HELP: Final = "Print help"
NAMESRV: Final = "Name server address list, eg: '192.168.0.1:9876;192.168.0.2:9876'"
EITHER: Final[dict[str, str]] = {
    "updateTopic": "bc",
    "updateAclConfig": "bc",
    "deleteAclConfig": "bc",
    "clusterAclConfigVersion": "bc",
    "updateGlobalWhiteAddr": "bc",
    "getAclConfig": "bc",
}
"""Letters of the options of which a command needs one."""
STRAY_BLANKS: Final[dict[str, str]] = {
    "printMsg": "bcsde",
    "printMsgByQueue": "abcsdei",
    "consumeMessage": "se",
}
"""Letters of the options whose long names end with a blank."""
TEXTS: Final[dict[str, dict[str, str]]] = {
    "updateTopic": {
        "p": "set topic's permission(2|4|6), intro[2:W 4:R; 6:RW]",
        "b": "create topic to which broker",
        "r": "set read queue nums",
        "c": "create topic to which cluster",
        "s": "has unit sub (true|false)",
        "t": "topic name",
        "u": "is unit topic (true|false)",
        "w": "set write queue nums",
        "o": "set topic's order(true|false)",
    },
    "deleteTopic": {
        "c": "delete topic from which cluster",
        "t": "topic name",
    },
    "updateSubGroup": {
        "a": "notify consumerId changed",
        "b": "create subscription group to which broker",
        "c": "create subscription group to which cluster",
        "d": "broadcast",
        "g": "consumer group name",
        "i": "consumer from which broker id",
        "m": "from min offset",
        "q": "retry queue nums",
        "r": "retry max times",
        "s": "consume enable",
        "w": "which broker id when consume slowly",
    },
    "deleteSubGroup": {
        "b": "delete subscription group from which broker",
        "r": "remove offset",
        "c": "delete subscription group from which cluster",
        "g": "subscription group name",
    },
    "updateBrokerConfig": {
        "b": "update which broker",
        "c": "update which cluster",
        "v": "config value",
        "k": "config key",
    },
    "updateTopicPerm": {
        "p": "set topic's permission(2|4|6), intro[2:W; 4:R; 6:RW]",
        "b": "create topic to which broker",
        "c": "create topic to which cluster",
        "t": "topic name",
    },
    "topicRoute": {
        "t": "topic name",
        "l": "Use list format to print data",
    },
    "topicStatus": {
        "t": "topic name",
    },
    "topicClusterList": {
        "t": "topic name",
    },
    "brokerStatus": {
        "b": "Broker address",
        "c": "which cluster",
    },
    "queryMsgById": {
        "s": "resend message",
        "d": "The consumer's client id",
        "u": "unit name",
        "g": "consumer group name",
        "i": "Message Id",
    },
    "queryMsgByKey": {
        "t": "topic name",
        "k": "Message Key",
    },
    "queryMsgByUniqueKey": {
        "a": "Print all message, the limit is 32",
        "d": "The consumer's client id",
        "t": "The topic of msg",
        "g": "consumer group name",
        "i": "Message Id",
    },
    "queryMsgByOffset": {
        "b": "Broker Name",
        "t": "topic name",
        "i": "Queue Id",
        "o": "Queue Offset",
    },
    "queryMsgTraceById": {
        "t": "The name value of message trace topic",
        "i": "Message Id",
    },
    "printMsg": {
        "b": "Begin timestamp[currentTimeMillis|yyyy-MM-dd#HH:mm:ss:SSS]",
        "c": "CharsetName(eg: UTF-8,GBK)",
        "s": "Subscribe Expression(eg: TagA || TagB)",
        "t": "topic name",
        "d": "print body",
        "e": "End timestamp[currentTimeMillis|yyyy-MM-dd#HH:mm:ss:SSS]",
    },
    "printMsgByQueue": {
        "p": "print msg. eg: true | false(default)",
        "a": "broker name",
        "b": "Begin timestamp[currentTimeMillis|yyyy-MM-dd#HH:mm:ss:SSS]",
        "c": "CharsetName(eg: UTF-8,GBK)",
        "s": "Subscribe Expression(eg: TagA || TagB)",
        "t": "topic name",
        "d": "print body. eg: true | false(default)",
        "e": "End timestamp[currentTimeMillis|yyyy-MM-dd#HH:mm:ss:SSS]",
        "f": "calculate by tag. eg: true | false(default)",
        "i": "queue id",
    },
    "sendMsgStatus": {
        "b": "Broker Name",
        "s": "Message Size, Default: 128",
        "c": "send message count, Default: 50",
    },
    "brokerConsumeStats": {
        "b": "Broker address",
        "t": "request timeout Millis",
        "l": "threshold of print diff",
        "o": "order topic",
    },
    "producerConnection": {
        "t": "topic name",
        "g": "producer group name",
    },
    "consumerConnection": {
        "b": "broker address",
        "g": "consumer group name",
    },
    "consumerProgress": {
        "s": "Show Client IP per Queue",
        "g": "consumer group name",
    },
    "consumerStatus": {
        "b": "broker address",
        "s": "Run jstack command in the consumer progress",
        "g": "consumer group name",
        "i": "The consumer's client id",
    },
    "cloneGroupOffset": {
        "s": "set source consumer group",
        "d": "set destination consumer group",
        "t": "set the topic",
        "o": "the group or the topic is offline",
    },
    "producer": {
        "b": "broker address",
    },
    "clusterList": {
        "i": "specify intervals numbers, it is in seconds",
        "m": "Print more stats",
    },
    "topicList": {
        "c": "clusterModel",
    },
    "updateKvConfig": {
        "s": "set the namespace",
        "v": "set the key value",
        "k": "set the key name",
    },
    "deleteKvConfig": {
        "s": "set the namespace",
        "k": "set the key name",
    },
    "wipeWritePerm": {
        "b": "broker name",
    },
    "addWritePerm": {
        "b": "broker name",
    },
    "resetOffsetByTime": {
        "s": "set the timestamp[now|currentTimeMillis|yyyy-MM-dd#HH:mm:ss:SSS]",
        "c": "reset c++ client offset",
        "t": "set the topic",
        "f": "set the force rollback by timestamp switch[true|false]",
        "g": "set the consumer group",
    },
    "skipAccumulatedMessage": {
        "t": "set the topic",
        "f": "set the force rollback by timestamp switch[true|false]",
        "g": "set the consumer group",
    },
    "updateOrderConf": {
        "t": "topic name",
        "v": "set order conf [eg. brokerName1:num;brokerName2:num]",
        "m": "option type [eg. put|get|delete",
    },
    "cleanExpiredCQ": {
        "b": "Broker address",
        "c": "clustername",
    },
    "deleteExpiredCommitLog": {
        "b": "Broker address",
        "c": "clustername",
        "n": "Name server address",
    },
    "cleanUnusedTopic": {
        "b": "Broker address",
        "c": "cluster name",
    },
    "startMonitoring": {},
    "statsAll": {
        "a": "print active topic only",
        "t": "print select topic only",
    },
    "allocateMQ": {
        "t": "topic name",
        "i": "ipList",
    },
    "checkMsgSendRT": {
        "a": "message amount | default 100",
        "s": "message size | default 128 Byte",
        "t": "topic name",
    },
    "clusterRT": {
        "p": "print as tlog | default false",
        "a": "message amount | default 100",
        "s": "message size | default 128 Byte",
        "c": "cluster name | default display all cluster",
        "i": "print interval | default 10 seconds",
        "m": "machine room name | default noname",
    },
    "getNamesrvConfig": {},
    "updateNamesrvConfig": {
        "v": "config value",
        "k": "config key",
    },
    "getBrokerConfig": {
        "b": "get which broker",
        "c": "get which cluster",
    },
    "getConsumerConfig": {
        "g": "subscription group name",
    },
    "queryCq": {
        "q": "queue num, ie. 1",
        "b": "broker addr.",
        "c": "how many.",
        "t": "topic name",
        "g": "consumer group.",
        "i": "start queue index.",
    },
    "sendMessage": {
        "p": "UTF-8 string format of the message body",
        "b": "Send message to target broker",
        "c": "Message tags",
        "t": "Topic name",
        "i": "Send message to target queue",
        "k": "Message keys",
        "m": "Message Trace Enable, Default: false",
    },
    "consumeMessage": {
        "b": "Broker name",
        "s": "Begin timestamp[currentTimeMillis|yyyy-MM-dd#HH:mm:ss:SSS]",
        "c": "Number of message to be consumed",
        "t": "Topic name",
        "e": "End timestamp[currentTimeMillis|yyyy-MM-dd#HH:mm:ss:SSS]",
        "g": "Consumer group name",
        "i": "Queue Id",
        "o": "Queue offset",
    },
    "updateAclConfig": {
        "a": "set accessKey in acl config file",
        "b": "update acl config file to which broker",
        "c": "update acl config file to which cluster",
        "s": "set secretKey in acl config file",
        "t": "set topicPerms list,eg: topicA=DENY,topicD=SUB",
        "u": "set default GroupPerm in acl config file",
        "w": "set white ip Address for account in acl config file",
        "g": "set groupPerms list,eg: groupD=DENY,groupD=SUB",
        "i": "set default topicPerm in acl config file",
        "m": "set admin flag in acl config file",
    },
    "deleteAclConfig": {
        "a": "set accessKey in acl config file for deleting which account",
        "b": "delete acl config account from which broker",
        "c": "delete acl config account from which cluster",
    },
    "clusterAclConfigVersion": {
        "b": "query acl config version for which broker",
        "c": "query acl config version for specified cluster",
    },
    "updateGlobalWhiteAddr": {
        "p": "update global white address of specified acl file,eg: /xxx/plain_test.yml",
        "b": "update global white address to which broker",
        "c": "update global white address to which cluster",
        "g": "set globalWhiteRemoteAddress list,eg: 10.10.103.*,192.168.0.*",
    },
    "getAclConfig": {
        "b": "query acl config version for which broker",
        "c": "query acl config version for specified cluster",
    },
    "exportMetadata": {
        "b": "choose a broker to export",
        "c": "choose a cluster to export",
        "s": "need retryTopic and dlqTopic",
        "t": "only export topic metadata",
        "f": "export metadata.json path | default /tmp/rocketmq/export",
        "g": "only export subscriptionGroup metadata",
    },
    "exportConfigs": {
        "c": "choose a cluster to export",
        "f": "export configs.json path | default /tmp/rocketmq/export",
    },
    "exportMetrics": {
        "c": "choose a cluster to export",
        "f": "export metrics.json path | default /tmp/rocketmq/export",
    },
}
