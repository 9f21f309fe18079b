"""What bodies compute, and the values that are bodies of their own."""

import pytest

from remoting.bodies import (
    ConsumerFilterData,
    ConsumeStats,
    MessageQueue,
    OffsetWrapper,
    QueueTimeSpan,
    decode_value,
    encode_value,
)
from remoting.errors import BadBody
from storefmt.config.tables import DataVersion, SubscriptionGroup


def test_a_group_is_behind_by_the_sum_over_its_queues() -> None:
    stats = ConsumeStats(
        offset_table={
            MessageQueue("T", "b", 0): OffsetWrapper(broker_offset=10, consumer_offset=4),
            MessageQueue("T", "b", 1): OffsetWrapper(broker_offset=5, consumer_offset=5),
        }
    )

    assert stats.total_diff() == 6


def test_times_are_also_written_as_text() -> None:
    span = QueueTimeSpan(min_time_stamp=1_700_000_000_123, max_time_stamp=2**62)

    text = span.encode().decode()

    assert '"minTimeStampStr":"2023-11-14#22:13:20:123"' in text
    assert "maxTimeStampStr" not in text
    assert QueueTimeSpan.decode(text.encode()) == span


@pytest.mark.parametrize(("dead_time", "dead"), [(4, "false"), (5, "true")])
def test_a_filter_is_dead_once_it_died_after_its_birth(dead_time: int, dead: str) -> None:
    text = ConsumerFilterData(born_time=5, dead_time=dead_time).encode().decode()

    assert f'"dead":{dead}' in text


def test_values_of_a_store_are_bodies_too() -> None:
    version = DataVersion(7, 3)

    assert encode_value(version) == b'{"counter":3,"timestamp":7}'
    assert decode_value(DataVersion, encode_value(version)) == version
    group = SubscriptionGroup("g", retry_max_times=3)
    assert decode_value(SubscriptionGroup, encode_value(group)) == group


@pytest.mark.parametrize("text", [b"[]", b'{"counter":"x"}', b"{", b"\xff"])
def test_values_that_are_none_are_a_bad_body(text: bytes) -> None:
    with pytest.raises(BadBody, match="DataVersion"):
        decode_value(DataVersion, text)
