"""Every command of the Java mqadmin beside ours: the same words, the same broker, the same facts.

    Read    both print what is there; the facts of the two outputs are equal
    Write   each does it to a thing of its own (``{side}`` in the words); then the Java tool looks
            at both things, and what it prints of them is equal
    Own     a test of its own does the same: files, a broker with accounts, what never ends

Rule: a fact is what a script would take out of the output: a name, an offset, a number. Where
ours differs on purpose the facts that are left still agree, and ``differs`` says what and why.
"""

from collections.abc import Callable
from dataclasses import dataclass

from tests.interop.parityfacts import (
    Facts,
    Row,
    columns,
    fields,
    java_allocation,
    java_connection,
    java_group,
    java_message,
    java_route,
    java_settings,
    known_names,
    names_of,
    our_connection,
    our_group,
    our_message,
    our_route,
    pattern,
)


@dataclass(frozen=True)
class Read:
    """A command that only looks; ``facts`` says what is compared, in words.

    ``words`` may name what is on the scene, see ``Scene.words``.
    """

    words: str
    java: Callable[[str], Facts]
    ours: Callable[[list[Row]], Facts]
    facts: str
    differs: str = ""
    at_least: bool = False
    """Ours may know more than Java's."""


@dataclass(frozen=True)
class Write:
    """A command that changes something named after ``{side}``; the Java tool ``looks`` at it.

    Offsets of a group that was never online no Java tool shows: ours looks at those.
    """

    words: str
    looks: str
    facts: str
    before: tuple[str, ...] = ()
    differs: str = ""
    leaves_nothing: bool = False
    keep: str = ""
    """Only lines with this in them are compared."""


@dataclass(frozen=True)
class Own:
    """A command that a test of its own compares: it writes files, needs accounts or never ends."""

    facts: str
    differs: str = ""


LAG = columns(0, 1, 2, 3, 4, 5)
OUR_LAG = fields("topic", "broker", "queue_id", "broker_offset", "consumer_offset", "lag")
OFFSETS_OF = "offset show {offline} {topic}"
PRINTED = pattern(r"queueId=(\d+).*?queueOffset=(\d+).*?BODY: (.*)$")
OUR_PRINTED = fields("queue_id", "queue_offset", "body")

READS: dict[str, Read] = {
    "topicList": Read("", columns(0), fields("topic"), "names of all topics"),
    "topicRoute": Read("-t {topic}", java_route, our_route, "brokers, addresses, queue numbers"),
    "topicStatus": Read(
        "-t {topic}",
        columns(0, 1, 2, 3),
        fields("broker", "queue_id", "min_offset", "max_offset"),
        "ends of every queue",
    ),
    "topicClusterList": Read("-t {topic}", columns(0), fields("cluster"), "clusters"),
    "clusterList": Read(
        "",
        columns(0, 1, 2, 3, 4),
        fields("cluster", "broker", "broker_id", "address", "version"),
        "brokers with address and version",
        "`-i N` is `--watch N`; `-m` is `broker stats`",
    ),
    "brokerStatus": Read(
        "-b {address}", names_of, known_names, "names of all values", at_least=True
    ),
    "getBrokerConfig": Read(
        "-b {address}", java_settings, fields("key", "value"), "every setting", at_least=True
    ),
    "getNamesrvConfig": Read("", java_settings, fields("key", "value"), "every setting"),
    "brokerConsumeStats": Read(
        "-b {address}",
        columns(0, 1, 2, 3, 4, 5, 6),
        fields(
            *("topic", "group", "broker", "queue_id", "broker_offset", "consumer_offset", "lag")
        ),
        "offsets and lag of every group",
        "also shows queues that were not read yet",
        at_least=True,
    ),
    "queryMsgById": Read(
        "-i {id}",
        java_message,
        our_message,
        "every field of the message; with `-g -d` what the listener said, with `-s` the message",
        "the body is shown, not written to a file; `-g -d` and `-s` ask first; a message that is "
        "sent again has an id of its own; `-u` is for the name of Java's client, and nothing of "
        "the message",
    ),
    "queryMsgByKey": Read(
        "-t {topic} -k key3",
        columns(0, 1, 2),
        fields("unique_key", "queue_id", "queue_offset"),
        "id and place of every message",
    ),
    "queryMsgByUniqueKey": Read(
        "-t {topic} -i {unique}",
        java_message,
        our_message,
        "every field of the message; with `-g -d` what the listener said",
        "`-g -d` asks first",
    ),
    "queryMsgByOffset": Read(
        "-t {topic} -b {broker} -i 1 -o 2",
        java_message,
        our_message,
        "every field of the message",
    ),
    "printMsg": Read("-t {topic}", PRINTED, OUR_PRINTED, "place and body of every message"),
    "printMsgByQueue": Read(
        "-t {topic} -a {broker} -i 1 -p true -d true",
        PRINTED,
        OUR_PRINTED,
        "place and body of every message",
        "also prints without `-p true`",
    ),
    "consumeMessage": Read(
        "-t {topic} -b {broker} -i 0 -o 1 -c 1",
        PRINTED,
        OUR_PRINTED,
        "place and body of every message",
        "no offset is committed",
    ),
    "queryCq": Read(
        "-t {topic} -q 1 -i 0 -c 3 -b {address}",
        pattern(r"physicOffset=(\d+), physicSize=(\d+), tagsCode=(-?\d+)"),
        fields("log_offset", "size", "tags_code"),
        "every entry",
    ),
    "consumerProgress": Read("-g {online}", LAG, OUR_LAG, "offsets and lag of every queue"),
    "consumerConnection": Read(
        "-g {online}", java_connection, our_connection, "members, type and model"
    ),
    "consumerStatus": Read(
        "-g {online}",
        pattern(r"^\d+\s+(\S+@\S+)"),
        fields("client_id"),
        "members",
        "the inside of a member is printed, no files are written",
    ),
    "producerConnection": Read(
        "-g CLIENT_INNER_PRODUCER -t {topic}",
        pattern(r"^\d{4}\s+(\S+@\S+)\s+(\S+)"),
        fields("client_id", "client_address"),
        "members and their addresses",
    ),
    "producer": Read(
        "-b {address}",
        pattern(r"producer group \((\S+)\) instance : clientId=([^,]+),"),
        fields("group", "client_id"),
        "groups and members",
    ),
    "getConsumerConfig": Read("-g {online}", java_group, our_group, "every setting"),
    "statsAll": Read(
        "-t {topic}",
        columns(0, 1),
        fields("topic", "group"),
        "groups of the topic",
        "also counts the lag of a group without a retry topic; Java's says 0",
    ),
    "allocateMQ": Read(
        "-t {topic} -i a,b",
        java_allocation,
        fields("client_id"),
        "who gets a queue",
        "queues in the order in which consumers deal them out; Java's takes that of a hash set",
    ),
}
"""Commands that look."""

