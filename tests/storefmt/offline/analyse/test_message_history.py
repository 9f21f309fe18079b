"""What a record tells agrees with what the real brokers did with the message."""

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from storefmt.formats import properties
from storefmt.formats.message import Record, decode_record
from storefmt.formats.sysflag import INNER_BATCH, Compression
from storefmt.names import TopicKind
from storefmt.offline.analyse.message_history import (
    Delay,
    MessageHistory,
    Place,
    Reply,
    Resend,
    Transaction,
    TransactionState,
    describe,
)
from tests.storefmt.broken import FUZZ

HOST = bytes(8)
PROPERTIES = [text for text in vars(properties).values() if isinstance(text, str) and text]


def record(topic: str = "T", *, body: bytes = b"b", **changed: object) -> Record:
    fields = {
        "size": 100, "magic": 0, "body_crc": 0, "queue_id": 3, "flag": 0, "queue_offset": 0,
        "log_offset": 0, "sys_flag": 0, "born_ms": 1, "born_host": HOST, "store_ms": 1000,
        "store_host": HOST, "reconsume_times": 0, "prepared_transaction_offset": 0,
        "properties_raw": b"",
    }  # fmt: skip
    return Record(**{**fields, "topic": topic, "body": body, **changed})


def told(given_properties: dict[str, str], topic: str = "T", **changed: object) -> MessageHistory:
    raw = "\x02".join(f"{name}\x01{value}" for name, value in given_properties.items())
    return describe(record(topic, properties_raw=raw.encode(), **changed))


def stories(corpus, name: str) -> list[tuple[Record, MessageHistory]]:
    records = [decode_record(raw) for _, raw in corpus(name).messages]
    return [(found, describe(found, light_queues=name == "kinds-lmq")) for found in records]


@pytest.mark.parametrize("name", ["kinds", "kinds-lmq"])
def test_golden_delayed_message_is_due_when_its_queue_entry_says(corpus, name: str) -> None:
    store = corpus(name)
    due = {
        (queue, entry[0]): entry[4] if len(entry) > 4 else entry[3]
        for queue, found in store.expected["open"]["queues"].items()
        if queue.startswith("SCHEDULE_TOPIC")
        for entry in found.get("list", [])
    }
    waiting = [(r, s) for r, s in stories(corpus, name) if s.kind is TopicKind.DELAY]

    for found, story in waiting:
        assert story.delay is not None
        assert story.delay.due_ms == due[f"{found.topic}@{found.queue_id}", found.queue_offset]
        assert str(story.delay.level) == found.properties["DELAY"]
        assert story.destination is not None
    assert len(waiting) == len(due) > 40


def test_golden_transactions_are_told(corpus) -> None:
    found = stories(corpus, "kinds")
    by_offset = {record.log_offset: record for record, _ in found}
    half = {r.queue_offset: r for r, s in found if s.kind is TopicKind.HALF}
    states = Counter(s.transaction.state for _, s in found if s.transaction)

    for _, story in found:
        if story.transaction and story.transaction.half_log_offset is not None:
            origin = by_offset[story.transaction.half_log_offset]
            assert origin.topic == "RMQ_SYS_TRANS_HALF_TOPIC"
        if story.transaction and story.transaction.state is TransactionState.OP:
            assert all(offset in half for offset in story.transaction.half_queue_offsets)
    ended = {
        offset for _, s in found if s.transaction for offset in s.transaction.half_queue_offsets
    }
    keys = {half[offset].keys[0] for offset in half.keys() - ended}
    assert {key for key in keys if key.startswith("pending")} == {"pending-0", "pending-1"}
    assert states.keys() == {
        TransactionState.HALF,
        TransactionState.OP,
        TransactionState.COMMITTED,
        TransactionState.GIVEN_UP,
    }
    assert states[TransactionState.COMMITTED] == 8
    assert states[TransactionState.GIVEN_UP] == 2


def test_golden_resends_are_told(corpus) -> None:
    found = [(r, s.resend) for r, s in stories(corpus, "kinds") if s.resend]
    ids = {r.msg_id for r, _ in stories(corpus, "kinds")}

    dead = [resend for _, resend in found if resend.is_dead]
    assert {resend.group for _, resend in found} == {"kd-fail", "kd-fail16"}
    assert {resend.origin_topic for _, resend in found} == {"kd-retry"}
    assert {resend.origin_id for _, resend in found} <= ids
    assert [(resend.group, resend.delivery_count) for resend in dead] == [("kd-fail", 2)] * 6
    waiting = [r for r, _ in found if r.topic == "SCHEDULE_TOPIC_XXXX"]
    assert waiting


def test_group_of_a_pop_retry_topic_is_told_by_the_record(corpus) -> None:
    found = [
        (r, s.resend)
        for r, s in stories(corpus, "v5")
        if s.resend and "ORIGIN_GROUP" in r.properties
    ]

    assert found
    for popped, resend in found:
        assert resend.group == popped.properties["ORIGIN_GROUP"]
        assert popped.topic == f"%RETRY%{resend.group}_{resend.origin_topic}"
        assert resend.origin_topic == "v5-pop-ttttttttttttttttttttttttttttttttttt"


