"""Rows as messages, without a broker: delayed ones, and rows that are refused."""

import zlib
from datetime import UTC, datetime, timedelta
from typing import Any

import pyarrow as pa
import pytest

from mqclient.errors import NoRoute
from mqclient.message import Message
from mqserver.pytest_plugin import RocketMQ
from mqspark.errors import BadOption
from mqspark.schemas import LIVE, struct_of
from mqspark.sources.live.options import SinkSettings, sink_settings
from mqspark.sources.live.write import check_columns, outgoing, send_rows
from storefmt.formats.properties import TIMER_DELIVER_MS
from storefmt.formats.sysflag import COMPRESSED
from tests.mqspark.livetopics import make

NOW = datetime(2026, 11, 21, 20, tzinfo=UTC)
NOW_MS = round(NOW.timestamp() * 1000)


def sink(**options: str) -> SinkSettings:
    return sink_settings({"namesrv": "n", "topic": "orders", **options})


def message(moment: datetime | None, into: SinkSettings) -> Message:
    kind = pa.timestamp("us", None if moment is not None and moment.tzinfo is None else "UTC")
    columns = {"body": pa.array([b"x"]), "deliver_at": pa.array([moment], kind)}
    batch = pa.RecordBatch.from_pydict(columns)
    (row,) = outgoing(batch, into, run_id="run", first_row=7, now_ms=NOW_MS)
    return row.message


@pytest.mark.parametrize(
    ("after_s", "level"),
    [(-5.0, 0), (0.0, 0), (0.001, 1), (1.0, 1), (1.001, 2), (59.0, 5), (60.1, 6), (7200.0, 18)],
)
def test_a_time_becomes_the_shortest_level_that_is_not_before_it(
    after_s: float, level: int
) -> None:
    assert message(NOW + timedelta(seconds=after_s), sink()).delay_level == level


def test_a_timer_of_5x_gets_the_time_itself() -> None:
    moment = NOW + timedelta(days=3, microseconds=1500)

    sent = message(moment, sink(deliverBy="timer"))

    assert sent.properties == {TIMER_DELIVER_MS: str(NOW_MS + 3 * 86_400_000 + 2)}
    assert sent.delay_level == 0


def test_a_row_without_a_time_is_delivered_at_once() -> None:
    assert message(None, sink()).delay_level == 0
    assert message(None, sink(deliverBy="timer")).properties == {}


def test_times_that_cannot_be_are_refused_by_their_row() -> None:
    with pytest.raises(BadOption, match=r"row 7 is to be delivered in 7201 s.*deliverBy=timer"):
        message(NOW + timedelta(seconds=7201), sink())
    with pytest.raises(BadOption, match=r"row 7 has deliver_at .*expected a timestamp"):
        message(NOW.replace(tzinfo=None), sink())
    with pytest.raises(BadOption, match="deliverBy is 'day', expected level or timer"):
        sink(deliverBy="day")
    with pytest.raises(BadOption, match="columns delay_level and deliver_at: give one"):
        check_columns({"body": "string", "delay_level": "int", "deliver_at": "timestamp"}, sink())


def written(**columns: Any) -> Message:
    properties = columns.pop("properties", {})
    row = {"body": b"x", **columns, "properties": list(properties.items())}
    schema = pa.RecordBatch.from_pylist([{**row, "properties": None}]).schema
    schema = schema.set(
        schema.get_field_index("properties"),
        pa.field("properties", pa.map_(pa.string(), pa.string())),
    )
    batch = pa.RecordBatch.from_pylist([row], schema=schema)
    into = sink()._replace(topic="" if "topic" in columns else "orders")
    (out,) = outgoing(batch, into, run_id="run", first_row=7, now_ms=NOW_MS)
    return out.message