WRITES: dict[str, Write] = {
    "updateTopic": Write(
        "-t Par{side} -r 3 -w 3 -b {address}",
        "topicRoute -t Par{side}",
        "the route",
        differs="changes what is named only; `--replace` resets the rest as Java does",
    ),
    "updateTopicPerm": Write(
        "-t Par{side} -p 4 -b {address}", "topicRoute -t Par{side}", "the route"
    ),
    "updateOrderConf": Write(
        "-t Par{side} -m put -v {broker}:3",
        "updateOrderConf -t Par{side} -m get",
        "the order configuration",
    ),
    "deleteTopic": Write(
        "-t Par{side} -c {cluster}",
        "topicRoute -t Par{side}",
        "that there is no route any more",
        differs="asks first; exit code 3 for a topic that is not there",
    ),
    "updateSubGroup": Write(
        "-g ParG{side} -b {address} -r 5 -q 2", "getConsumerConfig -g ParG{side}", "the settings"
    ),
    "deleteSubGroup": Write(
        "-g ParG{side} -b {address}",
        "getConsumerConfig -g ParG{side}",
        "that there are no settings any more",
        differs="asks first; `undo` brings the group back",
        leaves_nothing=True,
    ),
    "cloneGroupOffset": Write(
        "-s {online} -d Clone{side} -t {topic}",
        "offset show Clone{side} {topic}",
        "offsets of every queue",
        differs="copies the topic that is named; Java's copies all topics",
    ),
    "resetOffsetByTime": Write(
        "-g {offline} -t {topic} -s 0",
        OFFSETS_OF,
        "offsets of every queue",
        before=("skipAccumulatedMessage -g {offline} -t {topic}",),
        differs="also shows the old offset; a group without offsets is not an error",
    ),
    "skipAccumulatedMessage": Write(
        "-g {offline} -t {topic}",
        OFFSETS_OF,
        "offsets of every queue",
        before=("resetOffsetByTime -g {offline} -t {topic} -s 0",),
    ),
    "updateBrokerConfig": Write(
        "-b {address} -k fileReservedTime -v 71",
        "getBrokerConfig -b {address}",
        "the setting",
        keep="fileReservedTime",
        differs="a key that the broker does not know is refused, with the nearest one",
    ),
    "updateNamesrvConfig": Write(
        "-k orderMessageEnable -v true", "getNamesrvConfig", "the setting"
    ),
    "updateKvConfig": Write(
        "-s ORDER_TOPIC_CONFIG -k Kv{side} -v {broker}:1",
        "updateOrderConf -t Kv{side} -m get",
        "the value",
    ),
    "deleteKvConfig": Write(
        "-s ORDER_TOPIC_CONFIG -k Kv{side}",
        "updateOrderConf -t Kv{side} -m get",
        "that there is no value any more",
    ),
    "wipeWritePerm": Write("-b {broker}", "topicRoute -t {topic}", "permissions of the queues"),
    "addWritePerm": Write("-b {broker}", "topicRoute -t {topic}", "permissions of the queues"),
    "cleanExpiredCQ": Write("-b {address}", "topicStatus -t {topic}", "the queues that are left"),
    "cleanUnusedTopic": Write("-b {address}", "topicStatus -t {topic}", "the queues that are left"),
    "deleteExpiredCommitLog": Write(
        "-b {address}", "topicStatus -t {topic}", "the queues that are left"
    ),
    "sendMessage": Write(
        "-t Sent{side} -p hello -k k1 -c A -b {broker} -i 0",
        "printMsg -t Sent{side}",
        "the message",
        before=("updateTopic -t Sent{side} -r 1 -w 1 -b {address}",),
    ),
    "checkMsgSendRT": Write(
        "-t Rt{side} -a 3 -s 16",
        "topicStatus -t Rt{side}",
        "how many messages came",
        before=("updateTopic -t Rt{side} -r 1 -w 1 -b {address}",),
        differs="Java's divides its average by one less than it sends",
    ),
    "sendMsgStatus": Write(
        "-b Rt{side} -s 16 -c 2",
        "printMsg -t NoSuchTopicAtAll",
        "that it ends well",
        before=("updateTopic -t Rt{side} -r 1 -w 1 -b {address}",),
        differs="Java's sends one message before the ones that it counts",
    ),
}
"""Commands that change something, in the order in which they run."""