def test_golden_timers_are_told(corpus) -> None:
    slots = "wheelSlots_index_time_firstPos_lastPos_num_magic"
    java = corpus("v5").expected["open5"]["timer"]
    ticks = {slot[1] * 1000 for slot in java[slots]}
    found = stories(corpus, "v5")
    waiting = [s for _, s in found if s.kind is TopicKind.TIMER]

    rolled = [s for s in waiting if s.delay and s.delay.due_ms not in ticks]
    assert len(rolled) == 1
    assert len([s for s in waiting if s.delay and s.delay.deletes]) == 2
    assert all(s.destination for s in waiting)
    done = [s for r, s in found if r.topic == "v5-timer" and "TIMER_OUT_MS" in r.properties]
    assert done
    assert not any(s.delay.is_waiting for s in done if s.delay)


@pytest.mark.parametrize("name", ["kinds", "kinds-lmq"])
def test_golden_dispatch_names_the_queue_entries(corpus, name: str) -> None:
    queues = corpus(name).expected["open"]["queues"]
    told_places = Counter()

    for found, story in stories(corpus, name):
        for place in story.dispatch:
            entry = queues[f"{place.topic}@{place.queue_id}"]["list"][place.queue_offset]
            assert entry[:3] == [place.queue_offset, found.log_offset, found.size]
            told_places[f"{place.topic}@{place.queue_id}"] += 1

    assert told_places == {
        queue: found["max"]
        for queue, found in queues.items()
        if queue.startswith(("%LMQ%", "kd-multi"))
    }


def test_plain_message_has_nothing_to_tell(corpus) -> None:
    for found, story in stories(corpus, "basic"):
        if found.topic.startswith(("%", "SCHEDULE", "RMQ", "T_", "OFFSET")):
            continue
        if story.compression is None and story.delay is None and story.transaction is None:
            assert story.sentences() == []


def test_compressed_message_names_its_codec(corpus) -> None:
    codecs = {s.compression for _, s in stories(corpus, "kinds")}

    assert codecs == {None, Compression.ZLIB}
    assert told({}, sys_flag=0x501).compression is None


def test_states_of_the_flag_alone_are_told() -> None:
    assert told({}, sys_flag=4).transaction == Transaction(TransactionState.HALF)
    assert told({"PGROUP": "g"}, sys_flag=12).transaction == Transaction(
        TransactionState.ROLLED_BACK, producer_group="g"
    )
    assert told({}, sys_flag=8, prepared_transaction_offset=7).transaction == Transaction(
        TransactionState.COMMITTED, 7
    )


@pytest.mark.parametrize(
    ("body", "offsets"),
    [(b"7", (7,)), (b"7,8,", (7, 8)), (b"", ()), (b"\xff,x,9", (9,)), (b"9" * 5000, ())],
)
def test_offsets_of_an_op_record_are_numbers(body: bytes, offsets: tuple[int, ...]) -> None:
    story = told({"TAGS": "d"}, "RMQ_SYS_TRANS_OP_HALF_TOPIC", body=body)

    assert story.transaction == Transaction(TransactionState.OP, half_queue_offsets=offsets)


def test_request_and_reply_are_told() -> None:
    asked = {"REPLY_TO_CLIENT": "c@1", "CORRELATION_ID": "id", "TTL": "3000"}

    assert told(asked).reply == Reply(False, "c@1", "id", 3000)
    answer = told({**asked, "MSG_TYPE": "reply"}, "Cluster_REPLY_TOPIC")
    assert answer.reply == Reply(True, "c@1", "id", 3000)
    assert "c@1 answers id" in answer.sentences()


def test_level_beyond_the_known_ones_has_no_due_time() -> None:
    story = told({"DELAY": "1"}, "SCHEDULE_TOPIC_XXXX", queue_id=30)

    assert story.delay == Delay(31, None, True)
    assert "waits by level 31" in story.sentences()


def test_dead_letter_of_a_delayed_message_waits_no_more() -> None:
    found = {"DELAY": "0", "REAL_TOPIC": "%RETRY%g", "REAL_QID": "0", "RETRY_TOPIC": "T"}

    story = told(found, "%DLQ%g", reconsume_times=17)

    assert story.delay is None
    assert story.destination is None
    assert story.resend == Resend("g", True, 17, "T", None)
    assert "is dead for group g after 17 deliveries; first from T" in story.sentences()


def test_more_messages_in_a_record_are_counted_where_the_flag_says_so() -> None:
    assert told({"INNER_NUM": "4"}, sys_flag=INNER_BATCH).message_count == 4
    assert told({"INNER_NUM": "4"}).message_count == 1
    assert told({"INNER_NUM": "-4"}, sys_flag=INNER_BATCH).message_count == 1


def test_dispatch_without_offsets_still_names_the_queues() -> None:
    story = told({"INNER_MULTI_DISPATCH": "%LMQ%a,b,", "INNER_MULTI_QUEUE_OFFSET": "5"})

    assert story.dispatch == (Place("%LMQ%a", 0, 5), Place("b", 3, None))


@FUZZ
@given(
    st.dictionaries(st.sampled_from(PROPERTIES), st.text(max_size=8)),
    st.sampled_from(["T", "SCHEDULE_TOPIC_XXXX", "%RETRY%g", "%DLQ%", "rmq_sys_wheel_timer",
                     "RMQ_SYS_TRANS_HALF_TOPIC", "RMQ_SYS_TRANS_OP_HALF_TOPIC"]),
    st.integers(-(1 << 31), (1 << 31) - 1),
    st.binary(max_size=30),
)  # fmt: skip
def test_any_properties_give_a_story(
    found: dict[str, str], topic: str, number: int, body: bytes
) -> None:
    story = told(found, topic, sys_flag=number, queue_id=number, body=body)

    assert all(isinstance(sentence, str) for sentence in story.sentences())
