"""What a record tells agrees with what the real brokers did with the message."""

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from storefmt.formats import properties
from storefmt.formats.message import Record, decode_record
from storefmt.names import TopicKind, kind_of
from storefmt.offline.analyse.message_history import (
    Delay,
    MessageHistory,
    StepKind,
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
    return [(found, describe(found)) for found in records]


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

    for found, history in waiting:
        assert history.delay.due_ms == due[f"{found.topic}@{found.queue_id}", found.queue_offset]
        assert str(history.delay.level) == found.properties["DELAY"]
        assert history.destination is not None
    assert len(waiting) == len(due) > 40


def test_golden_transactions_are_told(corpus) -> None:
    found = stories(corpus, "kinds")
    by_offset = {record.log_offset: record for record, _ in found}
    half = {r.queue_offset: r for r, s in found if s.kind is TopicKind.HALF}
    steps = Counter(s.step for _, s in found)

    for record, history in found:
        if history.step is StepKind.COMMIT:
            origin = by_offset[record.prepared_transaction_offset]
            assert origin.topic == "RMQ_SYS_TRANS_HALF_TOPIC"
        assert all(offset in half for offset in history.half_queue_offsets)
    ended = {offset for _, s in found for offset in s.half_queue_offsets}
    keys = {half[offset].keys[0] for offset in half.keys() - ended}
    assert {key for key in keys if key.startswith("pending")} == {"pending-0", "pending-1"}
    assert steps[StepKind.HALF] > 0
    assert steps[StepKind.OP] > 0
    assert steps[StepKind.ROLLBACK] == 0
    assert steps[StepKind.COMMIT] == 8
    assert steps[StepKind.GIVEN_UP] == 2


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


def test_states_of_the_flag_alone_are_told() -> None:
    assert told({}, sys_flag=4).step is StepKind.HALF
    assert told({"TRANSACTION_CHECK_TIMES": "2"}, sys_flag=4).step is StepKind.HALF_CHECK
    assert told({"PGROUP": "g"}, sys_flag=12).step is StepKind.ROLLBACK
    assert told({}, sys_flag=8, prepared_transaction_offset=7).step is StepKind.COMMIT


@pytest.mark.parametrize(
    ("body", "offsets"),
    [(b"7", (7,)), (b"7,8,", (7, 8)), (b"", ()), (b"\xff,x,9", (9,)), (b"9" * 5000, ())],
)
def test_offsets_of_an_op_record_are_numbers(body: bytes, offsets: tuple[int, ...]) -> None:
    history = told({"TAGS": "d"}, "RMQ_SYS_TRANS_OP_HALF_TOPIC", body=body)

    assert history.step == StepKind.OP
    assert history.half_queue_offsets == offsets


def test_level_beyond_the_known_ones_has_no_due_time() -> None:
    history = told({"DELAY": "1"}, "SCHEDULE_TOPIC_XXXX", queue_id=30)

    assert history.delay == Delay(31, None, True)


def test_dead_letter_of_a_delayed_message_waits_no_more() -> None:
    found = {"DELAY": "0", "REAL_TOPIC": "%RETRY%g", "REAL_QID": "0", "RETRY_TOPIC": "T"}

    history = told(found, "%DLQ%g", reconsume_times=17)

    assert history.delay is None
    assert history.destination is None


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
    history = told(found, topic, sys_flag=number, queue_id=number, body=body)

    assert history.kind is kind_of(topic)