OWN: dict[str, Own] = {
    "clusterRT": Own("brokers, and how many messages each took"),
    "updateAclConfig": Own(
        "every field of the account", "changes what is named only; secrets are never printed"
    ),
    "deleteAclConfig": Own(
        "that there is no account any more", "asks first; `undo` restores the account"
    ),
    "getAclConfig": Own("every field of every account", "secrets are never printed"),
    "clusterAclConfigVersion": Own("file and time of its last change"),
    "updateGlobalWhiteAddr": Own("addresses that need no account"),
    "exportMetadata": Own("the file, topic by topic and group by group"),
    "exportConfigs": Own("the file, setting by setting"),
    "exportMetrics": Own("the file, key by key; numbers but rates"),
    "queryMsgTraceById": Own(
        "group, time and success of the send", "joined with what brokers know of the message"
    ),
}
"""Commands that tests of their own compare."""

APART: dict[str, str] = {
    "startMonitoring": "Java's does not print or end: once a minute it writes the lag of each "
    "group with a retry topic to its log file; ours prints the findings of `doctor` every minute",
}
"""Commands that cannot be compared, and why."""

_SECRETS = "prints the same, but ****** for a password"
_PRINTS = "prints the same"
FIVE: dict[str, str] = {
    **dict.fromkeys(
        (
            *("copyAcl", "copyUser", "createAcl", "createUser", "deleteAcl", "deleteUser"),
            *("getAcl", "listAcl", "updateAcl"),
        ),
        _PRINTS,
    ),
    **dict.fromkeys(("getUser", "listUser"), _SECRETS),
    "updateUser": f"{_PRINTS}; takes several of `-p`, `-t` and `-s` at once",
    **dict.fromkeys(
        (
            *("getColdDataFlowCtrInfo", "updateColdDataFlowCtrGroupConfig"),
            *("removeColdDataFlowCtrGroupConfig", "setCommitLogReadAheadMode"),
            *("switchTimerEngine", "checkRocksdbCqWriteProgress", "dumpCompactionLog"),
        ),
        _PRINTS,
    ),
    "exportPopRecord": f"{_PRINTS}; `-d true` is a dry run, where Java's takes `-d false` for one",
    "exportMetadataInRocksDB": _PRINTS,
    "rocksDBConfigToJson": f"{_PRINTS} with `-c` and `-p`; instead of `-e`, redirect the output",
    **dict.fromkeys(
        ("updateStaticTopic", "remappingStaticTopic"),
        f"{_PRINTS}, and each broker leads as many queues; `-mf`, which Java's never reads, is "
        "refused",
    ),
    "electMaster": _PRINTS,
    **dict.fromkeys(
        ("addBroker", "removeBroker"),
        f"{_PRINTS}, and sends the same request, to a container that notes it",
    ),
}
"""What the modules of ``test_compat_five.ELSEWHERE`` found of names that came with 5.x."""
