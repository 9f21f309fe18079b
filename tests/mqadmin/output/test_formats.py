"""The same rows in every format, as small golden texts."""

import csv
import io
import json
from dataclasses import dataclass

import msgpack
import pytest
import yaml

from mqadmin.errors import Usage
from mqadmin.output.formats import printer_for, sorted_rows
from mqadmin.output.printer import Look
from mqadmin.output.rows import EpochMs, Row, omitted
from mqadmin.session.global_options import Format
from tests.mqadmin.output import printing
from tests.mqadmin.output.printing import print_rows


@dataclass(frozen=True, slots=True)
class Sample(Row):
    topic: str
    queue_id: int
    store_ms: EpochMs
    ratio: float | None
    keys: tuple[str, ...]
    ok: bool
    body: str | None = omitted()


ROWS = (
    Sample("orders", 3, 1_700_000_000_000, 0.5, ("a", "b"), True, "x,\n\x1b[31m"),
    Sample("日志", 10, 0, None, (), False),
)


def printed(name: Format, rows: tuple[Sample, ...] = ROWS, **look: object) -> bytes:
    held = io.BytesIO()
    out = io.TextIOWrapper(held, encoding="utf-8", write_through=True)
    print_rows(Sample, rows, out, name, **look)
    return held.getvalue()


ESCAPED = "x,\\n\\x1b[31m"


def test_table_aligns_escapes_and_counts_wide_characters() -> None:
    assert printed("table").decode().splitlines() == [
        "TOPIC   QUEUE_ID       STORE_MS  STORE_TIME                RATIO  KEYS  OK     BODY",
        f"orders         3  1700000000000  2023-11-14T22:13:20.000Z    0.5  a, b  true   {ESCAPED}",
        "日志          10              0                                         false",
    ]


def test_table_without_rows_still_has_its_header() -> None:
    assert printed("table", ()).decode().startswith("TOPIC  QUEUE_ID")
    assert printed("table", (), headers=False) == b""


def test_table_of_one_thing_is_name_and_value() -> None:
    text = printed("table", ROWS[:1], single=True).decode()

    assert text.splitlines()[:2] == ["topic:      orders", "queue_id:   3"]


@dataclass(frozen=True, slots=True)
class Part(Row):
    name: str
    count: int


@dataclass(frozen=True, slots=True)
class Whole(Row):
    parts: tuple[Part, ...]


def test_rows_within_a_row_stay_columns_beside_a_long_name() -> None:
    whole = Whole((Part("a", 1), Part("n" * 90, 20)))

    assert printing.printed([whole], single=True).splitlines() == [
        "parts:",
        f"  NAME{' ' * 56}  COUNT",
        f"  a{' ' * 59}      1",
        f"  {'n' * 90}     20",
    ]


def test_json_is_one_array_with_a_row_on_a_line() -> None:
    text = printed("json").decode()

    rows = json.loads(text)
    assert rows[0]["store_ms"] == 1_700_000_000_000
    assert rows[0]["store_time"] == "2023-11-14T22:13:20.000Z"
    assert rows[1]["store_time"] is None
    assert rows[0]["keys"] == ["a", "b"]
    assert "body" in rows[0]
    assert "body" not in rows[1]
    assert "日志" in text
    assert len(text.splitlines()) == 4


def test_json_without_rows_is_an_empty_array_and_of_one_thing_an_object() -> None:
    assert printed("json", ()) == b"[]\n"
    assert json.loads(printed("json", ROWS[:1], single=True))["topic"] == "orders"


def test_jsonl_has_an_object_on_each_line() -> None:
    lines = printed("jsonl").decode().splitlines()

    assert [json.loads(line)["queue_id"] for line in lines] == [3, 10]


def test_yaml_and_msgpack_hold_what_json_holds() -> None:
    expected = json.loads(printed("json"))

    assert yaml.safe_load(printed("yaml")) == expected
    assert msgpack.unpackb(printed("msgpack")) == expected
    assert yaml.safe_load(printed("yaml", ())) == []
    assert msgpack.unpackb(printed("msgpack", ())) == []


def test_msgpack_while_following_is_one_map_after_the_other() -> None:
    unpacker = msgpack.Unpacker(io.BytesIO(printed("msgpack", follow=True)))

    assert [one["queue_id"] for one in unpacker] == [3, 10]


def test_csv_reads_back_and_keeps_numbers_plain() -> None:
    rows = list(csv.DictReader(io.StringIO(printed("csv").decode())))

    assert rows[0]["store_ms"] == "1700000000000"
    assert rows[0]["body"] == "x,\n\x1b[31m"
    assert rows[0]["keys"] == '["a", "b"]'
    assert (rows[1]["ratio"], rows[1]["ok"]) == ("", "false")


def test_name_is_the_first_column() -> None:
    assert printed("name").decode() == "orders\n日志\n"


def test_msgpack_on_a_text_only_stream_is_refused() -> None:
    with pytest.raises(Usage, match="msgpack needs a file or a pipe"):
        printer_for("msgpack", io.StringIO(), Look(names=("a",)))


def test_rows_are_sorted_by_several_keys() -> None:
    rows = [Sample(t, q, 0, None, (), True) for t, q in (("b", 2), ("a", 10), ("b", 10))]

    made = sorted_rows(rows, ["topic", "-queue_id"])

    assert [(row.topic, row.queue_id) for row in made if isinstance(row, Sample)] == [
        ("a", 10),
        ("b", 10),
        ("b", 2),
    ]


def test_an_unknown_column_names_the_nearest() -> None:
    with pytest.raises(Usage) as caught:
        sorted_rows(ROWS, ["topik"])

    assert caught.value.hint == "did you mean topic?"
