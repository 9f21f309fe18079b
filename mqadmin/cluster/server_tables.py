"""Tables of keys and values that servers tell of themselves, as rows: all of them, or some keys."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from mqadmin.cluster.brokers import ServerNode
from mqadmin.errors import NotFound, did_you_mean
from mqadmin.output.rows import Row


@dataclass(frozen=True, slots=True)
class ServerValue(Row):
    """One setting or number, as the server says it."""

    broker: str
    address: str
    key: str
    value: str


def values_of(
    tables: Sequence[tuple[ServerNode, Mapping[str, str]]], keys: Sequence[str], *, missing: str
) -> list[ServerValue]:
    """Return a row for each key of each server, sorted by key, or for ``keys`` in their order.

    Args:
        missing: what is said of a key that no server has, before the key.

    Raises:
        NotFound: no server has one of the keys.
    """
    known = {key for _, table in tables for key in table}
    for key in keys:
        if key not in known:
            hint = did_you_mean(key, known, "leave the key out to see all")
            raise NotFound(f"{missing} {key!r}", hint=hint)
    return [
        ServerValue(node.broker, node.address, key, table[key])
        for node, table in tables
        for key in keys or sorted(table)
        if key in table
    ]
