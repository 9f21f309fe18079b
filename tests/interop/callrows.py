"""Rows of the tables of requests: a name, and the call that it stands for."""

from collections.abc import Iterable, Iterator, Mapping

from tests.interop.rawcalls import Call, CallOn

Fields = Mapping[str, str]


def rows_of(
    name: str, code: int, rows: Iterable[tuple[str, Fields | None]]
) -> Iterator[tuple[str, CallOn]]:
    """Yield one row for each set of fields; ``name`` says what is asked for."""
    for of, fields in rows:
        call = Call(code, None if fields is None else dict(fields))
        yield f"{name}: {of}", lambda stage, call=call: call


def bodies_of(
    name: str, code: int, rows: Iterable[tuple[str, bytes]]
) -> Iterator[tuple[str, CallOn]]:
    """Yield one row for each body."""
    for of, body in rows:
        call = Call(code, None, body)
        yield f"{name}: {of}", lambda stage, call=call: call


def without(fields: Fields, name: str) -> Fields:
    """Return all fields but one."""
    return {key: value for key, value in fields.items() if key != name}