def test_a_row_as_it_was_read_is_written_without_what_the_broker_sets_anew() -> None:
    own = {"TAGS": "A", "KEYS": "k1 k2", "UNIQ_KEY": "7F", "CLUSTER": "c", "colour": "blue"}

    sent = written(properties=own)

    assert (sent.tags, sent.keys) == ("A", ["k1", "k2"])
    assert sent.properties == {"colour": "blue"}
    schema = struct_of(LIVE)
    check_columns({field.name: field.dataType.simpleString() for field in schema.fields}, sink())


def test_keys_among_the_properties_are_split_at_blanks_alone() -> None:
    assert written(properties={"KEYS": "a\tb  c"}).keys == ["a\tb", "c"]


def test_the_columns_of_tags_and_keys_count_before_the_properties() -> None:
    sent = written(tags="B", keys=["k3"], properties={"TAGS": "A", "KEYS": "k1"})

    assert (sent.tags, sent.keys) == ("B", ["k3"])


def test_a_body_is_sent_as_its_flag_says_that_it_is() -> None:
    packed = zlib.compress(b"y" * 5_000)

    assert written(body=packed, sys_flag=COMPRESSED).body == b"y" * 5_000
    assert written(body=packed, sys_flag=0).body == packed
    with pytest.raises(BadOption, match=r"row 7: .*zlib"):
        written(body=b"plain", sys_flag=COMPRESSED)


@pytest.mark.parametrize(
    ("columns", "text"),
    [
        ({"tags": "A || B"}, r"row 7, column tags: 'A \|\| B'; a message has one tag"),
        ({"properties": {"DELAY": "3"}}, "row 7 has property DELAY.*column delay_level sets it"),
        (
            {"properties": {"a\x02": "b"}},
            r"row 7, column properties: \('a\\x02', 'b'\): .*separate",
        ),
        ({"properties": {"a": None}}, r"row 7, column properties: \('a', None\)"),
        ({"topic": "a b"}, "row 7, column topic: 'a b'"),
        ({"keys": ["k\x01\x02"]}, "row 7, column keys: "),
        ({"body": b""}, "row 7, column body: 0 bytes, expected 1 to 4194304"),
        ({"flag": 2**40}, "row 7, column flag: 1099511627776, expected 32 bits"),
        ({"delay_level": 19}, "row 7, column delay_level: 19, expected 0 to 18"),
    ],
)
def test_what_a_message_cannot_have_is_refused_by_row_and_column(
    columns: dict[str, Any], text: str
) -> None:
    with pytest.raises(BadOption, match=text):
        written(**columns)


@pytest.mark.parametrize(
    ("column", "kind", "expected"),
    [
        ("body", "struct<a:int>", "binary or string"),
        ("tags", "array<string>", "string"),
        ("keys", "map<string,string>", "array<string> or string"),
        ("properties", "map<string,int>", "map<string,string>"),
        ("flag", "double", "int or smallint or tinyint or bigint"),
        ("deliver_at", "timestamp_ntz", "timestamp"),
    ],
)
def test_a_column_of_another_type_is_refused_before_a_row_is_sent(
    column: str, kind: str, expected: str
) -> None:
    text = f"column {column} of the rocketmq sink has type {kind}, expected {expected}; cast it"

    with pytest.raises(BadOption) as refused:
        check_columns({"body": "string", column: kind}, sink())

    assert str(refused.value) == text
    check_columns({"body": "varchar(10)", "tags": "char(3)", "keys": "string"}, sink())


def test_a_row_that_cannot_be_sent_is_one_error_that_names_it(rocketmq_broker: RocketMQ) -> None:
    make(rocketmq_broker.namesrv, "Few", queue_count=1)
    into = sink_settings({"namesrv": rocketmq_broker.namesrv, "topic": "Few"})
    batch = pa.RecordBatch.from_pydict(
        {"body": [b"x"] * 3, "queue_id": pa.array([0, 5, 6], pa.int32())}
    )

    with pytest.raises(NoRoute, match="queue 5 of any broker") as refused:
        send_rows(into, [batch], run_id="run")

    assert refused.value.__notes__[-1] == "row 1 could not be sent to Few"
