"""What a person sees at 80 and at 120 columns."""

import io
import json
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

import pytest

from docs.screens import lags, locks
from mqadmin.cli.parse import load
from mqadmin.output.columns import choose, record_of
from mqadmin.output.formats import printer_for
from mqadmin.output.printer import Look
from mqadmin.output.rows import EpochMs, Row
from mqadmin.output.times import age_text, epoch_ms_of, iso_utc
from tests.mqadmin.conftest import Run
from tests.mqadmin.output.printing import printed
from tests.programs import python

NOW_MS = 1_764_000_000_000
LAG_COLUMNS = load("group lag").columns
LOCK_COLUMNS = load("lock list").columns


@dataclass(frozen=True, slots=True)
class Sample(Row):
    topic: str
    broker: str
    queue_id: int
    lag: int
    msg_id: str
    store_ms: EpochMs
    hint: str
    body: str | None


def sample(number: int, **changed: object) -> Sample:
    made = Sample(
        topic="orders",
        broker="broker-a",
        queue_id=number,
        lag=number * 12345,
        msg_id=f"AC1100020B6B18B4AAC2064ED6A3{number:04X}",
        store_ms=NOW_MS - 3000 - number * 60_000,
        hint="look at the group",
        body="a body of some length, which nobody has to read as a whole",
    )
    return replace(made, **changed)


NAMES = ("topic", "broker", "queue_id", "lag", "msg_id", "store_time", "body")


def lines(
    rows: Sequence[Row], names: Sequence[str] = NAMES, *, width: int = 80, **look: object
) -> list[str]:
    text = printed(rows, *names, width=width, now_ms=NOW_MS, **look)
    made = [line.rstrip() for line in text.splitlines()]
    assert all(len(line) <= width for line in made)
    return made


def test_what_every_row_says_is_said_once_above_the_table() -> None:
    made = lines([sample(1), sample(2)], width=160)

    assert made[0] == "topic orders   broker broker-a"
    assert made[1].startswith("QUEUE_ID     LAG  MSG_ID")
    assert made[2].split()[:2] == ["1", "12,345"]


def test_columns_that_were_named_stay_columns() -> None:
    made = lines([sample(1), sample(2)], width=200, named=True)

    assert made[0].split()[:3] == ["TOPIC", "BROKER", "QUEUE_ID"]


def test_one_row_has_all_its_columns() -> None:
    assert lines([sample(1)], width=200)[0].startswith("TOPIC")


def test_numbers_are_grouped_and_stand_right() -> None:
    made = lines([sample(1), sample(100)], ("queue_id", "lag"))

    assert made == [
        "QUEUE_ID        LAG",
        "       1     12,345",
        "     100  1,234,500",
    ]


def test_a_time_has_its_age_and_becomes_shorter_before_a_body_is_cut_short() -> None:
    rows = [sample(1), sample(2)]

    assert "2025-11-24 15:58:57.000Z 1 min ago" in lines(rows, width=200)[2]
    narrow = lines(rows, ("lag", "store_time", "body"), width=70)
    assert "12,345  15:58:57Z 1 min ago  a body of some length, which nobody" in narrow[1]


def test_a_body_is_cut_before_an_id() -> None:
    made = lines([sample(1), sample(2)], width=80)

    text = "\n".join(made)
    assert "AC1100020B6B18B4AAC2064ED6A30001" in text
    assert "a body" in text
    assert "…" in text


def test_ids_are_shortened_in_the_middle_and_stay_apart() -> None:
    rows = [sample(number) for number in range(40)]

    made = lines(rows, ("msg_id", "lag", "queue_id"), width=34)

    ids = [line.split()[0] for line in made[-40:]]
    assert len(set(ids)) == 40
    assert all("…" in text for text in ids)


def test_sentences_go_on_in_the_next_line() -> None:
    rows = [sample(1, hint="one two three four five six seven eight nine ten eleven twelve")]

    made = lines(rows, ("topic", "hint"), width=40)

    assert "…" not in "".join(made)
    assert "twelve" in "".join(made)


