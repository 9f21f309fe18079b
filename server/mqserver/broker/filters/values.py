"""The values of an SQL92 filter, and how the real broker compares them.

    property  -> str, always               5 -> int    5000000000 -> Long
    'text'    -> str    TRUE -> bool       5.0 -> float          NULL -> None

    text with a number   the text must be of exactly that type: "1.5" is not an integer
    text with text       > >= < <= read both as floats; = compares the texts
    int, Long, float     compared as the wider type of the two
    a truth value        with text: "true" in upper or lower case is true; with a number: not equal

Rule: a value that cannot be parsed or compared raises ``EvaluationError``, which ends the
evaluation, and the message does not match. Unlike Java, a number of more than 1,024 characters is
not parsed, because that would be slow and no sender needs it.

Source: filter/expression/ComparisonExpression.java#__compare, UnaryExpression.java#negate.
"""

import math
import re
from typing import Final

Value = str | int | float | bool | None
Truth = bool | None


class Long(int):
    """An integer of 64 bits; a plain int stands for one of 32 bits."""


class EvaluationError(Exception):
    """A value that the real broker cannot parse or compare, so that it throws."""


INT_MAX: Final = (1 << 31) - 1
LONG_MAX: Final = (1 << 63) - 1
_INTEGER: Final = re.compile(r"[+-]?\d+")
_DECIMAL: Final = re.compile(
    r"[+-]?(?:NaN|Infinity|(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?[fFdD]?)"
)
_HEXADECIMAL: Final = re.compile(
    r"([+-]?0[xX](?:[0-9a-fA-F]+\.?[0-9a-fA-F]*|\.[0-9a-fA-F]+)[pP][+-]?[0-9]+)[fFdD]?"
)
_DIGITS_MAX: Final = 64
NUMBER_SIZE_MAX: Final = 1_024
"""Longest property, in characters, that is parsed as a number."""
# Java trims all characters up to and including the blank.
_BLANKS: Final = "".join(map(chr, range(0x21)))


def read_int(text: str) -> int:
    """Return what Integer.valueOf returns; raise EvaluationError if it would throw."""
    return _integer(text, INT_MAX)


def read_long(text: str) -> int:
    """Return what Long.valueOf returns; raise EvaluationError if it would throw."""
    return _integer(text, LONG_MAX)


def _integer(text: str, high: int) -> int:
    # Java accepts digits of any script, but none beyond the BMP, which it sees as two units.
    if len(text) > NUMBER_SIZE_MAX or _INTEGER.fullmatch(text) is None or max(text) > "\uffff":
        raise _unreadable(text)
    # Python refuses to parse very long numbers, so drop leading zeros; if it is still too long, it
    # is out of range.
    digits = text if len(text) <= _DIGITS_MAX else _without_zeros(text)
    value = int(digits) if len(digits) <= _DIGITS_MAX else high + 2
    if not -high - 1 <= value <= high:
        raise _unreadable(text)
    return value


def _unreadable(text: str) -> EvaluationError:
    return EvaluationError(
        f'java.lang.NumberFormatException: For input string: "{text[:NUMBER_SIZE_MAX]}"'
    )


def _without_zeros(text: str) -> str:
    sign, digits = (text[0], text[1:]) if text[0] in "+-" else ("", text)
    kept = next((i for i, digit in enumerate(digits) if int(digit)), len(digits) - 1)
    return sign + digits[kept:]


def read_float(text: str) -> float:
    """Return what Double.valueOf returns; raise EvaluationError if it would throw."""
    if len(text) > NUMBER_SIZE_MAX:
        raise _unreadable(text)
    text = text.strip(_BLANKS)
    if _DECIMAL.fullmatch(text) is not None:
        if text.endswith(("NaN", "Infinity")):
            return float(text)
        return float(text.rstrip("fFdD"))
    match = _HEXADECIMAL.fullmatch(text)
    if match is None:
        raise _unreadable(text)
    try:
        return float.fromhex(match[1])
    except OverflowError:
        return -math.inf if text[0] == "-" else math.inf


def read_truth(text: str) -> bool:
    """Return what Boolean.valueOf returns."""
    return len(text) == len("true") and text.lower() == "true"


def negate_number(value: Value) -> Value:
    """Return the negative of a number, or None for any other value."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    if isinstance(value, Long):
        # The lowest number of 64 bits has no positive counterpart.
        return Long(-value) if value != -LONG_MAX - 1 else value
    return -value


def compare_floats(left: float, right: float) -> int:
    """Return the sign as Double.compare does: NaN is the largest, -0.0 is less than 0.0."""
    if left < right:
        return -1
    if left > right:
        return 1
    return _rank(left) - _rank(right) if left != right or not left else 0


def _rank(value: float) -> int:
    if math.isnan(value):
        return 2
    return 0 if math.copysign(1.0, value) < 0 else 1


def compare(left: str | int | float | bool, right: str | int | float | bool) -> int:
    """Return a number below, equal to or above 0 for less, equal or more.

    As in Java, the result is -1 for values of types that are never equal.

    Raises:
        EvaluationError: Java would throw.
    """
    if isinstance(left, str):
        return _compare_text(left, right)
    if isinstance(left, bool) or isinstance(right, bool):
        if isinstance(right, str):
            # Java casts the wrong one of the two values, and throws.
            raise EvaluationError(
                "java.lang.ClassCastException: a truth value is compared with a text"
            )
        return int(left) - int(right) if type(left) is type(right) else -1
    if isinstance(right, str):
        right = _read_like(left, right)
    if isinstance(left, float) or isinstance(right, float):
        return compare_floats(float(left), float(right))
    return (left > right) - (left < right)


def _compare_text(left: str, right: str | int | float | bool) -> int:
    if isinstance(right, str):
        return (left > right) - (left < right)
    if isinstance(right, bool):
        return int(read_truth(left)) - int(right)
    value = _read_like(right, left)
    if isinstance(right, float):
        return compare_floats(float(value), right)
    return (value > right) - (value < right)


def _read_like(number: int | float, text: str) -> int | float:
    if isinstance(number, float):
        return read_float(text)
    return read_long(text) if isinstance(number, Long) else read_int(text)
