"""Conditions on rows, simple enough for a worker to apply them before rows leave it.

    Spark's filters (option pushdown) ─┐
    options topics, startTime …       ─┼─> Condition ──> mask over an Arrow batch
    filters of ``extract``            ─┘            └──> files and splits that need no reading

Rule: as in SQL, a comparison with null is not true. Spark does not check a pushed filter again, so
only filters that certainly mean the same here are taken; Spark applies all others.
"""

from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from typing import Any, Final, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

TIME_SLACK_MS: Final = 3_600_000
"""Files this close to a wanted time are read too, since a broker's clock may step back."""


class Condition(NamedTuple):
    """One test of one column; ``value`` is a tuple for ``in``, None for the tests of null."""

    column: str
    test: str
    value: Any = None


_TESTS: Final[dict[str, Callable[[Any, Any], Any]]] = {
    "=": pc.equal,
    "<>": pc.not_equal,
    "<": pc.less,
    "<=": pc.less_equal,
    ">": pc.greater,
    ">=": pc.greater_equal,
}
_TEXT_TESTS: Final[dict[str, Callable[[Any, str], Any]]] = {
    "starts with": pc.starts_with,
    "ends with": pc.ends_with,
    "contains": pc.match_substring,
    "matches": lambda column, text: pc.match_substring_regex(column, f"^(?:{text})$"),
}
_FROM_SPARK: Final = {
    "EqualTo": "=",
    "LessThan": "<",
    "LessThanOrEqual": "<=",
    "GreaterThan": ">",
    "GreaterThanOrEqual": ">=",
    "StringStartsWith": "starts with",
    "StringEndsWith": "ends with",
    "StringContains": "contains",
}


def matching(batch: Any, conditions: Sequence[Condition]) -> Any:
    """Return the rows of a batch for which every condition is true."""
    for condition in conditions:
        batch = batch.filter(_mask(batch.column(condition.column), condition))
    return batch


def from_spark(pushed: Any, schema: Any) -> Condition | None:
    """Return the condition that a filter of Spark means, None if Spark has to apply it.

    Args:
        pushed: one of ``pyspark.sql.datasource``'s filters.
        schema: the Arrow schema of the table.
    """
    kind = type(pushed).__name__
    if kind == "Not":
        inner = from_spark(pushed.child, schema)
        swapped = {"=": "<>", "is null": "is not null"}.get(inner.test) if inner else None
        return inner._replace(test=swapped) if inner is not None and swapped else None
    path: Any = getattr(pushed, "attribute", ())
    if len(path) != 1 or path[0] not in schema.names:
        return None
    column, field = path[0], schema.field(path[0])
    if kind == "IsNull":
        return Condition(column, "is null")
    if kind == "IsNotNull":
        return Condition(column, "is not null")
    if kind == "In":
        condition = Condition(column, "in", tuple(pushed.value))
    elif kind in _FROM_SPARK:
        condition = Condition(column, _FROM_SPARK[kind], pushed.value)
    else:
        return None
    values = condition.value if condition.test == "in" else (condition.value,)
    return condition if all(_fits(value, field.type) for value in values) else None


def log_range(conditions: Sequence[Condition]) -> tuple[int, int]:
    """Return the log offsets that rows can have, in bytes: the first, and the end of the range."""
    low, high = 0, 1 << 63
    for each in conditions:
        if each.column != "log_offset":
            continue
        test, value = each.test, each.value
        if test in ("=", ">", ">="):
            low = max(low, value + (test == ">"))
        if test in ("=", "<", "<="):
            high = min(high, value + (test != "<"))
    return low, high


def time_range(conditions: Sequence[Condition]) -> tuple[int, int] | None:
    """Return the store times in ms, slack included, that rows can have; None for any."""
    low, high = -(1 << 62), 1 << 62
    for each in conditions:
        test = each.test
        if each.column == "store_timestamp" and test in ("=", "<", "<=", ">", ">="):
            at_ms = int(each.value.timestamp() * 1000)
            low = max(low, at_ms - TIME_SLACK_MS) if test in ("=", ">", ">=") else low
            high = min(high, at_ms + TIME_SLACK_MS) if test in ("=", "<", "<=") else high
    return None if (low, high) == (-(1 << 62), 1 << 62) else (low, high)


def time_of(at_ms: int) -> datetime:
    """Return a time as a value for a condition on a timestamp."""
    return datetime.fromtimestamp(at_ms / 1000, UTC)


def stored_between(begin_ms: int | None, end_ms: int | None) -> tuple[Condition, ...]:
    """Return the conditions for store times between two, both included; None for no limit."""
    return tuple(
        Condition("store_timestamp", test, time_of(at_ms))
        for test, at_ms in ((">=", begin_ms), ("<=", end_ms))
        if at_ms is not None
    )


def ms_of(moment: datetime | None) -> int:
    """Return a time of a row in ms since 1970; 0 for a damaged one, which is null."""
    return 0 if moment is None else round(moment.timestamp() * 1000)


def _mask(column: Any, condition: Condition) -> Any:
    test, value = condition.test, condition.value
    if test == "is null":
        return pc.is_null(column)
    if test == "is not null":
        return pc.is_valid(column)
    if test == "in":
        values = pa.array([each for each in value if each is not None], column.type)
        return pc.is_in(column, value_set=values)
    if test in _TEXT_TESTS:
        return pc.fill_null(_TEXT_TESTS[test](column, value), False)
    return pc.fill_null(_TESTS[test](column, pa.scalar(value, column.type)), False)


def _fits(value: Any, kind: Any) -> bool:
    if value is None or pa.types.is_nested(kind) or pa.types.is_binary(kind):
        return False
    try:
        pa.scalar(value, kind)
    except (pa.ArrowInvalid, pa.ArrowTypeError, OverflowError):
        return False
    return True