def test_a_table_that_is_too_wide_becomes_sections_before_blocks() -> None:
    rows = [sample(number, topic=f"t{number // 2}", lag=10**14) for number in range(4)]

    made = lines(rows, ("topic", "queue_id", "lag"), width=28)

    assert [line for line in made if line.startswith("topic ")] == ["topic t0", "topic t1"]
    assert [line.split() for line in made if "000" in line][3] == ["3", "100,000,000,000,000"]


def test_numbers_that_cannot_fit_make_blocks_and_are_whole() -> None:
    rows = [sample(1, lag=10**14), sample(2, lag=10**14)]

    made = lines(rows, ("lag", "queue_id", "store_ms"), width=32)

    assert made[0] == "-- 1 --"
    assert "100,000,000,000,000" in "".join(made)


def test_the_same_time_is_not_shown_twice() -> None:
    made = lines([sample(1)], (), width=80, single=True)

    assert not [line for line in made if line.startswith("store_ms")]
    assert [line for line in made if line.startswith("store_time:")]


@dataclass(frozen=True, slots=True)
class Whole(Row):
    path: str
    size: int
    addresses: dict[str, str]
    parts: tuple[Sample, ...]


def test_one_thing_has_sections_and_tables_within() -> None:
    whole = Whole("/store", 1_000_000, {"0": "10.0.0.1:10911"}, (sample(1), sample(2)))

    made = lines([whole], (), single=True, sections=(("Files", ("size",)), ("Other", ("path",))))

    assert made[:2] == ["Files", "size:       1,000,000"]
    assert made[2] == "Other"
    assert "addresses:  0=10.0.0.1:10911" in made
    assert "parts:" in made
    assert not [line for line in made if "{" in line]


def test_rows_are_a_tree_by_the_columns_that_nest_them() -> None:
    rows = [sample(1), sample(2), sample(3, broker="broker-b")]

    made = lines(rows, ("topic", "broker", "queue_id", "lag"), tree=("topic", "broker"))

    assert made[0].endswith("orders")
    assert [line.split()[-1] for line in made if "broker" in line] == ["broker-a", "broker-b"]
    assert [line.split()[-1] for line in made if "," in line] == ["12,345", "24,690", "37,035"]


@dataclass(frozen=True, slots=True)
class TraceStep(Row):
    step_ms: EpochMs
    step: str
    topic: str
    queue_id: int
    moves: bool
    due_ms: EpochMs
    detail: str


def test_a_line_of_a_tree_names_only_what_does_not_explain_itself() -> None:
    rows = [
        TraceStep(NOW_MS - 3000, "delay", "orders", 2, moves=True, due_ms=NOW_MS, detail="level 3"),
        TraceStep(NOW_MS, "retry", "orders", 0, moves=False, due_ms=0, detail="delivery 2"),
    ]
    names = ("step_time", "step", "topic", "queue_id", "moves", "due_time", "detail")

    assert lines(rows, names, tree=("topic",)) == [
        "orders",
        "├── 15:59:57Z 3 s ago  delay  queue_id 2  moves  due 16:00:00Z now  level 3",
        "└── 16:00:00Z now  retry  queue_id 0  delivery 2",
    ]


@dataclass(frozen=True, slots=True)
class Consumed(Row):
    group: str
    step: str
    success: bool


def test_a_failure_is_told_in_a_tree() -> None:
    assert lines([Consumed("billing", "consumed", success=False)], (), tree=("group",)) == [
        "billing",
        "└── consumed  success false",
    ]


def test_what_no_row_of_a_tree_holds_true_is_not_in_its_title() -> None:
    rows = [TraceStep(NOW_MS, "delay", "orders", 2, moves=False, due_ms=0, detail="")] * 2

    assert not [line for line in lines(rows, tree=("topic",), names=()) if "moves" in line]


