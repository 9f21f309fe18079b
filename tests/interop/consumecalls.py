"""The requests of consumers and transactions that both brokers are asked, by name.

Pulls, positions, messages given back, queue locks, half messages: good ones, edges, and
bad ones. The rules are those of ``calltable``.
"""

from collections.abc import Iterator, Mapping
from typing import Final

from remoting.codes import RequestCode as Code
from storefmt.formats.batch import BatchEntry, join_batch
from tests.interop.kit.raw_calls import (
    EMPTY,
    GROUP,
    OFFLINE,
    PRODUCERS,
    TOPIC,
    Call,
    CallOn,
    Stage,
    bodies_of,
    rows_of,
    send_fields,
    topic_fields,
    without,
)

NOBODY, NOTHING, READ_ONLY, WRITE_ONLY = "NoSuchGroup", "NoSuchTopic", "SideRead", "SideWrite"
BATCHES = "SideBatches"
COMMIT, SUSPEND, SUBSCRIPTION, CLASS_FILTER, LITE = 1, 2, 4, 8, 16


def pull_fields(flags: int = SUBSCRIPTION, **changes: str) -> dict[str, str]:
    """Return the fields of a pull of the first queue from its begin."""
    return {
        "consumerGroup": GROUP,
        "topic": TOPIC,
        "queueId": "0",
        "queueOffset": "0",
        "maxMsgNums": "32",
        "sysFlag": str(flags),
        "commitOffset": "0",
        "suspendTimeoutMillis": "0",
        "subscription": "*",
        "subVersion": "1",
        "expressionType": "TAG",
        **changes,
    }


def _group(name: str, **settings: object) -> tuple[str, bytes]:
    text = ",".join(f'"{key}":{value}' for key, value in settings.items())
    return name, f'{{"groupName":"{name}",{text}}}'.encode()


def _stage() -> Iterator[tuple[str, CallOn]]:
    yield from rows_of("make topic", Code.UPDATE_AND_CREATE_TOPIC, [
        ("read only", topic_fields(READ_ONLY, perm="4")),
        ("write only", topic_fields(WRITE_ONLY, perm="2")),
        ("for batches", topic_fields(BATCHES)),
    ])  # fmt: skip
    yield from bodies_of("make group", Code.UPDATE_AND_CREATE_SUBSCRIPTIONGROUP, [
        _group("SideOff", consumeEnable="false"),
        _group("SideNoBroadcast", consumeBroadcastEnable="false"),
        _group("SideSlow", brokerId=2, whichBrokerWhenConsumeSlowly=3),
        _group("SideFirst", consumeFromMinEnable="false"),
        _group("SideNoRetry", retryQueueNums=0),
        _group("SideDead", retryMaxTimes=0),
    ])  # fmt: skip


def _pulls() -> Iterator[tuple[str, CallOn]]:
    good = pull_fields()
    yield from rows_of("pull", Code.PULL_MESSAGE, [
        ("good", good),
        ("second queue", {**good, "queueId": "1"}),
        ("one message", {**good, "maxMsgNums": "1"}),
        ("no messages wanted", {**good, "maxMsgNums": "0"}),
        ("less than none", {**good, "maxMsgNums": "-5"}),
        ("from the second", {**good, "queueOffset": "1"}),
        ("at the end", {**good, "queueOffset": "3"}),
        ("past the end", {**good, "queueOffset": "4"}),
        ("far past the end", {**good, "queueOffset": "99"}),
        ("before the first", {**good, "queueOffset": "-1"}),
        ("empty queue", {**good, "topic": EMPTY}),
        ("empty queue, not at 0", {**good, "topic": EMPTY, "queueOffset": "5"}),
        ("empty queue, before 0", {**good, "topic": EMPTY, "queueOffset": "-1"}),
        ("queue that is not there", {**good, "queueId": "9"}),
        ("negative queue", {**good, "queueId": "-1"}),
        ("unknown topic", {**good, "topic": NOTHING}),
        ("topic that is no name", {**good, "topic": "bad/name"}),
        ("write-only topic", {**good, "topic": WRITE_ONLY}),
        ("read-only topic", {**good, "topic": READ_ONLY}),
        ("group made now", {**good, "consumerGroup": "SideNew"}),
        ("group is off", {**good, "consumerGroup": "SideOff"}),
        ("group without broadcasts", {**good, "consumerGroup": "SideNoBroadcast"}),
        ("group that reads from another broker", {**good, "consumerGroup": "SideSlow"}),
        ("group not from the first", {**good, "consumerGroup": "SideFirst"}),
        ("other tag", {**good, "subscription": "Tag1"}),
        ("its tag", {**good, "subscription": "Tag0 || Tag9"}),
        ("empty subscription", {**good, "subscription": ""}),
        ("no subscription", without(good, "subscription")),
        ("no expression type", without(good, "expressionType")),
        ("no suspension time", without(good, "suspendTimeoutMillis")),
        ("no version", without(good, "subVersion")),
        ("no queue", without(good, "queueId")),
        ("queue is no number", {**good, "queueId": "x"}),
        ("no fields", {}),
        ("lite", pull_fields(SUBSCRIPTION | LITE)),
        ("class filter", pull_fields(SUBSCRIPTION | CLASS_FILTER)),
        ("held until its time", pull_fields(
            SUBSCRIPTION | SUSPEND, queueOffset="3", suspendTimeoutMillis="1000")),
        ("held for another tag", pull_fields(
            SUBSCRIPTION | SUSPEND, subscription="Tag1", suspendTimeoutMillis="1000")),
        ("not to be held", pull_fields(SUBSCRIPTION, queueOffset="3", suspendTimeoutMillis="9")),
    ])  # fmt: skip


