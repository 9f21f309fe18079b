"""Rows as messages, without a broker: delayed ones, and rows that are refused."""

import zlib
from datetime import UTC, datetime, timedelta
from typing import Any

import pyarrow as pa
import pytest

from mqclient.message import Message
from mqspark.errors import BadOption
from mqspark.sources.live.options import SinkSettings, sink_settings
from mqspark.sources.live.write import check_columns, outgoing
from storefmt.formats.properties import TIMER_DELIVER_MS
from storefmt.formats.sysflag import COMPRESSED

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
        check_columns(["body", "delay_level", "deliver_at"], sink())


def written(**columns: Any) -> Message:
    properties = columns.pop("properties", {})
    row = {"body": b"x", **columns, "properties": list(properties.items())}
    schema = pa.RecordBatch.from_pylist([{**row, "properties": None}]).schema
    schema = schema.set(
        schema.get_field_index("properties"),
        pa.field("properties", pa.map_(pa.string(), pa.string())),
    )
    batch = pa.RecordBatch.from_pylist([row], schema=schema)
    (out,) = outgoing(batch, sink(), run_id="run", first_row=7, now_ms=NOW_MS)
    return out.message


def test_a_row_as_it_was_read_is_written_without_what_the_broker_sets_anew() -> None:
    own = {"TAGS": "A", "KEYS": "k1 k2", "UNIQ_KEY": "7F", "CLUSTER": "c", "colour": "blue"}

    sent = written(properties=own)

    assert (sent.tags, sent.keys) == ("A", ["k1", "k2"])
    assert sent.properties == {"colour": "blue"}
    check_columns(["body", "log_offset", "broker_address", "sys_flag"], sink())


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
    ],
)
def test_what_a_message_cannot_have_is_refused_by_row_and_column(
    columns: dict[str, Any], text: str
) -> None:
    with pytest.raises(BadOption, match=text):
        written(**columns)
