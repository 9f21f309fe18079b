r"""Rewrite the properties of a message as Java's broker stores them.

    KEYS\1k\2WAIT\1true\2TAGS\1a   ->   KEYS\1k\2CLUSTER\1c\2TAGS\1a

When read: parts without a name or value are dropped, and of equal names the last one counts.
When written: CLUSTER is set, WAIT is removed (except for delayed messages and batches), and the
order is that of a ``java.util.HashMap``.

Rule: producers use the same few lists of names in all messages. So for each list of names there
is a ``Shape``: a regular expression that finds the values and a template that writes them. Texts
that a shape cannot handle (a repeated name, a part without a value, a property on which the broker
acts) are handled with a dict, which is slower. Both give the same bytes (tested).

Source: broker/processor/SendMessageProcessor.java#asyncSendMessage,
common/message/MessageDecoder.java, store/index/IndexService.java#buildIndex.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from operator import itemgetter
from typing import Final, NamedTuple

from storefmt.formats.javahash import tags_code
from storefmt.formats.properties import (
    CLUSTER,
    DELAY,
    INNER_MULTI_DISPATCH,
    KEYS,
    NAME_VALUE_SEPARATOR,
    PROPERTY_SEPARATOR,
    TAGS,
    TRANSACTION_PREPARED,
    UNIQUE_KEY,
    WAIT,
    format_properties,
    hashmap_order,
    parse_properties,
)

_SHAPES_MAX: Final = 4_096
_ACTED_ON: Final = frozenset({CLUSTER, DELAY, INNER_MULTI_DISPATCH, TRANSACTION_PREPARED})
_ASKS: Final = _ACTED_ON - {CLUSTER}
_INDEXED: Final = frozenset({TAGS, KEYS, UNIQUE_KEY})
_NAMES_MAX: Final = 64
_recoded: Final = tuple.__new__


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
    them (DELAY, TRAN_MSG, INNER_MULTI_DISPATCH); None otherwise."""


class BatchSuffix(NamedTuple):
    """The properties of a batch, which are appended to those of each of its messages."""

    data: bytes
    waits: bool
    """False if the producer does not want to wait for the disk."""
    is_delayed: bool
    """True if the batch has a delay level, which is not allowed."""
    is_indexed: bool
    """True if it has tags or keys, which then replace those of each message."""


class Shape(NamedTuple):
    """How to read and write the properties of texts with the same list of names."""

    match: Callable[[str], re.Match[str] | None]
    """Finds the values, in the order of the names."""
    match_ascii: Callable[[bytes, int, int], re.Match[bytes] | None]
    """The same in bytes between two positions, for values in ASCII."""
    pick: Callable[[tuple[str, ...]], tuple[str, ...]]
    """Picks the values that are stored, in stored order."""
    template: str
    """The stored text, with ``%s`` for each picked value."""
    places: tuple[int, ...]
    """The indices of the picked values. The fields below are the indices of the values of TAGS,
    KEYS, UNIQ_KEY and WAIT, -1 for a missing one."""
    tags: int
    keys: int
    unique: int
    wait: int


class _Entry(NamedTuple):
    """How to read messages of a batch: ``Shape.match_ascii`` and group numbers, 0 for none."""

    match: Callable[[bytes, int, int], re.Match[bytes] | None]
    tags: int
    keys: int
    unique: int


_NO_ENTRY: Final = _Entry(re.compile(b"(?!)").fullmatch, 0, 0, 0)


def in_java_order(named: Mapping[str, str]) -> str:
    """Return the text of properties in the order of a HashMap that was filled in this order."""
    return format_properties({name: named[name] for name in hashmap_order(list(named))})


def index_keys(named: Mapping[str, str]) -> tuple[str, ...]:
    """Return the keys under which a message is indexed, the unique key first."""
    return split_keys(named.get(UNIQUE_KEY, ""), named.get(KEYS, ""))


def split_keys(unique: str, keys: str) -> tuple[str, ...]:
    """Return the index keys for the values of UNIQ_KEY and KEYS, "" for a missing one."""
    if not keys:
        return (unique,) if unique else ()
    if " " not in keys:
        return (unique, keys) if unique else (keys,)
    words = [word for word in keys.split(" ") if word]
    return (unique, *words) if unique else tuple(words)


