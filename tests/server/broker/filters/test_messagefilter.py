"""The tests of a pull: properties out of raw records, bits, and retry topics."""

import pytest

from mqserver.broker.config import BrokerConfig
from mqserver.broker.filters.bloom import bit_map
from mqserver.broker.filters.messagefilter import (
    EVERYTHING,
    MessageFilter,
    raw_properties,
    registered_filter,
    with_retry,
)
from mqserver.broker.filters.table import ConsumerFilter, FilterTable
from remoting.bodies import SubscriptionData
from storefmt.formats.consumequeue_ext import ExtUnit
from storefmt.formats.hosts import pack_host
from tests.records import record_bytes


def registered(text: str = "a = 1", topic: str = "T") -> tuple[FilterTable, ConsumerFilter]:
    table = FilterTable(BrokerConfig())
    said = SubscriptionData(topic=topic, sub_string=text, sub_version=1, expression_type="SQL92")
    table.register("G", [said], now_ms=100)
    found = table.get(topic, "G")
    assert found is not None
    return table, found


def record_of(topic: str = "T", born: str = "10.0.0.1", store: str = "10.0.0.2") -> bytes:
    return record_bytes(
        topic=topic.encode(),
        queue_id=1,
        queue_offset=2,
        log_offset=3,
        born_ms=4,
        born_host=pack_host(born, 1),
        store_ms=5,
        store_host=pack_host(store, 2),
        properties=b"a\x011\x02b\x01x",
    )


@pytest.mark.parametrize("topic", ["T", "x" * 127, "y" * 200])
@pytest.mark.parametrize("born", ["10.0.0.1", "::1"])
@pytest.mark.parametrize("store", ["10.0.0.2", "fe80::2"])
def test_properties_are_found_in_every_layout(topic: str, born: str, store: str) -> None:
    assert raw_properties(record_of(topic, born, store)) == b"a\x011\x02b\x01x"


def test_a_filter_without_tests_takes_every_record() -> None:
    assert EVERYTHING.takes_record(record_of())


def test_a_registered_filter_looks_at_properties() -> None:
    table, found = registered("a = 1 AND b = 'x'")
    _, other = registered("a = 2")

    assert registered_filter(found, table).takes_record(record_of())
    assert not registered_filter(other, table).takes_record(record_of())


def test_bits_say_no_only_of_messages_stored_after_the_filter() -> None:
    table, found = registered()
    by_bits = registered_filter(found, table).by_bits
    assert by_bits is not None
    hit, miss = bit_map(112, found.positions), bit_map(112, found.positions[1:])

    assert by_bits(ExtUnit(0, 101, hit))
    assert not by_bits(ExtUnit(0, 101, miss))
    assert by_bits(ExtUnit(0, 100, miss))
    assert by_bits(ExtUnit(0, 101, b""))
    assert by_bits(ExtUnit(0, 101, miss[:8]))


def test_a_filter_that_could_not_be_compiled_takes_everything() -> None:
    table, found = registered()
    found.expression = None

    assert registered_filter(found, table) is EVERYTHING
    assert with_retry(EVERYTHING, "%RETRY%G", table).takes_record(record_of())


def test_a_retry_topic_uses_the_filter_of_the_real_topic() -> None:
    table, _ = registered("a = 1")
    tests = with_retry(MessageFilter(), "%RETRY%G", table)

    assert tests.by_properties({"RETRY_TOPIC": "T", "a": "1"})
    assert not tests.by_properties({"RETRY_TOPIC": "T", "a": "2"})
    assert tests.by_properties({"RETRY_TOPIC": "other", "a": "2"})
    assert tests.by_properties({"a": "2"})
    assert with_retry(MessageFilter(), "T", table) == EVERYTHING