def _batches() -> Iterator[tuple[str, CallOn]]:
    fields = send_fields(0, b=BATCHES, i="TAGS\1TagOfAll", m="true")
    one = Call(Code.SEND_BATCH_MESSAGE, fields, join_batch([BatchEntry(0, b"one", b"TAGS\1Own")]))
    yield "batch: with tags, as its message", lambda s: one
    # Held until the queue has the message, if that is still to come.
    held = {"topic": BATCHES, "suspendTimeoutMillis": "10000"}
    yield from rows_of("pull", Code.PULL_MESSAGE, [
        ("by the tags of a batch", pull_fields(
            SUBSCRIPTION | SUSPEND, subscription="TagOfAll", **held)),
        ("by the tags within a batch", pull_fields(topic=BATCHES, subscription="Own")),
    ])  # fmt: skip


def _committing_pulls() -> Iterator[tuple[str, CallOn]]:
    yield from rows_of("registered pull", Code.PULL_MESSAGE, [
        ("good", pull_fields(0)),
        ("older subscription", pull_fields(0, subVersion="0")),
        ("newer subscription", pull_fields(0, subVersion="2")),
        ("topic it does not read", pull_fields(0, topic=EMPTY)),
        ("group is offline", pull_fields(0, consumerGroup=OFFLINE)),
    ])  # fmt: skip
    yield from rows_of("committing pull", Code.PULL_MESSAGE, [
        ("good", pull_fields(SUBSCRIPTION | COMMIT, commitOffset="2")),
        ("refused one", pull_fields(SUBSCRIPTION | COMMIT, commitOffset="1", queueId="9")),
        ("at the end", pull_fields(SUBSCRIPTION | COMMIT, commitOffset="1", queueOffset="3")),
        ("negative", pull_fields(SUBSCRIPTION | COMMIT, commitOffset="-1")),
    ])  # fmt: skip
    # The offsets that were moved are told in this topic.
    told = pull_fields(topic="OFFSET_MOVED_EVENT", consumerGroup="SideWatcher", maxMsgNums="2")
    yield from rows_of("moved offsets", Code.PULL_MESSAGE, [("told", told)])


