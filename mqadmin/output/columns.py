"""Which columns a row class has, and the value of each in a given row.

    frozen dataclass           columns
    topic: str                 topic
    store_ms: EpochMs          store_ms, store_time (ISO 8601, UTC)
    relative: Share            relative, bar (drawn; only on request)
    lags: Course               lags, sparkline (drawn)
    body: str | None           body, absent in a record where it is None and ``omitted``

Rule: ``--columns`` and ``--sort`` take exactly these names; a wrong one is refused before the
command runs.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import fields, is_dataclass
from enum import Enum
from operator import attrgetter
from os import PathLike
from typing import Annotated, Final, NamedTuple, TypeAlias, get_args, get_origin, get_type_hints

from mqadmin.errors import Usage, did_you_mean
from mqadmin.output.rows import BAR, INSTANT, OMIT, SPARK, Row
from mqadmin.output.times import iso_utc

Value: TypeAlias = "bool | int | float | str | list[Value] | dict[str, Value] | None"
Record = dict[str, Value]
PARTIAL_CELLS: Final[tuple[str, ...]] = ("", *"▏▎▍▌▋▊▉")
BAR_WIDTH: Final = 32


class Column(NamedTuple):
    """One column: its name, how to read it, and whether it is omitted if None.

    A ``drawn`` column is a picture for people, and printed only if it is named.
    """

    name: str
    read: Callable[[Row], object]
    omit_none: bool
    drawn: bool = False


_KNOWN: dict[type[Row], tuple[Column, ...]] = {}


def columns_of(row_class: type[Row]) -> tuple[Column, ...]:
    """Return all columns of a row class in the order of its fields, but for pictures."""
    return tuple(column for column in _all_columns(row_class) if not column.drawn)


def _all_columns(row_class: type[Row]) -> tuple[Column, ...]:
    columns = _KNOWN.get(row_class)
    if columns is None:
        columns = _KNOWN[row_class] = _work_out(row_class)
    return columns


def hints_of(row_class: type[Row]) -> dict[str, object]:
    """Return the types of the fields with their ``Annotated`` metadata."""
    return get_type_hints(row_class, include_extras=True)


def _work_out(row_class: type[Row]) -> tuple[Column, ...]:
    hints = hints_of(row_class)
    columns = []
    for spot in fields(row_class):
        read = attrgetter(spot.name)
        columns.append(Column(spot.name, read, bool(spot.metadata.get(OMIT))))
        if _is_marked(hints[spot.name], BAR):
            columns.append(Column("bar", _bar_reader(read), False, drawn=True))
        if _is_marked(hints[spot.name], SPARK):
            columns.append(Column("sparkline", _spark_reader(read), False, drawn=True))
        if _is_marked(hints[spot.name], INSTANT):
            name = spot.name.removesuffix("_ms") + "_time"
            columns.append(Column(name, _time_reader(spot.name), False))
    return tuple(columns)


def choose(row_class: type[Row], names: Iterable[str]) -> tuple[Column, ...]:
    """Return the named columns, in the order given.

    Raises:
        Usage: a name is not a column of these rows.
    """
    by_name = {column.name: column for column in _all_columns(row_class)}
    chosen = []
    for name in names:
        column = by_name.get(name.strip().lower())
        if column is None:
            hint = did_you_mean(name, by_name, "there are " + ", ".join(by_name))
            raise Usage(f"unknown column {name!r}", hint=hint)
        chosen.append(column)
    return tuple(chosen)


def record_of(row: Row, columns: Iterable[Column]) -> Record:
    """Return the values of ``row``, by column name."""
    record: Record = {}
    for column in columns:
        value = column.read(row)
        if value is None and column.omit_none:
            continue
        if value is None or type(value) in {str, int, bool, float}:
            record[column.name] = value  # type: ignore[assignment]
        else:
            record[column.name] = plain(value)
    return record


def plain(value: object) -> Value:
    """Return a value as JSON has it: nested rows become objects, tuples become lists.

    Raises:
        TypeError: it is of a type that rows must not hold.
    """
    if value is None or isinstance(value, (str, bool, float)):
        return value
    if isinstance(value, Enum):
        return plain(value.value)
    if isinstance(value, int):
        return int(value)
    if isinstance(value, Row):
        return record_of(value, columns_of(type(value)))
    if isinstance(value, Mapping):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in value]
    if isinstance(value, PathLike):
        return str(value)
    if is_dataclass(value):
        return {spot.name: plain(getattr(value, spot.name)) for spot in fields(value)}
    raise TypeError(f"a row holds {type(value).__name__}, which no output can print")


def _is_marked(annotation: object, mark: str) -> bool:
    if get_origin(annotation) is Annotated:
        return mark in get_args(annotation)
    return any(_is_marked(part, mark) for part in get_args(annotation))


def _bar_reader(read: Callable[[Row], object]) -> Callable[[Row], object]:
    def bar_of(row: Row) -> str:
        value = read(row)
        return bar(value) if isinstance(value, float) else ""

    return bar_of


def _spark_reader(read: Callable[[Row], object]) -> Callable[[Row], object]:
    def spark_of(row: Row) -> str:
        # Only a live view draws sparklines.
        from mqadmin.output.trend import sparkline

        value = read(row)
        return sparkline(value) if isinstance(value, tuple) else ""

    return spark_of


def bar(share: float) -> str:
    """Return a bar of ``share`` (0 to 1) of ``BAR_WIDTH`` cells, in steps of an eighth."""
    eighths = round(min(max(share, 0.0), 1.0) * BAR_WIDTH * 8)
    if share > 0:
        eighths = max(1, eighths)
    return "█" * (eighths // 8) + PARTIAL_CELLS[eighths % 8]


def _time_reader(name: str) -> Callable[[Row], object]:
    read = attrgetter(name)

    def time_of(row: Row) -> str | None:
        value = read(row)
        return iso_utc(value) if value is not None and value > 0 else None

    return time_of
