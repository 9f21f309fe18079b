"""Where offsets can be told to go."""

import pytest

from mqadmin.cli.positions import PositionKind, parse_position


@pytest.mark.parametrize(
    ("text", "mark", "count"),
    [
        ("earliest", PositionKind.EARLIEST, 0),
        ("LATEST", PositionKind.LATEST, 0),
        ("+5", PositionKind.STEP, 5),
        ("-5", PositionKind.STEP, -5),
        ("17", PositionKind.ENTRY, 17),
        ("1700000000000", PositionKind.TIME, 0),
        ("-1h", PositionKind.TIME, 0),
        ("now", PositionKind.TIME, 0),
        ("yesterday 10:00", PositionKind.TIME, 0),
    ],
)
def test_a_position_is_understood(text: str, mark: PositionKind, count: int) -> None:
    made = parse_position(text)

    assert (made.mark, made.count) == (mark, count)


def test_what_is_no_position_names_all_forms() -> None:
    with pytest.raises(ValueError, match=r"'soon' is not a time.*earliest, latest, \+N"):
        parse_position("soon")


@pytest.mark.parametrize(
    ("text", "expected"),
    [("earliest", 10), ("latest", 90), ("+5", 45), ("-5", 35), ("17", 17), ("5", 10), ("+99", 90)],
)
def test_an_offset_stays_within_the_ends(text: str, expected: int) -> None:
    assert parse_position(text).within(low=10, high=90, current=40) == expected


def test_a_step_of_a_group_without_offset_counts_from_the_first_entry() -> None:
    assert parse_position("+3").within(low=10, high=90, current=None) == 13
