"""The properties of timer messages equal those that the real 5.4.0 broker stored."""

import base64

import pytest

from mqserver.broker.timer.timer_messages import (
    TimerRules,
    delivery,
    encode_properties,
    recall_handle,
    roll_message,
    slot_ms,
    timer_message,
)
from mqserver.runtime.request import RequestRefused
from mqserver.store.results import PutMessage
from mqserver.store.store_config import StoreConfig
from remoting.codes import ResponseCode
from remoting.recall import RecallHandle, decode_recall
from storefmt.formats.message import Record, decode_record
from storefmt.formats.properties import parse_properties
from storefmt.formats.timer import TimerUnit
from storefmt.names import TIMER_TOPIC
from tests.golden import Golden
from tests.server.store.stores import message

NOW_MS = 1_795_236_598_000
TWO_TIMES = {"TIMER_DELIVER_MS": "1", "TIMER_DELAY_MS": "9500"}
ADDED = ("TIMER_OUT_MS", "REAL_TOPIC", "REAL_QID")


@pytest.fixture
def rules(tmp_path) -> TimerRules:
    return TimerRules(StoreConfig(store_path_root_dir=tmp_path))


@pytest.fixture(scope="module")
def units(golden: Golden) -> list[tuple[TimerUnit, Record]]:
    """The units of the golden timer log, each with the record that it points at."""
    root = golden.store("v5")
    log = (root / "timerlog" / f"{0:020d}").read_bytes()
    found = []
    for pos in range(0, len(log), 52):
        unit = TimerUnit.decode(log, pos)
        if unit is not None:
            found.append((unit, record_at(root, unit.log_offset, unit.record_size)))
    return found


def record_at(root, log_offset: int, size: int) -> Record:
    for path in (root / "commitlog").iterdir():
        start = int(path.name)
        if start <= log_offset < start + path.stat().st_size:
            return decode_record(path.read_bytes()[log_offset - start :][:size])
    raise AssertionError(log_offset)


def test_waiting_properties_are_those_of_java(units, rules) -> None:
    count = 0
    for _, record in units:
        named = parse_properties(record.properties_raw)
        if "CLUSTER" not in named:  # Java's own messages
            continue
        sent = {name: value for name, value in named.items() if name not in ADDED}
        one = as_sent(record, topic=named["REAL_TOPIC"], queue_id=int(named["REAL_QID"]))

        out_ms = rules.apply(one, sent, now_ms=record.store_ms)

        assert (one.topic, one.queue_id) == (TIMER_TOPIC, 0)
        assert parse_properties(one.properties)["TIMER_OUT_MS"] == out_ms
        if "TIMER_DELIVER_MS" in named:
            assert one.properties == record.properties_raw
            count += 1
    assert count == 10


def test_recall_is_the_message_that_java_stored(units, rules) -> None:
    (record,) = [record for _, record in units if b"_RECALL_TAG_" in record.properties_raw]
    named = parse_properties(record.properties_raw)
    handle = RecallHandle("v5-timer", "golden-a", named["TIMER_DELIVER_MS"], named["UNIQ_KEY"])

    one = rules.recall(
        handle,
        producer_group="gen5",
        born_host=record.born_host,
        store_host=record.store_host,
        now_ms=record.born_ms,
    )

    assert one.properties == record.properties_raw
    assert (one.topic, one.queue_id, bytes(one.body)) == (TIMER_TOPIC, 0, record.body)
    assert (one.flag, one.sys_flag, one.born_ms) == (record.flag, record.sys_flag, record.born_ms)


def test_delivered_properties_are_those_of_java(golden, units) -> None:
    delivered = {}
    for path in sorted((golden.store("v5") / "commitlog").iterdir()):
        for record in records(path.read_bytes()):
            if b"TIMER_DEQUEUE_MS" in record.properties_raw and record.topic == "v5-timer":
                delivered[record.unique_key] = record
    assert len(delivered) == 5
    for unit, record in units:
        if (java := delivered.get(record.unique_key)) is None:
            continue
        found = timer_message(record)
        dequeue_ms = int(parse_properties(java.properties_raw)["TIMER_DEQUEUE_MS"])

        ours = delivery(found, enqueue_ms=unit.enqueue_ms, now_ms=dequeue_ms)

        assert ours.properties == java.properties_raw
        assert (ours.topic, ours.queue_id, ours.body) == (java.topic, java.queue_id, java.body)
        assert (ours.sys_flag, ours.born_ms, ours.born_host, ours.store_host) == (
            java.sys_flag, java.born_ms, java.born_host, java.store_host,
        )  # fmt: skip


def records(data: bytes):
    pos = 0
    while pos + 8 < len(data):
        size = int.from_bytes(data[pos : pos + 4])
        if data[pos + 4 : pos + 6] != b"\xda\xa3":
            return
        yield decode_record(data[pos : pos + size])
        pos += size


def as_sent(record: Record, *, topic: str, queue_id: int) -> PutMessage:
    one = message(1, topic=topic, queue_id=queue_id)
    one.body, one.properties = record.body, b""
    return one


