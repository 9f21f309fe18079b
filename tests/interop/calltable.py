"""The requests that both brokers are asked, by name: good ones, edges, and bad ones.

Rule: one name a row, in the order in which they are asked, because some rows change what
later ones see. Name and reason of what may differ are in the test that asks.
"""

from collections.abc import Iterator, Mapping
from typing import Final

from remoting.codes import RequestCode as Code
from tests.interop.kit.raw_calls import (
    BORN_MS,
    CLIENT,
    EMPTY,
    GROUP,
    LEFT,
    OFFLINE,
    PRODUCERS,
    TOPIC,
    Call,
    CallOn,
    Fields,
    bodies_of,
    rows_of,
    send_fields,
    topic_fields,
    without,
)

NOBODY, NOTHING = "NoSuchGroup", "NoSuchTopic"
LONG = "t" * 128


def _queue(topic: str, queue_id: str = "0", **more: str) -> Fields:
    return {"topic": topic, "queueId": queue_id, **more}


def _topics() -> Iterator[tuple[str, CallOn]]:
    made = topic_fields(LEFT)
    yield from rows_of("create topic", Code.UPDATE_AND_CREATE_TOPIC, [
        ("good", made),
        ("once more, read only", topic_fields(LEFT, perm="4", readQueueNums="3")),
        ("many tags", topic_fields(LEFT, topicFilterType="MULTI_TAG", topicSysFlag="3")),
        ("ordered", topic_fields(LEFT, order="true")),
        ("built in", topic_fields("TBW102")),
        ("schedule topic", topic_fields("SCHEDULE_TOPIC_XXXX")),
        ("bad letter", topic_fields("bad/name")),
        ("blank", topic_fields("")),
        ("too long", topic_fields(LONG)),
        ("longest", topic_fields(LONG[1:])),
        ("no topic", without(made, "topic")),
        ("no read queues given", without(made, "readQueueNums")),
        ("no permission given", without(made, "perm")),
        ("queues are no number", topic_fields(LEFT, writeQueueNums="many")),
        ("unknown filter type", topic_fields(LEFT, topicFilterType="NO_TAG")),
    ])  # fmt: skip
    yield from rows_of("all topics", Code.GET_ALL_TOPIC_CONFIG, [("good", None)])
    yield from rows_of("delete topic", Code.DELETE_TOPIC_IN_BROKER, [
        ("good", {"topic": LEFT}),
        ("gone", {"topic": LEFT}),
        ("longest", {"topic": LONG[1:]}),
        ("built in", {"topic": "TBW102"}),
        ("bad letter", {"topic": "bad/name"}),
        ("blank", {"topic": ""}),
        ("no topic", {}),
    ])  # fmt: skip
    yield from rows_of("topic statistics", Code.GET_TOPIC_STATS_INFO, [
        ("good", {"topic": TOPIC}),
        ("empty topic", {"topic": EMPTY}),
        ("unknown topic", {"topic": NOTHING}),
        ("no topic", {}),
    ])  # fmt: skip
    yield from rows_of("who reads a topic", Code.QUERY_TOPIC_CONSUME_BY_WHO, [
        ("good", {"topic": TOPIC}),
        ("nobody", {"topic": EMPTY}),
        ("unknown topic", {"topic": NOTHING}),
        ("no topic", {}),
    ])  # fmt: skip
    yield from rows_of("system topics", Code.GET_SYSTEM_TOPIC_LIST_FROM_BROKER, [("good", None)])


def _ends() -> Iterator[tuple[str, CallOn]]:
    for name, code, more in (
        ("max offset", Code.GET_MAX_OFFSET, {}),
        ("min offset", Code.GET_MIN_OFFSET, {}),
        ("earliest store time", Code.GET_EARLIEST_MSG_STORETIME, {}),
        ("search offset", Code.SEARCH_OFFSET_BY_TIMESTAMP, {"timestamp": str(BORN_MS)}),
    ):
        yield from rows_of(name, code, [
            ("good", _queue(TOPIC, **more)),
            ("second queue", _queue(TOPIC, "1", **more)),
            ("empty queue", _queue(EMPTY, **more)),
            ("unknown queue", _queue(TOPIC, "9", **more)),
            ("negative queue", _queue(TOPIC, "-1", **more)),
            ("unknown topic", _queue(NOTHING, **more)),
            ("no topic", without(_queue(TOPIC, **more), "topic")),
            ("no queue", without(_queue(TOPIC, **more), "queueId")),
            ("queue is no number", _queue(TOPIC, "x", **more)),
        ])  # fmt: skip
    yield from rows_of("search offset", Code.SEARCH_OFFSET_BY_TIMESTAMP, [
        ("far future", _queue(TOPIC, timestamp="99999999999999")),
        ("negative time", _queue(TOPIC, timestamp="-1")),
        ("no time", _queue(TOPIC)),
    ])  # fmt: skip