class Recoder:
    """Rewrites the properties of messages for one broker.

    Args:
        cluster: value of the CLUSTER property.
    """

    def __init__(self, cluster: str) -> None:
        self._cluster = cluster
        self._shapes: dict[tuple[str, ...], Shape | None] = {}
        self._last: Shape | None = None
        self.entry = _NO_ENTRY
        """How to read batch messages that look like the last one given to ``batch_entry``."""

    def recode(self, text: str | None) -> Recoded:
        """Return the stored form of the properties of a single message."""
        if not text:
            return self._by_name({})
        shape = self._last
        found = None if shape is None else shape.match(text)
        if found is None or shape is None:
            shape = self.shape_of(text)
            found = None if shape is None else shape.match(text)
            if found is None or shape is None:
                return self._by_name(parse_properties(text))
            self._last = shape
        values = found.groups()
        _, _, pick, template, _, tags, keys, unique, wait = shape
        return _recoded(
            Recoded,
            (
                (template % pick(values)).encode(),
                tags_code(values[tags]) if tags >= 0 else 0,
                split_keys(
                    values[unique] if unique >= 0 else "", values[keys] if keys >= 0 else ""
                ),
                wait < 0 or values[wait] == "true" or values[wait].lower() == "true",
                None,
            ),
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

    def batch_entry(self, raw: bytes) -> tuple[int, tuple[str, ...]]:
        """Return tag code and index keys of one message of a batch.

        No other property is acted on, so a message with DELAY is delivered at once, as in Java.
        """
        try:
            text = raw.decode()
        except UnicodeDecodeError:
            text = str(raw, "utf-8", "replace")
        shape = self.shape_of(text)
        found = None if shape is None else shape.match(text)
        if found is None or shape is None:
            named = parse_properties(text)
            return tags_code(named.get(TAGS)), index_keys(named)
        self.entry = _Entry(
            shape.match_ascii,
            *(at + 1 for at in (shape.tags, shape.keys, shape.unique)),
        )
        values = found.groups()
        keys = split_keys(
            values[shape.unique] if shape.unique >= 0 else "",
            values[shape.keys] if shape.keys >= 0 else "",
        )
        return tags_code(values[shape.tags]) if shape.tags >= 0 else 0, keys

    def shape_of(self, text: str) -> Shape | None:
        """Return the shape of a text, or None if the text has to be read by name."""
        # Clients of 5.x end the text with a separator.
        parts = text.removesuffix(PROPERTY_SEPARATOR).split(PROPERTY_SEPARATOR)
        names = tuple(part.partition(NAME_VALUE_SEPARATOR)[0] for part in parts)
        if names in self._shapes:
            return self._shapes[names]
        if len(self._shapes) >= _SHAPES_MAX:
            # A client uses ever new property names: start again to bound the memory.
            self._shapes.clear()
        shape = None
        is_plain = len(set(names)) == len(names) and all(names)
        if is_plain and len(names) <= _NAMES_MAX and not _ACTED_ON.intersection(names):
            shape = _make_shape(names, self._cluster)
        self._shapes[names] = shape
        return shape

    def _by_name(self, named: dict[str, str]) -> Recoded:
        acted_on = not _ASKS.isdisjoint(named)
        named[CLUSTER] = self._cluster
        wait = named.pop(WAIT, None)
        peak = len(named) + (wait is not None)
        order = hashmap_order(list(named), peak_count=peak)
        data = format_properties({name: named[name] for name in order}).encode()
        code, keys = tags_code(named.get(TAGS)), index_keys(named)
        if wait is not None:
            named[WAIT] = wait
        waits = wait is None or wait.lower() == "true"
        return Recoded(data, code, keys, waits, named if acted_on else None)


def _is_delayed(named: Mapping[str, str]) -> bool:
    """Tell whether DELAY is above 0; a value that is not a number counts as a delay, too."""
    level = named.get(DELAY, "0")
    return not level.removeprefix("-").isdecimal() or int(level) > 0


def _find(names: Sequence[str], name: str) -> int:
    return names.index(name) if name in names else -1


def _make_shape(names: tuple[str, ...], cluster: str) -> Shape:
    """Return the expression and the template for one list of names."""
    # A value is anything up to the next separator and may contain another \1.
    heads = [re.escape(name) + NAME_VALUE_SEPARATOR for name in names]
    values = PROPERTY_SEPARATOR.join(f"{head}([^{PROPERTY_SEPARATOR}]+)" for head in heads)
    pattern = re.compile(f"{values}{PROPERTY_SEPARATOR}?", re.DOTALL)
    ascii_values = PROPERTY_SEPARATOR.join(f"{head}([\\0\\1\\3-\\x7f]+)" for head in heads)
    ascii_pattern = re.compile(f"{ascii_values}{PROPERTY_SEPARATOR}?".encode())
    place = {name: at for at, name in enumerate(names)}
    kept = [name for name in (*names, CLUSTER) if name != WAIT]
    order = hashmap_order(kept, peak_count=len(names) + 1)
    parts = [
        _quoted(name) + NAME_VALUE_SEPARATOR + (_quoted(cluster) if name == CLUSTER else "%s")
        for name in order
    ]
    picked = [place[name] for name in order if name != CLUSTER]
    return Shape(
        pattern.fullmatch,
        ascii_pattern.fullmatch,
        _picker(picked),
        PROPERTY_SEPARATOR.join(parts),
        tuple(picked),
        *(_find(names, name) for name in (TAGS, KEYS, UNIQUE_KEY, WAIT)),
    )


def _quoted(text: str) -> str:
    """Return text as it is written in a template."""
    return text.replace("%", "%%")


def _picker(places: list[int]) -> Callable[[tuple[str, ...]], tuple[str, ...]]:
    """Return a function that takes the values at these indices, in this order."""
    if len(places) > 1:
        return itemgetter(*places)
    if not places:
        return lambda values: ()
    # An itemgetter of one index returns the bare value instead of a tuple.
    place = places[0]
    return lambda values: (values[place],)