@pytest.mark.parametrize(
    ("named", "out_ms"),
    [
        ({"TIMER_DELIVER_MS": str(NOW_MS + 5_300)}, NOW_MS + 5_000),
        # A whole second belongs to the slot before, which ends then.
        ({"TIMER_DELIVER_MS": str(NOW_MS + 5_000)}, NOW_MS + 4_000),
        ({"TIMER_DELIVER_MS": str(NOW_MS + 1)}, NOW_MS),
        ({"TIMER_DELAY_SEC": "3"}, NOW_MS + 2_000),
        ({"TIMER_DELAY_MS": "3500"}, NOW_MS + 3_000),
        # The first of these counts: seconds, milliseconds, a time.
        ({**TWO_TIMES, "TIMER_DELAY_SEC": "2"}, NOW_MS + 1_000),
        (TWO_TIMES, NOW_MS + 9_000),
        ({"TIMER_DELAY_SEC": "259200"}, NOW_MS + 259_199_000),
        # The time is past: an ordinary message.
        ({"TIMER_DELIVER_MS": str(NOW_MS)}, None),
        ({"TIMER_DELAY_SEC": "0"}, None),
        ({"TIMER_DELAY_MS": "-5"}, None),
        # It has left the wheel before.
        ({"TIMER_DELAY_SEC": "5", "TIMER_OUT_MS": "1"}, None),
        ({"KEYS": "k"}, None),
    ],
)
def test_slot_of_a_message(rules, named: dict[str, str], out_ms: int | None) -> None:
    one = message(1)

    found = rules.apply(one, named, now_ms=NOW_MS)

    assert found == (None if out_ms is None else str(out_ms))
    assert (one.topic == TIMER_TOPIC) is (out_ms is not None)


@pytest.mark.parametrize(
    "named",
    [
        {"TIMER_DELAY_SEC": "259201"},
        {"TIMER_DELIVER_MS": str(NOW_MS + 259_200_001)},
        {"TIMER_DELAY_MS": "soon"},
        {"TIMER_DELAY_SEC": "1" * 20},
        {"TIMER_DELIVER_MS": str(NOW_MS - 1), "TIMER_DEL_UNIQKEY": "k"},
    ],
)
def test_message_that_java_refuses_is_refused_with_its_text(rules, named) -> None:
    with pytest.raises(RequestRefused) as refused:
        rules.apply(message(1), named, now_ms=NOW_MS)

    assert refused.value.code == ResponseCode.MESSAGE_ILLEGAL
    assert refused.value.remark == (
        "timer message illegal, the delay time should not be bigger than the max delay "
        "259200000ms; or if set del msg, the delay time should be bigger than the current time"
    )


def test_timer_that_is_disabled_refuses_with_the_text_of_java(tmp_path) -> None:
    config = StoreConfig(store_path_root_dir=tmp_path, timer_wheel_enable=False)

    with pytest.raises(RequestRefused) as refused:
        TimerRules(config).apply(message(1), {"TIMER_DELAY_SEC": "1"}, now_ms=NOW_MS)

    assert refused.value.code == ResponseCode.SYSTEM_ERROR
    assert refused.value.remark == (
        "accurate timer message is not enabled, timerWheelEnable is false"
    )


def test_properties_that_could_not_be_delivered_are_refused_when_sent(rules) -> None:
    named = {"TIMER_DELAY_SEC": "5", "a": "x" * 32_600}

    with pytest.raises(RequestRefused, match="more than 32767 bytes"):
        rules.apply(message(1), named, now_ms=NOW_MS)


def test_handle_both_ways() -> None:
    one = message(1, topic="T")
    one.properties = encode_properties({"REAL_TOPIC": "T", "UNIQ_KEY": "U"})

    text = recall_handle(one, "5000", broker_name="broker-a")

    assert base64.urlsafe_b64decode(text) == b"v1 T broker-a 5001 U"
    assert decode_recall(text) == RecallHandle("T", "broker-a", "5001", "U")
    assert decode_recall(text.rstrip("=")) == RecallHandle("T", "broker-a", "5001", "U")


def test_retry_of_a_group_has_no_handle() -> None:
    one = message(1)
    one.properties = encode_properties({"REAL_TOPIC": "%RETRY%G", "UNIQ_KEY": "U"})

    assert recall_handle(one, "5000", broker_name="broker-a") is None


@pytest.mark.parametrize("timestamp", ["x", str(NOW_MS), str(NOW_MS + 259_200_000)])
def test_recall_at_a_wrong_time_is_refused(rules, timestamp: str) -> None:
    handle = RecallHandle("T", "broker-a", timestamp, "U")

    with pytest.raises(RequestRefused, match="recall failed, timestamp invalid"):
        rules.recall(handle, producer_group=None, born_host=b"", store_host=b"", now_ms=NOW_MS)


def test_rolled_message_waits_on_and_counts(units) -> None:
    _, record = units[0]
    found = timer_message(record)

    once = roll_message(found, enqueue_ms=1_000, now_ms=2_000)
    named = parse_properties(once.properties)

    assert (once.topic, once.queue_id) == (TIMER_TOPIC, 0)
    assert named["TIMER_ROLL_TIMES"] == "1"
    assert named["TIMER_OUT_MS"] == found.named["TIMER_OUT_MS"]


@pytest.mark.parametrize(
    "changed",
    [
        {"TIMER_OUT_MS": "x"},
        {"REAL_TOPIC": TIMER_TOPIC},
        {"REAL_TOPIC": "a/b"},
        {"REAL_QID": "-1"},
        {"REAL_QID": ""},
    ],
)
def test_record_that_names_no_destination_is_not_delivered(units, changed) -> None:
    _, record = units[0]
    named = {**parse_properties(record.properties_raw), **changed}

    assert timer_message(record._replace(properties_raw=encode_properties(named))) is None


def test_slot_before_a_whole_tick() -> None:
    assert [slot_ms(at, precision_ms=100) for at in (1_000, 1_001, 1_100)] == [900, 1_000, 1_000]
