"""The names of RocketMQ's own tool that came with 5.x, as ``table.py`` has those of 4.9.7.

Rule: a test compares names and flags with the tool of 5.4.0.
"""

from collections.abc import Mapping
from typing import Final

from mqadmin.cli.java.names import Branch, Java, JavaOption
from mqadmin.cli.types import Read, truth

READ_AHEAD: Final = {"0": "normal", "1": "random"}
ENGINES: Final = {"R": "ROCKSDB", "F": "FILES"}
NO_MAP_FILE: Final = (
    "the tool of 5.4.0 never reads it: it looks for a flag -f that it does not have"
)
TO_A_FILE: Final = "leave it out, and redirect the output into the file"


def _one_of(words: Mapping[str, str]) -> Read:
    """Return what reads a word of Java's as one of ours."""

    def read(text: str) -> object:
        if text.strip() not in words:
            raise ValueError(f"{text!r} is not one of {', '.join(words)}")
        return words[text.strip()]

    return read


def _of_semicolons(text: str) -> object:
    """Read Java's list of kinds of configuration."""
    words = [word.strip() for word in text.split(";") if word.strip()]
    return tuple(_kind(word) for word in words)


def _kind(word: str) -> str:
    kinds = ("topics", "subscriptionGroups", "consumerOffsets")
    for kind in kinds:
        if kind.lower() == word.lower():
            return kind
    raise ValueError(f"{word!r} is not one of {', '.join(kinds)}")


BROKER: Final = JavaOption("b", "brokerAddr", "broker")
CLUSTER: Final = JavaOption("c", "clusterName", "cluster")
SERVERS: Final = ("broker", "cluster")
USER: Final = JavaOption("u", "username", "username", required=True)
USER_TYPE: Final = JavaOption("t", "userType", "user_type")
SUBJECT: Final = JavaOption("s", "subject", "subject", required=True)
RULE: Final = (
    SUBJECT,
    JavaOption("r", "resources", "resources", required=True),
    JavaOption("a", "actions", "actions", required=True),
    JavaOption("i", "sourceIp", "source_ip"),
    JavaOption("d", "decision", "decision", required=True),
)
COLD_GROUP: Final = JavaOption("g", "consumerGroup", "group", required=True)
FROM_BROKER: Final = JavaOption("f", "fromBroker", "from_broker", required=True)
TO_BROKER: Final = JavaOption("t", "toBroker", "broker", required=True)

STATIC: Final = (
    JavaOption("c", "clusters", "clusters"),
    JavaOption("b", "brokers", "brokers"),
    JavaOption("t", "topic", "topic", required=True),
)
MAP_FILE: Final = (
    JavaOption("mf", "mapFile", refused=NO_MAP_FILE),
    JavaOption("fr", "forceReplace", refused=NO_MAP_FILE),
)
MAPPINGS: Final = (("save", "/tmp"),)
"""Where Java's tool writes the mapping before and after."""

