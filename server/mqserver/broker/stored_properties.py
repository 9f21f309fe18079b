r"""Rewrite the properties of a message as Java's broker stores them.

    KEYS\1k\2WAIT\1true\2TAGS\1a   ->   KEYS\1k\2CLUSTER\1c\2TAGS\1a

When read: parts without a name or value are dropped, and of equal names the last one counts.
When written: CLUSTER is set, WAIT is removed (except for delayed messages and batches), and the
order is that of a ``java.util.HashMap``.

Rule: producers use the same few lists of names in all messages, so ``send_kernel`` asks once for
the ``layout_of`` a list and then only moves bytes. It gives the same bytes as ``recode`` (tested).

Source: broker/processor/SendMessageProcessor.java#asyncSendMessage,
common/message/MessageDecoder.java, store/index/IndexService.java#buildIndex.
"""

from collections.abc import Mapping
from typing import Final, NamedTuple

from mqserver.store.results import PutMessage
from storefmt.formats.javahash import tags_code
from storefmt.formats.message import Record
from storefmt.formats.properties import (
    CLUSTER,
    DELAY,
    INNER_MULTI_DISPATCH,
    KEYS,
    TAGS,
    TIMER_DELAY_MS,
    TIMER_DELAY_SEC,
    TIMER_DELIVER_MS,
    TRANSACTION_PREPARED,
    UNIQUE_KEY,
    WAIT,
    hashmap_order,
    in_java_order,
    index_keys,
    parse_properties,
)

_ACTED_ON: Final = frozenset({
    CLUSTER, DELAY, INNER_MULTI_DISPATCH, TRANSACTION_PREPARED,
    TIMER_DELIVER_MS, TIMER_DELAY_SEC, TIMER_DELAY_MS,
})  # fmt: skip
_ASKS: Final = _ACTED_ON - {CLUSTER}
_INDEXED: Final = frozenset({TAGS, KEYS, UNIQUE_KEY})

Places = tuple[list[int], list[int]]
"""For each stored property the index of the given one, -1 for CLUSTER; and the indices of TAGS,
KEYS, UNIQ_KEY and WAIT, -1 for a missing one."""


class Recoded(NamedTuple):
    """Properties as they are stored, and what the broker needs from them."""

    data: bytes
    tags_code: int
    keys: tuple[str, ...]
    """Index keys, the unique key first."""
    waits: bool
    """False if the producer does not want to wait for the disk."""
    named: Mapping[str, str] | None
    """All properties by name, in the map's insertion order, if the broker has to act on one of
    them (DELAY, TRAN_MSG, INNER_MULTI_DISPATCH, the three of a timer); None otherwise."""


class BatchSuffix(NamedTuple):
    """The properties of a batch, which are appended to those of each of its messages."""

    data: bytes
    waits: bool
    """False if the producer does not want to wait for the disk."""
    is_delayed: bool
    """True if the batch has a delay level, which is not allowed."""
    is_indexed: bool
    """True if it has tags or keys, which then replace those of each message."""


class Recoder:
    """Rewrites the properties of messages for one broker.

    Args:
        cluster: value of the CLUSTER property.
    """

    def __init__(self, cluster: str) -> None:
        self._cluster = cluster

    def recode(self, text: str | None) -> Recoded:
        """Return the stored form of the properties of a single message."""
        named = parse_properties(text or "")
        acted_on = not _ASKS.isdisjoint(named)
        named[CLUSTER] = self._cluster
        wait = named.pop(WAIT, None)
        peak = len(named) + (wait is not None)
        data = in_java_order(named, peak_count=peak).encode()
        code, keys = tags_code(named.get(TAGS)), index_keys(named)
        if wait is not None:
            named[WAIT] = wait
        waits = wait is None or wait.lower() == "true"
        return Recoded(data, code, keys, waits, named if acted_on else None)

    def layout_of(self, names: list[str]) -> Places | None:
        """Return how properties with these names are stored, whatever their values are.

        None if a name is given twice, or the broker acts on one of them.
        """
        if len(set(names)) < len(names) or not _ACTED_ON.isdisjoint(names):
            return None
        kept = [name for name in (*names, CLUSTER) if name != WAIT]
        place = {name: index for index, name in enumerate(names)}
        order = hashmap_order(kept, peak_count=len(names) + 1)
        return (
            [place.get(name, -1) for name in order],
            [place.get(name, -1) for name in (TAGS, KEYS, UNIQUE_KEY, WAIT)],
        )

    def batch_suffix(self, text: str | None) -> BatchSuffix:
        """Return what is appended to the properties of every message of a batch."""
        named = parse_properties(text or "")
        named[CLUSTER] = self._cluster
        return BatchSuffix(
            in_java_order(named).encode(),
            waits=named.get(WAIT, "true").lower() == "true",
            is_delayed=_is_delayed(named),
            is_indexed=not _INDEXED.isdisjoint(named),
        )


def _is_delayed(named: Mapping[str, str]) -> bool:
    """Return whether DELAY is above 0; a value that is not a number also counts as a delay."""
    level = named.get(DELAY, "0")
    return not level.removeprefix("-").isdecimal() or int(level) > 0


def put_again(
    record: Record,
    named: Mapping[str, str],
    *,
    topic: str,
    queue_id: int,
    properties: bytes | None = None,
) -> PutMessage:
    """Return a stored message as the broker puts it again, under another topic.

    Body, flags, hosts, birth and reconsume times are those of the record; it prepares nothing.

    Args:
        record: the message as it is stored.
        named: its properties now, in the map's insertion order.
        topic: where it goes.
        queue_id: the queue of that topic.
        properties: ``named`` as they are stored; None writes them in the order of Java's map.
    """
    return PutMessage(
        topic=topic,
        topic_bytes=topic.encode(),
        queue_id=queue_id,
        body=record.body,
        properties=in_java_order(named).encode() if properties is None else properties,
        flag=record.flag,
        sys_flag=record.sys_flag,
        born_ms=record.born_ms,
        born_host=record.born_host,
        store_host=record.store_host,
        reconsume_times=record.reconsume_times,
        tags_code=tags_code(named.get(TAGS)),
        keys=index_keys(named),
    )
