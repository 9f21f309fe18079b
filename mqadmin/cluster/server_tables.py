"""Tables of keys and values from servers as rows, and the counts of brokers."""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from mqadmin.cluster.brokers import ServerNode
from mqadmin.errors import ItemNotFound, did_you_mean
from mqadmin.output.rows import Row
from mqclient.errors import BrokerRefused, ClientError
from remoting.bodies import BrokerStatsData

if TYPE_CHECKING:
    from mqclient.admin.admin import Admin


@dataclass(frozen=True, slots=True)
class ServerValue(Row):
    """One setting or number, as the server returns it."""

    broker: str
    address: str
    key: str
    value: str


def values_of(
    tables: Sequence[tuple[ServerNode, Mapping[str, str]]], keys: Sequence[str], *, missing: str
) -> list[ServerValue]:
    """Return a row for each key of each server, sorted by key, or for ``keys`` in their order.

    Args:
        missing: beginning of the error for a key that no server has.

    Raises:
        ItemNotFound: no server has one of the keys.
    """
    existing = {key for _, table in tables for key in table}
    for key in keys:
        if key not in existing:
            hint = did_you_mean(key, existing, "omit the key to see all")
            raise ItemNotFound(f"{missing} {key!r}", hint=hint)
    return [
        ServerValue(node.broker, node.address, key, table[key])
        for node, table in tables
        for key in keys or sorted(table)
        if key in table
    ]


@dataclass(frozen=True, slots=True)
class BrokerCounts:
    """The counts of a broker, by its own names, or why it does not answer."""

    counts: Mapping[str, str]
    error: str | None = None

    def number(self, key: str) -> int | None:
        """Return a whole number; None if the broker does not report it."""
        text = self.counts.get(key, "")
        return int(text) if text.removeprefix("-").isdecimal() else None

    def average(self, *keys: str) -> float | None:
        """Return the first of the averages over 10 s, 1 min and 10 min."""
        text = next((self.counts[key] for key in keys if self.counts.get(key)), "")
        try:
            return round(float(text.split()[0]), 4)
        except (ValueError, IndexError):
            return None

    def between(self, first: str, last: str) -> int | None:
        """Return the count between two of the broker's marks."""
        low, high = self.number(first), self.number(last)
        return None if low is None or high is None else high - low


async def ask_counts(
    admin: "Admin", nodes: list[ServerNode]
) -> list[tuple[ServerNode, BrokerCounts]]:
    """Ask every broker for its counts at once; one that does not answer has its error instead."""

    async def ask(node: ServerNode) -> BrokerCounts:
        try:
            return BrokerCounts(await admin.broker_runtime(node.address))
        except ClientError as error:
            return BrokerCounts({}, str(error))

    return list(zip(nodes, await asyncio.gather(*map(ask, nodes)), strict=True))


async def statistic(admin: "Admin", address: str, name: str, *, key: str) -> BrokerStatsData:
    """Return a statistic of a broker; an empty one if nothing was counted."""
    try:
        return await admin.broker_stats(address, name, key)
    except BrokerRefused:
        return BrokerStatsData()


def count_of_day(counted: BrokerStatsData) -> int:
    """Return the count of a day; a broker that just started only has an hour, or a minute."""
    spans = (counted.stats_day, counted.stats_hour, counted.stats_minute)
    return next((span.sum for span in spans if span is not None and span.sum), 0)