LATER: Final = (
    Java(
        "checkRocksdbCqWriteProgress",
        "broker rocksdb check",
        (
            JavaOption("c", "cluster", "cluster", required=True),
            JavaOption("t", "topic", "topic"),
            JavaOption("cf", "checkFrom", "from_"),
        ),
    ),
    Java("copyAcl", "acl2 copy", (FROM_BROKER, TO_BROKER, JavaOption("s", "subjects", "subjects"))),
    Java(
        "copyUser",
        "user copy",
        (FROM_BROKER, TO_BROKER, JavaOption("u", "usernames", "usernames")),
    ),
    Java("createAcl", "acl2 set", (BROKER, CLUSTER, *RULE), any_of=SERVERS),
    Java(
        "createUser",
        "user create",
        (BROKER, CLUSTER, USER, JavaOption("p", "password", "password", required=True), USER_TYPE),
        any_of=SERVERS,
    ),
    Java(
        "deleteAcl",
        "acl2 delete",
        (BROKER, CLUSTER, SUBJECT, JavaOption("r", "resources", "resources")),
        any_of=SERVERS,
    ),
    Java("deleteUser", "user delete", (BROKER, CLUSTER, USER), any_of=SERVERS),
    Java("dumpCompactionLog", "store compaction", (JavaOption("f", "file", "file"),)),
    Java(
        "exportMetadataInRocksDB",
        "store rocksdb",
        (
            JavaOption("p", "path", "config", required=True),
            JavaOption("t", "configType", "table", required=True),
            JavaOption("j", "jsonEnable"),
        ),
    ),
    Java(
        "exportPopRecord",
        "broker pop-records transfer",
        (CLUSTER, BROKER, JavaOption("d", "dryRun", "dry_run", parse=truth)),
    ),
    Java(
        "getAcl",
        "acl2 show",
        (BROKER, CLUSTER, SUBJECT._replace(required=False)),
        any_of=SERVERS,
    ),
    Java("getColdDataFlowCtrInfo", "cold-data list", (BROKER, CLUSTER)),
    Java(
        "getUser",
        "user show",
        (BROKER, CLUSTER, USER._replace(required=False)),
        any_of=SERVERS,
    ),
    Java(
        "listAcl",
        "acl2 list",
        (
            BROKER,
            CLUSTER,
            JavaOption("s", "subject", "part"),
            JavaOption("r", "resource", "resource"),
        ),
        any_of=SERVERS,
    ),
    Java(
        "listUser",
        "user list",
        (BROKER, CLUSTER, JavaOption("f", "filter", "part")),
        any_of=SERVERS,
    ),
    Java(
        "remappingStaticTopic",
        "topic static remap",
        (*STATIC, *MAP_FILE),
        preset=MAPPINGS,
        any_of=("brokers", "clusters"),
    ),
    Java(
        "removeColdDataFlowCtrGroupConfig",
        "cold-data remove",
        (BROKER, CLUSTER, COLD_GROUP),
        any_of=SERVERS,
    ),
    Java(
        "rocksDBConfigToJson",
        "broker rocksdb dump",
        (
            JavaOption("t", "configType", "kinds", parse=_of_semicolons),
            JavaOption("p", "configPath"),
            JavaOption("e", "exportFile", refused=TO_A_FILE),
            JavaOption("j", "jsonEnable"),
            JavaOption("c", "cluster", "cluster"),
            BROKER,
        ),
        any_of=SERVERS,
        branches=(Branch(("p",), "store rocksdb"),),
    ),
    Java(
        "rocksDBConfigToJson",
        "store rocksdb",
        (
            JavaOption("t", "configType", "table"),
            JavaOption("p", "configPath", "config"),
            JavaOption("e", "exportFile", refused=TO_A_FILE),
            JavaOption("j", "jsonEnable"),
            JavaOption("c", "cluster"),
            JavaOption("b", "brokerAddr"),
        ),
        is_branch=True,
    ),
    Java(
        "setCommitLogReadAheadMode",
        "broker read-ahead",
        (
            BROKER,
            CLUSTER,
            JavaOption(
                *("m", "commitLogReadAheadMode", "mode"), required=True, parse=_one_of(READ_AHEAD)
            ),
        ),
        any_of=SERVERS,
    ),
    Java(
        "setConsumeMode",
        "group consume-mode set",
        (
            BROKER,
            CLUSTER,
            JavaOption("t", "topicName", "topic", required=True),
            JavaOption("g", "groupName", "group", required=True),
            JavaOption("m", "mode", "mode", required=True),
            JavaOption("q", "popShareQueueNum", "share_queues"),
        ),
        any_of=SERVERS,
    ),
    Java(
        "switchTimerEngine",
        "broker timer-engine",
        (
            BROKER,
            CLUSTER,
            JavaOption("e", "engineType", "engine", required=True, parse=_one_of(ENGINES)),
        ),
        any_of=SERVERS,
    ),
    Java("updateAcl", "acl2 set", (BROKER, CLUSTER, *RULE), any_of=SERVERS),
    Java(
        "updateColdDataFlowCtrGroupConfig",
        "cold-data set",
        (BROKER, CLUSTER, COLD_GROUP, JavaOption("v", "threshold", "limit", required=True)),
        any_of=SERVERS,
    ),
    Java(
        "updateStaticTopic",
        "topic static grow",
        (*STATIC, JavaOption("qn", "totalQueueNum", "queues", required=True), *MAP_FILE),
        preset=MAPPINGS,
        any_of=("brokers", "clusters"),
    ),
    Java(
        "updateUser",
        "user update",
        (
            BROKER,
            CLUSTER,
            USER,
            JavaOption("p", "password", "password"),
            USER_TYPE,
            JavaOption("s", "userStatus", "user_status"),
        ),
        any_of=SERVERS,
    ),
)
