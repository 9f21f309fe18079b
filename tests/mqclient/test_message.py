"""Messages: properties as Java writes them, and received messages as they were sent."""

import zlib
from datetime import UTC, datetime, timedelta, timezone

import pytest

from mqclient.errors import BadAnswer, BadRequest
from mqclient.message import Message, MessageExt, read_messages, read_pulled
from storefmt.formats.sysflag import COMPRESSED, Compression
from tests.mqclient.fake import record

NOON = datetime(2030, 1, 1, 12, tzinfo=UTC)


def test_properties_stand_in_the_order_of_javas_map() -> None:
    message = Message("T", b"x", tags="A", keys=["k1", "k2"], properties={"name": "n", "age": "9"})

    assert list(message.wire_properties("ID")) == [
        "KEYS", "name", "UNIQ_KEY", "WAIT", "TAGS", "age",
    ]  # fmt: skip
    assert message.wire_properties("ID")["KEYS"] == "k1 k2"


def test_only_what_was_given_becomes_a_property() -> None:
    assert Message("T", b"x").wire_properties(None) == {"WAIT": "true"}
    assert Message("T", b"x", delay_level=3, wait_stored=False).wire_properties(None) == {
        "WAIT": "false",
        "DELAY": "3",
    }


@pytest.mark.parametrize(
    ("message", "name", "value"),
    [
        (Message("T", b"x", delay_level=18), "DELAY", "18"),
        (Message("T", b"x", delay_s=90), "TIMER_DELAY_MS", "90000"),
        (Message("T", b"x", delay_s=0.0001), "TIMER_DELAY_MS", "1"),
        (Message("T", b"x", deliver_at=NOON), "TIMER_DELIVER_MS", "1893499200000"),
        (
            Message("T", b"x", deliver_at=NOON.astimezone(timezone(timedelta(hours=8)))),
            "TIMER_DELIVER_MS",
            "1893499200000",
        ),
    ],
)
def test_a_delay_is_the_property_of_java(message: Message, name: str, value: str) -> None:
    assert message.is_delayed
    assert message.wire_properties(None) == {"WAIT": "true", name: value}


def test_no_delay_is_no_property() -> None:
    message = Message("T", b"x", delay_level=0, delay_s=0, deliver_at=None)

    assert not message.is_delayed
    assert message.wire_properties(None) == {"WAIT": "true"}


@pytest.mark.parametrize(
    ("properties", "text"),
    [
        ({"KEYS": "k"}, "RocketMQ's own"),
        ({"a\x01b": "v"}, "separate properties"),
        ({"a": "v\x02w"}, "separate properties"),
        ({"a": ""}, "may be empty"),
    ],
)
def test_property_that_cannot_travel_is_refused(properties: dict[str, str], text: str) -> None:
    with pytest.raises(BadRequest, match=text):
        Message("T", b"x", properties=properties).wire_properties("ID")


def test_record_becomes_the_users_message_again() -> None:
    body = b"z" * 9_000
    raw = record(
        "T",
        zlib.compress(body, 5),
        sys_flag=COMPRESSED | Compression.ZLIB,
        queue_offset=3,
        log_offset=77,
        properties="KEYS\x01k1  k2\x02TAGS\x01A\x02UNIQ_KEY\x01U",
    )

    (message,) = read_messages(raw, broker_name="broker-a", address="x:1")

    assert (message.body, message.tags, message.keys) == (body, "A", ["k1", "k2"])
    assert (message.queue_offset, message.log_offset, message.unique_key) == (3, 77, "U")
    assert (message.born_host, message.store_host) == ("127.0.0.1:4242", "127.0.0.1:10911")
    assert message.msg_id == "U"
    assert message.offset_msg_id == "7F00000100002A9F000000000000004D"
    assert (message.broker_name, message.topic, message.queue_id) == ("broker-a", "T", 0)
    assert (message.reconsume_times, message.born_ms) == (0, message.store_ms)


@pytest.mark.parametrize("cut", [1, 50, 92])
def test_answer_that_is_cut_is_no_message(cut: int) -> None:
    with pytest.raises(BadAnswer, match="x:1 sent messages that cannot be read"):
        read_messages(record("T", b"x")[:-cut], broker_name="", address="x:1")


def test_message_without_properties_has_none() -> None:
    (message,) = read_messages(record("T", b"x"), broker_name="", address="x:1")

    assert isinstance(message, MessageExt)
    assert (message.tags, message.keys, message.unique_key) == (None, [], None)
    assert message.msg_id == message.offset_msg_id


def test_a_broken_body_is_an_error_of_who_looks_at_it_alone() -> None:
    data = record("T", b"good", sys_flag=0) + record("T", b"broken", sys_flag=0x301)

    good, broken = read_messages(data, broker_name="b", address="a:1")

    assert (good.body, good.unreadable) == (b"good", "")
    assert broken.record.body == b"broken"
    assert "is not zlib" in broken.unreadable
    with pytest.raises(BadAnswer, match="is not zlib"):
        broken.body  # noqa: B018


def test_a_pulled_body_that_is_not_what_was_sent_is_an_error_of_who_looks_at_it_alone() -> None:
    flipped = record("T", b"flipped").replace(b"flipped", b"flopped")
    data = record("T", b"good") + flipped + record("T", b"behind")

    (good, bad, behind), damage = read_pulled(data, broker_name="b")

    assert damage is None
    assert (good.body, behind.body) == (b"good", b"behind")
    assert (good.unreadable, good.damage) == ("", "")
    assert bad.record.body == b"flopped"
    assert "body of 7 bytes has crc" in bad.damage
    assert bad.damage in bad.but(topic="X").unreadable
    with pytest.raises(BadAnswer, match="body of 7 bytes has crc"):
        bad.body  # noqa: B018


def test_a_changed_copy_keeps_what_was_read() -> None:
    (message,) = read_messages(record("R", b"x"), broker_name="b", address="a:1")

    changed = message.but(topic="T", reconsume_times=3)

    assert (changed.topic, changed.reconsume_times, changed.body) == ("T", 3, b"x")
    assert (message.topic, message.reconsume_times) == ("R", 0)
    assert changed != message
    assert changed == message.but(topic="T", reconsume_times=3)
