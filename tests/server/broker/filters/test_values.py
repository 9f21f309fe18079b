"""Values are read and compared as Java's classes do it, which was recorded from the real ones."""

import math

import pytest

from mqserver.broker.filters.values import (
    EvaluationError,
    Long,
    compare,
    compare_floats,
    negate_number,
    read_float,
    read_int,
    read_long,
    read_truth,
)


@pytest.mark.parametrize(
    ("text", "value"),
    [("5", 5), ("+5", 5), ("-0", 0), ("007", 7), ("٥", 5), ("0" * 1_000 + "9", 9)],
)
def test_integers_are_read_as_java_reads_them(text: str, value: int) -> None:
    assert read_int(text) == read_long(text) == value


@pytest.mark.parametrize(
    "text", ["", " 5", "5 ", "1_0", "1.0", "5L", "+", "𝟓", "2147483648", "9" * 5000]
)
def test_what_is_no_integer_is_a_fault(text: str) -> None:
    with pytest.raises(EvaluationError):
        read_int(text)


def test_limits_of_both_integers() -> None:
    assert read_int("-2147483648") == -(1 << 31)
    assert read_long("-9223372036854775808") == -(1 << 63)
    with pytest.raises(EvaluationError):
        read_long("9223372036854775808")


@pytest.mark.parametrize(
    ("text", "value"),
    [
        (" 5\n", 5.0),
        ("5f", 5.0),
        ("5.D", 5.0),
        (".5e1", 5.0),
        ("-Infinity", -math.inf),
        ("0x1.8p1", 3.0),
        ("-0X1p9999f", -math.inf),
        ("1e999", math.inf),
    ],
)
def test_floats_are_read_as_java_reads_them(text: str, value: float) -> None:
    assert read_float(text) == value


@pytest.mark.parametrize("text", ["", ".", "inf", "nan", "1_0", "0x1", "٥", "5L", "1 2"])
def test_what_is_no_float_is_a_fault(text: str) -> None:
    with pytest.raises(EvaluationError):
        read_float(text)


def test_order_is_that_of_double_compare() -> None:
    numbers = [-math.inf, -1.0, -0.0, 0.0, 1.0, math.inf, math.nan]

    for i, left in enumerate(numbers):
        for j, right in enumerate(numbers):
            sign = compare_floats(left, right)
            assert (sign > 0) - (sign < 0) == (i > j) - (i < j)


def test_a_text_takes_the_type_of_the_other_side() -> None:
    assert compare("5", 5) == compare(5, "5") == 0
    assert compare("5.0", 5.0) == compare(5.0, "5") == 0
    assert compare("5000000000", Long(5_000_000_000)) == 0
    assert compare("TrUe", True) == 0
    with pytest.raises(EvaluationError):
        compare("1.5", 1)
    with pytest.raises(EvaluationError):
        compare(True, "true")


def test_truth_and_numbers_are_never_equal() -> None:
    assert compare(True, 1) == compare(1, True) == compare(1.0, True) == -1
    assert compare(True, False) > 0


def test_only_numbers_have_a_negative() -> None:
    negatives = [negate_number(value) for value in (5, 2.5, "5", True, None)]
    assert negatives == [-5, -2.5, None, None, None]
    assert isinstance(negate_number(Long(5_000_000_000)), Long)


def test_only_true_is_true() -> None:
    assert read_truth("tRuE")
    assert not read_truth(" true")