def _messages() -> Iterator[tuple[str, CallOn]]:
    def view(offset: int) -> Call:
        return Call(Code.VIEW_MESSAGE_BY_ID, {"offset": str(offset)})

    yield "view message: good", lambda s: view(int(s.ids[2][16:], 16))
    yield "view message: last", lambda s: view(int(s.ids[-1][16:], 16))
    yield "view message: past the end", lambda s: view(int(s.ids[-1][16:], 16) + 100_000)
    yield "view message: before the first", lambda s: view(-1)
    yield from rows_of("view message", Code.VIEW_MESSAGE_BY_ID, [("no offset", {})])
    good = {
        "topic": TOPIC,
        "key": "key3",
        "maxNum": "32",
        "beginTimestamp": "0",
        "endTimestamp": "99999999999999",
    }
    yield from rows_of("query message", Code.QUERY_MESSAGE, [
        ("good", good),
        ("unknown key", {**good, "key": "none"}),
        ("unknown topic", {**good, "topic": NOTHING}),
        ("none wanted", {**good, "maxNum": "0"}),
        ("before all", {**good, "endTimestamp": "1"}),
        ("blank key", {**good, "key": ""}),
        ("no key", without(good, "key")),
        ("no topic", without(good, "topic")),
        ("no count", without(good, "maxNum")),
        ("no end", without(good, "endTimestamp")),
    ])  # fmt: skip
    entries = _queue(TOPIC, "0", index="0", count="10", consumerGroup=GROUP)
    yield from rows_of("queue entries", Code.QUERY_CONSUME_QUEUE, [
        ("good", entries),
        ("without a group", without(entries, "consumerGroup")),
        ("group is offline", {**entries, "consumerGroup": OFFLINE}),
        ("from the second", {**entries, "index": "1", "count": "1"}),
        ("none wanted", {**entries, "count": "0"}),
        ("index is the end", {**entries, "index": "3"}),
        ("index past the end", {**entries, "index": "99"}),
        ("negative index", {**entries, "index": "-1"}),
        ("unknown queue", {**entries, "queueId": "9"}),
        ("unknown topic", {**entries, "topic": NOTHING}),
        ("queue that nobody asked for", {**entries, "queueId": "77"}),
        ("topic that nobody asked for", {**entries, "topic": "NeverAskedFor"}),
        ("empty queue", {**entries, "topic": EMPTY}),
        ("no fields", {}),
    ])  # fmt: skip


def _groups() -> Iterator[tuple[str, CallOn]]:
    yield from bodies_of("create group", Code.UPDATE_AND_CREATE_SUBSCRIPTIONGROUP, [
        ("good", b'{"groupName":"SideMade","retryQueueNums":2,"retryMaxTimes":3}'),
        ("no body", b""),
        ("no name", b"{}"),
        ("no JSON", b"{nonsense"),
    ])  # fmt: skip
    yield from rows_of("all groups", Code.GET_ALL_SUBSCRIPTIONGROUP_CONFIG, [("good", None)])
    yield from rows_of("delete group", Code.DELETE_SUBSCRIPTIONGROUP, [
        ("good", {"groupName": "SideMade", "removeOffset": "true"}),
        ("gone", {"groupName": "SideMade"}),
        ("no name", {}),
    ])  # fmt: skip
    for name, code in (
        ("members", Code.GET_CONSUMER_LIST_BY_GROUP),
        ("consumer connections", Code.GET_CONSUMER_CONNECTION_LIST),
    ):
        yield from rows_of(name, code, [
            ("good", {"consumerGroup": GROUP}),
            ("offline", {"consumerGroup": OFFLINE}),
            ("unknown group", {"consumerGroup": NOBODY}),
            ("blank group", {"consumerGroup": ""}),
            ("no group", {}),
        ])  # fmt: skip
    yield from rows_of("producer connections", Code.GET_PRODUCER_CONNECTION_LIST, [
        ("good", {"producerGroup": PRODUCERS}),
        ("unknown group", {"producerGroup": NOBODY}),
        ("no group", {}),
    ])  # fmt: skip
    yield from rows_of("all producers", Code.GET_ALL_PRODUCER_INFO, [("good", {})])
    yield from bodies_of("heartbeat", Code.HEART_BEAT, [
        ("no body", b""),
        ("empty", b"{}"),
        ("no JSON", b"{nonsense"),
        ("no groups", b'{"clientID":"someone"}'),
    ])  # fmt: skip
    yield from rows_of("goodbye", Code.UNREGISTER_CLIENT, [
        ("unknown client", {"clientID": "nobody", "producerGroup": NOBODY}),
        ("unknown consumer", {"clientID": "nobody", "consumerGroup": NOBODY}),
        ("no groups", {"clientID": "nobody"}),
        ("no fields", {}),
    ])  # fmt: skip