def _memberships() -> Iterator[tuple[str, CallOn]]:
    def hello(group: str, model: str, version: int = 1) -> bytes:
        read = f'{{"topic":"{TOPIC}","subString":"*","subVersion":{version}}}'
        consumer = (
            f'{{"groupName":"{group}","consumeType":"CONSUME_PASSIVELY","messageModel":"{model}",'
            f'"consumeFromWhere":"CONSUME_FROM_FIRST_OFFSET","subscriptionDataSet":[{read}]}}'
        )
        return f'{{"clientID":"asker","consumerDataSet":[{consumer}]}}'.encode()

    pull = pull_fields(0, consumerGroup="SideNoBroadcast")
    yield from bodies_of("hello", Code.HEART_BEAT, [
        ("broadcasting", hello("SideNoBroadcast", "BROADCASTING")),
        ("of a group that is off", hello("SideOff", "CLUSTERING")),
        ("of a new group", hello("SideJoined", "CLUSTERING")),
    ])  # fmt: skip
    yield from rows_of("member pulls", Code.PULL_MESSAGE, [
        ("broadcasting, which its group may not", pull),
        ("its group is off", {**pull, "consumerGroup": "SideOff"}),
        ("new group", {**pull, "consumerGroup": "SideJoined"}),
    ])  # fmt: skip
    yield from bodies_of("hello", Code.HEART_BEAT, [
        ("no longer broadcasting", hello("SideNoBroadcast", "CLUSTERING", 2)),
    ])  # fmt: skip
    yield from rows_of("member pulls", Code.PULL_MESSAGE, [
        ("by the subscription before", pull),
        ("by the subscription now", {**pull, "subVersion": "2"}),
    ])  # fmt: skip
    retry = {"topic": "%RETRY%SideJoined"}
    yield from rows_of("retry topic of a new group", Code.GET_TOPIC_STATS_INFO, [("made", retry)])
    leave = {"clientID": "asker", "consumerGroup": "SideNoBroadcast"}
    yield from rows_of("leave", Code.UNREGISTER_CLIENT, [("good", leave)])
    yield from rows_of("member pulls", Code.PULL_MESSAGE, [("after it left", pull)])


def _positions() -> Iterator[tuple[str, CallOn]]:
    place = {"consumerGroup": GROUP, "topic": TOPIC, "queueId": "0"}
    yield from rows_of("position", Code.QUERY_CONSUMER_OFFSET, [
        ("after pulls that commit", place),
        ("second queue", {**place, "queueId": "1"}),
        ("new group", {**place, "consumerGroup": NOBODY}),
        ("unknown topic", {**place, "topic": NOTHING}),
        ("queue that is not there", {**place, "queueId": "9"}),
        ("empty topic", {**place, "topic": EMPTY}),
        ("no group", without(place, "consumerGroup")),
        ("no topic", without(place, "topic")),
        ("no queue", without(place, "queueId")),
    ])  # fmt: skip
    move = {**place, "commitOffset": "1"}
    yield from rows_of("move", Code.UPDATE_CONSUMER_OFFSET, [
        ("back", move),
        ("past the end", {**move, "queueId": "1", "commitOffset": "77"}),
        ("new group", {**move, "consumerGroup": "SideMoved"}),
        ("unknown topic", {**move, "topic": NOTHING}),
        ("no offset", without(move, "commitOffset")),
        ("no group", without(move, "consumerGroup")),
    ])  # fmt: skip
    yield from rows_of("position", Code.QUERY_CONSUMER_OFFSET, [
        ("moved back", place),
        ("moved past the end", {**place, "queueId": "1"}),
        ("moved in an unknown topic", {**place, "topic": NOTHING}),
    ])  # fmt: skip


def _given_back() -> Iterator[tuple[str, CallOn]]:
    def back(stage: Stage, number: int = 0, **changes: str) -> Call:
        fields = {
            "offset": str(int(stage.ids[number][16:], 16)),
            "group": GROUP,
            "delayLevel": "0",
            "originMsgId": stage.ids[number],
            "originTopic": TOPIC,
            "unitMode": "false",
            "maxReconsumeTimes": "16",
        }
        return Call(Code.CONSUMER_SEND_MSG_BACK, {**fields, **changes})

    def less(call: Call, name: str) -> Call:
        return call._replace(fields=dict(without(call.fields or {}, name)))

    yield "give back: good", lambda s: back(s)
    yield "give back: level 2", lambda s: back(s, delayLevel="2")
    yield "give back: highest level", lambda s: back(s, delayLevel="99")
    yield "give back: dead at once", lambda s: back(s, 1, delayLevel="-1")
    yield "give back: tried enough", lambda s: back(s, 2, maxReconsumeTimes="0")
    yield "give back: group allows none", lambda s: back(s, group="SideDead")
    yield (
        "give back: group allows none, no number",
        lambda s: less(back(s, 3, group="SideDead"), "maxReconsumeTimes"),
    )
    yield "give back: group without retries", lambda s: back(s, group="SideNoRetry")
    yield "give back: group made now", lambda s: back(s, group="SideBack")
    yield "give back: nothing there", lambda s: back(s, offset=str(1 << 40))
    yield "give back: before the first", lambda s: back(s, offset="-1")
    yield "give back: no group", lambda s: less(back(s), "group")
    yield "give back: no offset", lambda s: less(back(s), "offset")
    yield "give back: no level", lambda s: less(back(s), "delayLevel")
    yield "give back: no origin", lambda s: less(less(back(s), "originMsgId"), "originTopic")
    for name, group in (("dead", GROUP), ("dead by its group", "SideDead")):
        fields = pull_fields(topic=f"%DLQ%{group}", consumerGroup="SideGrave")
        yield from rows_of("given back", Code.PULL_MESSAGE, [(name, fields)])