def test_cells_stand_on_the_first_line_of_a_sentence_and_headers_end_above_them() -> None:
    found = [sample(1, hint="a hint that goes on and on, for as long as it takes to say it")]

    made = lines(found, ("topic", "queue_id", "lag", "hint"), width=48)

    assert made[0].strip() == "QUEUE_"
    assert made[1].split() == ["TOPIC", "ID", "LAG", "HINT"]
    assert made[2].startswith("orders")


def test_a_near_time_in_the_future_keeps_its_clock_where_it_becomes_shorter() -> None:
    soon = [sample(number, store_ms=NOW_MS + 42_000) for number in (1, 2)]

    made = lines(soon, ("msg_id", "queue_id", "store_time"), width=66)

    assert "16:00:42Z in 42 s" in made[-1]


def test_a_follower_gets_each_row_at_once_and_one_header() -> None:
    out = io.StringIO()
    columns = choose(Sample, ("queue_id", "msg_id", "body"))
    names = tuple(column.name for column in columns)
    printer = printer_for("table", out, Look(names=names, width=80, follow=True))

    for number in range(3):
        printer.row(record_of(sample(number), columns))
        assert len(re.findall("a body", out.getvalue())) == number + 1

    assert out.getvalue().count("MSG_ID") == 1
    # Later rows stand below the first one.
    rows = [line for line in out.getvalue().splitlines() if "a body" in line]
    assert len({line.index("a body") for line in rows}) == 1


def test_more_rows_than_are_kept_make_another_table() -> None:
    rows = [sample(number) for number in range(2001)]

    made = lines(rows, ("queue_id", "topic"))

    assert [line for line in made if "QUEUE_ID" in line] == ["QUEUE_ID  TOPIC"] * 3
    assert made[-1].split() == ["2,000", "orders"]


@pytest.mark.parametrize(
    ("distance_ms", "text"),
    [
        (0, "now"),
        (3000, "3 s ago"),
        (61_000, "1 min ago"),
        (7_200_000, "2 h ago"),
        (86_400_000 * 3, "3 d ago"),
        (31_557_600_000 * 2, "2 y ago"),
        (-28_000, "in 28 s"),
    ],
)
def test_an_age_has_one_unit(distance_ms: int, text: str) -> None:
    assert age_text(NOW_MS - distance_ms, now_ms=NOW_MS) == text


def test_what_is_written_as_a_time_is_read_back() -> None:
    assert epoch_ms_of(iso_utc(NOW_MS + 7)) == NOW_MS + 7
    assert epoch_ms_of("never") is None


def test_an_empty_table_says_so_on_standard_error(at: Run) -> None:
    words = ("message", "query", "time", "SELF_TEST_TOPIC", "--from", "-1s", "--to", "now")

    table, as_json = at(*words), at(*words, "-ojson")

    assert "message query time: no rows" in table.err
    assert json.loads(as_json.out) == []
    assert as_json.err == ""


PROBE = """
import io, sys
from mqadmin.program import main
exit_code = main(sys.argv[1:])
print(exit_code, "rich" in sys.modules, file=sys.stderr)
"""


@pytest.mark.parametrize("output", ["table", "json", "csv", "yaml"])
def test_a_pipe_never_loads_rich(output: str) -> None:
    words = ("context", "list", "-o", output)
    done = python("-c", PROBE, *words)

    assert done.stderr.splitlines()[-1].endswith("False")


@pytest.mark.parametrize(("rows", "names"), [(lags(), LAG_COLUMNS), (locks(), LOCK_COLUMNS)])
def test_what_is_looked_at_most_fits_80_columns_without_blocks(
    rows: list[Row], names: tuple[str, ...]
) -> None:
    made = lines(rows, names, width=80)

    assert not [line for line in made if line.startswith("--")]
    assert "…" not in "".join(made)
    assert len([line for line in made if "@app-" in line]) == len(rows)
