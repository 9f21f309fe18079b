"""Bit maps at dispatch: the bits of the groups whose filters match, through a broker."""

from pathlib import Path

from mqserver.broker.config import BrokerConfig
from mqserver.broker.filters.bitmaps import BIT_MAP_OPERANDS_MAX, BitMaps
from mqserver.broker.filters.bloom import bit_map
from mqserver.broker.filters.sql import OPERANDS_MAX
from mqserver.broker.filters.table import FilterTable
from mqserver.store.results import DispatchEntry
from storefmt.formats.consumequeue_ext import decode_units
from storefmt.formats.properties import format_properties
from tests.server.broker import desk
from tests.server.broker.desk import GROUP, TOPIC
from tests.server.broker.filters.test_messagefilter import record_of
from tests.server.broker.filters.test_table import sql
from tests.server.broker.handlers.test_filters import said


async def test_messages_get_the_bits_of_the_filters_they_match(tmp_path: Path) -> None:
    settings = {"enable_property_filter": True, "enable_calc_filter_bit_map": True}
    config = desk.broker_settings(tmp_path, **settings)
    config.store.enable_consume_queue_ext = True
    async with desk.with_topic(tmp_path, config=config) as one:
        await said(one, "n = 1")
        for n in (1, 2):
            assert (await one.send(properties=format_properties({"n": str(n)}))).code == 0
        assert await one.messages(sys_flag=0, sub_version=1) != []
        positions = one.app.broker.filters.bloom.positions(f"{GROUP}#{TOPIC}")
    (path,) = (tmp_path / "consumequeue_ext" / TOPIC / "0").iterdir()
    units = [unit for _, unit in decode_units(path.read_bytes())]

    assert [unit.bit_map for unit in units] == [bit_map(112, positions), bytes(14)]


def test_a_topic_whose_filters_have_too_many_operands_has_no_bit_maps() -> None:
    table = FilterTable(BrokerConfig())
    maps = BitMaps(table, read_record=lambda log_offset: record_of())
    entry = DispatchEntry("T", 1, 2, 3, 4, 5, 6, 0, ())
    text = " OR ".join(["a = 2"] * (OPERANDS_MAX // 2))

    for number in range(BIT_MAP_OPERANDS_MAX // OPERANDS_MAX):
        table.register(f"G{number}", [sql("T", text)], now_ms=1)
    few = maps.of(entry)
    table.register("one more", [sql("T", "a = 1")], now_ms=1)

    assert len(few) * 8 == table.bloom.bit_count
    assert maps.of(entry) == b""
