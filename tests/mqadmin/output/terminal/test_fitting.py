"""Columns that give way several times until a table fits."""

import pytest

from mqadmin.cli.command import Command
from mqadmin.cli.parse import everything
from mqadmin.output.columns import columns_of
from mqadmin.output.shorten import ELLIPSIS
from mqadmin.output.terminal.fitting import FittedColumn, columns_for, fit, total

QUEUE_FILES = [
    f"consumequeue/orders/{queue}/{entry * 6_000_000:020}"
    for queue in range(12)
    for entry in (0, 1)
]


def column_of(name: str, texts: list[str]) -> FittedColumn:
    (column,) = columns_for((name,), [{name: text} for text in texts], now_ms=0)
    return column


def assert_cut_once(column: FittedColumn, whole: list[str]) -> None:
    """Fail unless each cell is the start and the end of its whole text, and all of them differ."""
    assert len(set(column.texts)) == len(set(whole))
    for text, uncut in zip(column.texts, whole, strict=True):
        start, _, end = text.partition(ELLIPSIS)
        assert ELLIPSIS not in end
        assert uncut.startswith(start)
        assert uncut.endswith(end)


def test_a_name_that_gives_way_twice_is_shortened_from_its_whole_text() -> None:
    narrowed = column_of("file", QUEUE_FILES)
    at_once = column_of("file", QUEUE_FILES)
    for width in (40, 35, 31, 27):
        narrowed.shrink(width)

    at_once.shrink(27)

    assert_cut_once(narrowed, QUEUE_FILES)
    assert (narrowed.width, narrowed.texts) == (at_once.width, at_once.texts)


def test_a_name_that_no_cut_tells_apart_stays_wider() -> None:
    # All that differs is in the middle.
    alike = [f"{'a' * 20}{number}{'z' * 12}" for number in range(3)]
    column = column_of("file", alike)

    for width in range(30, 5, -1):
        column.shrink(width)

    # At least the first cell, the ellipsis, and all from the digit to the end.
    assert column.width == 1 + 1 + 13
    assert_cut_once(column, alike)


def test_a_body_that_gives_way_twice_is_cut_once() -> None:
    column = column_of("body", ["a body of many words that goes on and on"])
    column.shrink(30)

    column.shrink(16)

    assert column.texts == ["a body of many …"]


def test_the_files_of_queues_differ_in_a_narrow_table() -> None:
    names = ("topic", "broker", "file", "remark_of_a_person")
    records = [
        {"topic": "orders", "broker": "broker-a", "file": file, "remark_of_a_person": "x" * 30}
        for file in QUEUE_FILES
    ]

    kept = fit(columns_for(names, records, now_ms=0), 60)

    assert total(kept) <= 60
    assert_cut_once(kept[2], QUEUE_FILES)


@pytest.mark.parametrize("made", everything(), ids=lambda made: made.name)
def test_no_column_name_of_a_command_takes_three_lines(made: Command) -> None:
    for one in columns_of(made.rows) if made.rows is not None else ():
        column = column_of(one.name, ["x"])

        column.stack()

        assert len(column.header.split("\n")) <= 2