def _progress() -> Iterator[tuple[str, CallOn]]:
    yield from rows_of("consume statistics", Code.GET_CONSUME_STATS, [
        ("good", {"consumerGroup": GROUP, "topic": TOPIC}),
        ("every topic", {"consumerGroup": GROUP}),
        ("offline", {"consumerGroup": OFFLINE, "topic": TOPIC}),
        ("topic that it does not read", {"consumerGroup": GROUP, "topic": EMPTY}),
        ("unknown topic", {"consumerGroup": GROUP, "topic": NOTHING}),
        ("unknown group", {"consumerGroup": NOBODY, "topic": TOPIC}),
        ("unknown group, every topic", {"consumerGroup": NOBODY}),
        ("no group", {}),
    ])  # fmt: skip
    yield from rows_of("statistics of all groups", Code.GET_BROKER_CONSUME_STATS, [
        ("good", {"isOrder": "false"}),
        ("ordered", {"isOrder": "true"}),
        ("not said", {}),
    ])  # fmt: skip
    yield from rows_of("time span", Code.QUERY_CONSUME_TIME_SPAN, [
        ("good", {"topic": TOPIC, "group": GROUP}),
        ("offline", {"topic": TOPIC, "group": OFFLINE}),
        ("empty topic", {"topic": EMPTY, "group": GROUP}),
        ("unknown group", {"topic": TOPIC, "group": NOBODY}),
        ("unknown topic", {"topic": NOTHING, "group": GROUP}),
        ("no topic", {"group": GROUP}),
        ("no group", {"topic": TOPIC}),
    ])  # fmt: skip
    rates = {"statsName": "TOPIC_PUT_NUMS", "statsKey": TOPIC}
    yield from rows_of("rates", Code.VIEW_BROKER_STATS_DATA, [
        ("unknown name", {**rates, "statsName": "NO_SUCH_STATS"}),
        ("unknown key", {**rates, "statsKey": NOTHING}),
        ("no name", without(rates, "statsName")),
        ("no key", without(rates, "statsKey")),
    ])  # fmt: skip
    clone = {"srcGroup": GROUP, "destGroup": "SideClone", "topic": TOPIC, "offline": "false"}
    yield from rows_of("clone positions", Code.CLONE_GROUP_OFFSET, [
        ("good", clone),
        ("offline", {**clone, "srcGroup": OFFLINE, "offline": "true"}),
        ("unknown group", {**clone, "srcGroup": NOBODY}),
        ("unknown topic", {**clone, "topic": NOTHING}),
        ("blank topic", {**clone, "topic": "", "destGroup": "SideBlank"}),
        ("no topic", {**without(clone, "topic"), "destGroup": "SideNoTopic"}),
        ("no source", without(clone, "srcGroup")),
    ])  # fmt: skip
    compare = {"topic": TOPIC, "compareGroup": GROUP}
    yield from rows_of("correct positions", Code.QUERY_CORRECTION_OFFSET, [
        ("good", compare),
        ("unknown group", {**compare, "compareGroup": NOBODY}),
        ("unknown topic", {**compare, "topic": NOTHING}),
        ("no group", {"topic": TOPIC}),
        ("no topic", {"compareGroup": GROUP}),
    ])  # fmt: skip
    yield from rows_of("all positions", Code.GET_ALL_CONSUMER_OFFSET, [("good", None)])
    yield from rows_of("all delays", Code.GET_ALL_DELAY_OFFSET, [("good", None)])


