"""The table of filters: which are alive or dead, and the bytes of consumerFilter.json."""

from pathlib import Path

import pytest

from mqserver.broker.config import BrokerConfig
from mqserver.broker.filters.lexer import BadExpression
from mqserver.broker.filters.sql import EXPRESSION_SIZE_MAX
from mqserver.broker.filters.table import OPERANDS_IN_ALL_MAX, FilterTable, compile_filter
from remoting.bodies import SubscriptionData

DAY_MS = 24 * 3_600_000


def table(
    *, strict: bool = False, groups: int = 32, operands_max: int = OPERANDS_IN_ALL_MAX
) -> FilterTable:
    config = BrokerConfig(strict_filters=strict, expect_consumer_num_use_filter=groups)
    return FilterTable(config, operands_max=operands_max)


def sql(topic: str, text: str, version: int = 1) -> SubscriptionData:
    return SubscriptionData(
        topic=topic, sub_string=text, sub_version=version, expression_type="SQL92"
    )


def registered() -> FilterTable:
    """Return a table with one filter, ``a = 1``."""
    filters = table()
    filters.register("G", [sql("T", "a = 1")], now_ms=1)
    return filters


def expression_of(filters: FilterTable, topic: str = "T") -> str | None:
    found = filters.get(topic, "G")
    return None if found is None else found.data.expression


def test_a_heartbeat_registers_and_a_newer_one_replaces() -> None:
    filters = table()

    filters.register("G", [sql("T", "a = 1", 5)], now_ms=100)
    filters.register("G", [sql("T", "a = 2", 5)], now_ms=200)
    assert expression_of(filters) == "a = 1"
    filters.register("G", [sql("T", "a = 2", 6)], now_ms=300)

    found = filters.get("T", "G")
    assert (found.data.expression, found.data.born_time) == ("a = 2", 300)
    assert found.positions == filters.bloom.positions("G#T")


def test_the_same_expression_with_a_newer_version_stays_the_same_filter() -> None:
    filters = table()
    filters.register("G", [sql("T", "a = 1", 5)], now_ms=100)

    filters.register("G", [sql("T", "a = 1", 9)], now_ms=200)

    found = filters.get("T", "G")
    assert (found.data.born_time, found.data.client_version) == (100, 9)


def test_a_filter_beyond_the_limit_of_all_is_refused_and_the_dead_make_room() -> None:
    filters = table(operands_max=8)
    filters.register("G", [sql("T", "a = 1"), sql("U", "a = 1")], now_ms=1)

    filters.register("H", [sql("T", "a = 1")], now_ms=2)
    assert filters.get("T", "H") is None
    assert filters.get("T", "G") is not None

    filters.register("G", [sql("T", "a = 2", 2)], now_ms=3)
    filters.register("H", [sql("T", "a = 1")], now_ms=4)
    assert filters.get("T", "H") is not None
    assert filters.get("U", "G") is None
    assert expression_of(filters) == "a = 2"


def test_a_filter_that_takes_the_place_of_its_own_older_one_needs_no_more_room() -> None:
    filters = table(operands_max=4)

    for version in range(1, 4):
        filters.register("G", [sql("T", f"a = {version}", version)], now_ms=version)

        assert expression_of(filters) == f"a = {version}"


def test_tags_and_blank_expressions_are_not_registered() -> None:
    filters = table()

    filters.register("G", [SubscriptionData(topic="T", sub_string="A || B")], now_ms=1)
    filters.register("G", [sql("T", "")], now_ms=1)

    assert filters.get("T", "G") is None


def test_a_bad_expression_removes_what_was_there() -> None:
    filters = registered()

    filters.register("G", [sql("T", "a >", 2)], now_ms=2)

    assert filters.get("T", "G") is None


def test_filters_die_with_their_subscription_and_their_group_and_come_back() -> None:
    filters = table()
    filters.register("G", [sql("T", "a = 1"), sql("U", "a = 2")], now_ms=100)

    filters.register("G", [sql("T", "a = 1")], now_ms=200)
    first, other = filters.get("T", "G"), filters.get("U", "G")
    assert (first.is_dead, other.is_dead, other.data.dead_time) == (False, True, 200)
    filters.unregister("G", now_ms=300)
    assert (first.is_dead, first.data.dead_time) == (True, 300)
    filters.register("G", [sql("T", "a = 1")], now_ms=400)
    assert (first.is_dead, first.data.dead_time, first.data.born_time) == (False, 0, 100)


def test_the_dead_are_forgotten_after_a_day() -> None:
    filters = registered()
    filters.unregister("G", now_ms=100)

    filters.encode(99 + DAY_MS)
    assert expression_of(filters) == "a = 1"
    assert filters.encode(100 + DAY_MS) == '{\n\t"filterDataByTopic":{}\n}'
    assert list(filters.on_topic("T")) == []


def test_the_file_of_a_real_broker_comes_back_byte_for_byte(fact_tables: Path) -> None:
    text = (fact_tables / "store_examples/config/consumerFilter.json").read_bytes()
    filters = table()

    filters.load(text, now_ms=1_795_235_300_000)

    assert filters.encode(1_795_235_300_000).encode() == text
    found = filters.get("HFCT_T1", "HFCT_GSQL")
    assert found.expression.matches({"age": "22", "name": "x"})


def test_filters_are_dead_after_a_start() -> None:
    filters = table()
    filters.register("G", [sql("T", "a = 1")], now_ms=100_000)
    text = filters.encode(100_000).encode()
    again, late = table(), table()

    again.load(text, now_ms=110_000)
    late.load(text, now_ms=200_000)

    early_found, late_found = again.get("T", "G"), late.get("T", "G")
    assert (early_found.is_dead, early_found.data.dead_time) == (True, 100_000)
    assert late_found.data.dead_time == 170_000


def test_a_file_of_another_bloom_filter_is_not_read() -> None:
    filters = registered()
    other = table(groups=64)

    other.load(filters.encode(1).encode(), now_ms=1)

    assert other.get("T", "G") is None


def test_a_stored_expression_that_is_none_filters_nothing() -> None:
    filters = registered()

    filters.load(filters.encode(1).replace("a = 1", "a !").encode(), now_ms=1)

    assert filters.get("T", "G").expression is None


def test_a_tail_is_dropped_or_refused() -> None:
    kind, strict = table(), table(strict=True)

    kind.register("G", [sql("T", "s LIKE 'x%' ORDER")], now_ms=1)
    strict.register("G", [sql("T", "s LIKE 'x%' ORDER")], now_ms=1)
    strict.register("H", [sql("T", "s LIKE 'x%'")], now_ms=1)

    assert expression_of(kind) == "s LIKE 'x%' ORDER"
    assert expression_of(strict) is None
    assert strict.get("T", "H") is not None


@pytest.mark.parametrize(("text", "kind"), [("a = 1", "SQL93"), ("", "SQL92"), (None, "SQL92")])
def test_other_types_and_no_text_cannot_be_compiled(text: str | None, kind: str) -> None:
    with pytest.raises(BadExpression):
        compile_filter(text, kind, strict=False)


def test_a_stored_expression_that_is_too_long_is_not_used() -> None:
    filters = table()
    filters.register("G", [sql("T", "a = 1"), sql("U", "b = 2")], now_ms=1)
    long = "a = 1".ljust(EXPRESSION_SIZE_MAX + 1)

    filters.load(filters.encode(1).replace("a = 1", long).encode(), now_ms=1)

    assert filters.get("T", "G") is None
    assert filters.get("U", "G") is not None