def _locks() -> Iterator[tuple[str, CallOn]]:
    def body(client: str, *queue_ids: int, group: str = GROUP) -> bytes:
        queues = ",".join(
            f'{{"brokerName":"broker-a","queueId":{number},"topic":"{TOPIC}"}}'
            for number in queue_ids
        )
        text = f'{{"clientId":"{client}","consumerGroup":"{group}","mqSet":[{queues}]}}'
        return text.encode()

    lock, unlock = Code.LOCK_BATCH_MQ, Code.UNLOCK_BATCH_MQ
    yield from bodies_of("lock", lock, [
        ("two", body("one", 0, 1)),
        ("again", body("one", 0)),
        ("by another, one is free", body("two", 0, 1, 2)),
        ("by another group", body("two", 0, group=OFFLINE)),
        ("none", body("one")),
        ("one queue twice", body("one", 5, 5)),
        ("queue that is not there", body("one", 99)),
        ("no JSON", b"{nonsense"),
    ])  # fmt: skip
    yield from bodies_of("unlock", unlock, [
        ("of another", body("two", 0)),
        ("own", body("one", 0)),
        ("free one", body("one", 0)),
        ("unknown group", body("one", 0, group=NOBODY)),
    ])  # fmt: skip
    yield from bodies_of("lock", lock, [
        ("what was freed", body("two", 0, 1)),
        ("what was taken", body("one", 0)),
    ])  # fmt: skip


def _transactions() -> Iterator[tuple[str, CallOn]]:
    half = send_fields(0, f="4", i=f"TRAN_MSG\1true\2PGROUP\1{PRODUCERS}\2KEYS\1t")
    yield from rows_of("half message", Code.SEND_MESSAGE_V2, [
        ("first", half),
        ("second", half),
        ("third", {**half, "i": f"{half['i']}\2WAIT\1true"}),
        ("without a producer group", {**half, "i": "TRAN_MSG\1true"}),
        ("flag alone", {**half, "i": ""}),
        ("flag of a commit alone", {**half, "f": "8", "i": ""}),
    ])  # fmt: skip
    # Bodies are empty, so every half message but its properties is as long as the others.
    first = {
        "producerGroup": PRODUCERS,
        "tranStateTableOffset": "0",
        "commitLogOffset": "0",
        "commitOrRollback": "8",
        "fromTransactionCheck": "false",
        "msgId": "any",
    }

    def end(stage: Stage, **changes: str) -> Call:
        return Call(Code.END_TRANSACTION, {**first, **changes})

    yield "end: nothing there", lambda s: end(s, commitLogOffset=str(1 << 40))
    yield "end: before the first", lambda s: end(s, commitLogOffset="-1")
    yield "end: no decision", lambda s: end(s, commitOrRollback="4")
    for how in ("8", "12"):
        at = {"commitOrRollback": how}
        yield (
            f"end {how}: no group",
            lambda s, at=at: Call(
                Code.END_TRANSACTION, dict(without({**first, **at}, "producerGroup"))
            ),
        )
        yield (
            f"end {how}: no offset",
            lambda s, at=at: Call(
                Code.END_TRANSACTION, dict(without({**first, **at}, "commitLogOffset"))
            ),
        )
    yield from rows_of("resume", Code.RESUME_CHECK_HALF_MESSAGE, [
        ("no id", {}),
        ("bad id", {"msgId": "nonsense"}),
    ])  # fmt: skip
    yield (
        "resume: nothing there",
        lambda s: Call(Code.RESUME_CHECK_HALF_MESSAGE, {"msgId": f"{s.ids[0][:16]}{1 << 40:016X}"}),
    )


CALLS: Final[Mapping[str, CallOn]] = dict([
    *_stage(),
    *_pulls(),
    *_batches(),
    *_committing_pulls(),
    *_memberships(),
    *_positions(),
    *_given_back(),
    *_locks(),
    *_transactions(),
])  # fmt: skip