def _relayed() -> Iterator[tuple[str, CallOn]]:
    about = {"consumerGroup": GROUP, "clientId": CLIENT}
    yield from rows_of("running info", Code.GET_CONSUMER_RUNNING_INFO, [
        ("good", {**about, "jstackEnable": "false"}),
        ("unknown client", {**about, "clientId": "nobody"}),
        ("unknown group", {**about, "consumerGroup": NOBODY}),
        ("no client", {"consumerGroup": GROUP}),
        ("no group", {"clientId": CLIENT}),
    ])  # fmt: skip

    def directly(message_id: str, **changes: str) -> Call:
        fields = {**about, "msgId": message_id, **changes}
        return Call(Code.CONSUME_MESSAGE_DIRECTLY, fields)

    yield "consume directly: good", lambda s: directly(s.ids[0])
    yield "consume directly: unknown client", lambda s: directly(s.ids[0], clientId="nobody")
    yield "consume directly: unknown group", lambda s: directly(s.ids[0], consumerGroup=NOBODY)
    yield "consume directly: bad id", lambda s: directly("nonsense")
    yield "consume directly: unknown id", lambda s: directly(f"{s.ids[0][:16]}{1 << 40:016X}")
    yield from rows_of("consume directly", Code.CONSUME_MESSAGE_DIRECTLY, [("no id", about)])
    status = {"topic": TOPIC, "group": GROUP}
    yield from rows_of("consumer status", Code.INVOKE_BROKER_TO_GET_CONSUMER_STATUS, [
        ("good", status),
        ("one client", {**status, "clientAddr": CLIENT}),
        ("unknown client", {**status, "clientAddr": "nobody"}),
        ("offline", {**status, "group": OFFLINE}),
        ("no group", {"topic": TOPIC}),
    ])  # fmt: skip
    reset = {"topic": TOPIC, "group": GROUP, "timestamp": "0", "isForce": "true"}
    yield from rows_of("reset positions", Code.INVOKE_BROKER_TO_RESET_OFFSET, [
        ("good", reset),
        ("not forced", {**reset, "isForce": "false", "timestamp": "99999999999999"}),
        ("to the end", {**reset, "timestamp": "-1"}),
        ("offline", {**reset, "group": OFFLINE}),
        ("unknown group", {**reset, "group": NOBODY}),
        ("unknown topic", {**reset, "topic": NOTHING}),
        ("no topic", without(reset, "topic")),
        ("no group", without(reset, "group")),
        ("no time", without(reset, "timestamp")),
    ])  # fmt: skip


def _replies() -> Iterator[tuple[str, CallOn]]:
    replies, key = "TestCluster_REPLY_TOPIC", "MSG_TYPE\1reply"
    to_nobody = send_fields(0, b=replies, i=f"{key}\2REPLY_TO_CLIENT\1nobody")
    yield from rows_of("reply", Code.SEND_REPLY_MESSAGE_V2, [
        ("nobody asked", to_nobody),
        ("does not say to whom", send_fields(0, b=replies, i=key)),
        ("not taken", send_fields(0, b=replies, i=f"{key}\2REPLY_TO_CLIENT\1{CLIENT}")),
        ("unknown queue", {**to_nobody, "e": "9"}),
        ("bad topic", {**to_nobody, "b": "bad/name"}),
        ("unknown topic", {**to_nobody, "b": NOTHING, "c": NOTHING}),
        ("no properties", without(to_nobody, "i")),
        ("no queue", without(to_nobody, "e")),
        ("no topic", without(to_nobody, "b")),
    ])  # fmt: skip


def _settings() -> Iterator[tuple[str, CallOn]]:
    yield from bodies_of("change settings", Code.UPDATE_BROKER_CONFIG, [
        ("good", b"autoCreateTopicEnable=true\n"),
        ("no body", b""),
        ("unknown key", b"noSuchKey=1\n"),
        ("value is no number", b"defaultTopicQueueNums=many\n"),
        ("its own file", b"brokerConfigPath=/tmp/elsewhere\n"),
    ])  # fmt: skip
    yield from rows_of("settings", Code.GET_BROKER_CONFIG, [("good", None)])
    # Java makes these topics; whoever lists topics later would see them.
    yield from rows_of("create topic", Code.UPDATE_AND_CREATE_TOPIC, [
        ("negative queues", topic_fields("SideBad", readQueueNums="-1")),
        ("permission out of range", topic_fields("SideBad", perm="9")),
    ])  # fmt: skip
    for name, code in (
        ("clean queues", Code.CLEAN_EXPIRED_CONSUMEQUEUE),
        ("clean topics", Code.CLEAN_UNUSED_TOPIC),
        ("clean log", Code.DELETE_EXPIRED_COMMITLOG),
    ):
        yield from rows_of(name, code, [("good", None)])


UNHANDLED: Final = (
    *(13, 22, 23, 27, 39, 40, 100, 101, 103, 104, 105, 106, 205, 206, 209, 210, 211, 212, 213),
    *(214, 216, 219, 220, 221, 224, 301, 302, 304, 311, 318, 319, 322, 326, 327, 343, 345, 7_777),
)
"""Codes that no broker answers: other servers', clients', nobody's, and those of 5.x."""


def _unknown() -> Iterator[tuple[str, CallOn]]:
    for code in UNHANDLED:
        yield from rows_of(f"code {code}", code, [("no fields", None)])


CALLS: Final[Mapping[str, CallOn]] = dict([
    *_topics(),
    *_ends(),
    *_messages(),
    *_groups(),
    *_progress(),
    *_relayed(),
    *_replies(),
    *_settings(),
    *_unknown(),
])  # fmt: skip
