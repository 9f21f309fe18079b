r"""A producer's property text, written again as Java's broker writes it.

    KEYS\1k\2WAIT\1true\2TAGS\1a   ->   KEYS\1k\2CLUSTER\1c\2TAGS\1a

On the way in: parts without a name or value are dropped, of equal names the last counts.
On the way out: CLUSTER is set, WAIT is left out (except on the delay and batch paths), and
the order is that of a ``java.util.HashMap``.

Rule: the fast path is a table of known name lists: which part goes where, which part is
the tag. What the table cannot say (a name twice, a part without a value, a property the
broker acts on) takes the slow path, a plain dict. Both give the same bytes (tested).

Source: broker/processor/SendMessageProcessor.java#asyncSendMessage,
common/message/MessageDecoder.java, store/index/IndexService.java#buildIndex.
"""

from collections.abc import Callable, Mapping, Sequence
from operator import itemgetter
from typing import Final, NamedTuple

from storefmt.javahash import tags_code
from storefmt.properties import (
    CLUSTER,
    DELAY,
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
_ACTED_ON: Final = frozenset({CLUSTER, DELAY, TRANSACTION_PREPARED})
_TAGS_AT: Final = len(TAGS) + 1
_KEYS_AT: Final = len(KEYS) + 1
_UNIQUE_AT: Final = len(UNIQUE_KEY) + 1
_WAIT_AT: Final = len(WAIT) + 1


class Recoded(NamedTuple):
    """Properties as they are stored, and what the broker needs to know of them."""

    data: bytes
    tags_code: int
    keys: tuple[str, ...]
    """Index keys, the unique key first."""
    waits: bool
    """False when the producer does not want to wait for the disk."""
    named: Mapping[str, str] | None
    """All properties by name, in the map's insertion order, when one of them says that
    the broker has to act (DELAY, TRAN_MSG); None otherwise."""


class _Shape(NamedTuple):
    pick: Callable[[list[str]], tuple[str, ...]]
    tags: int
    keys: int
    unique: int
    wait: int


def in_java_order(named: Mapping[str, str]) -> str:
    """Return property text in the iteration order of a HashMap filled in this order."""
    return format_properties({name: named[name] for name in hashmap_order(list(named))})


def index_keys(named: Mapping[str, str]) -> tuple[str, ...]:
    """Return the keys a message is indexed under, the unique key first."""
    return _index_keys(named.get(UNIQUE_KEY, ""), named.get(KEYS, ""))


def _index_keys(unique: str, keys: str) -> tuple[str, ...]:
    if not keys:
        return (unique,) if unique else ()
    words = [word for word in keys.split(" ") if word]
    return (unique, *words) if unique else tuple(words)


class Recoder:
    """Rewrites property texts for one broker.

    Args:
        cluster: value of the CLUSTER property.
    """

    def __init__(self, cluster: str) -> None:
        self._cluster = cluster
        self._cluster_part = CLUSTER + NAME_VALUE_SEPARATOR + cluster
        self._shapes: dict[tuple[str, ...], _Shape | None] = {}

    def recode(self, text: str | None) -> Recoded:
        """Return the stored form of a normal send's properties."""
        if not text:
            return self._by_name({})
        parts = text.split(PROPERTY_SEPARATOR)
        names = []
        for part in parts:
            name, _, value = part.partition(NAME_VALUE_SEPARATOR)
            if not name or not value:
                return self._by_name(parse_properties(text))
            names.append(name)
        key = tuple(names)
        try:
            shape = self._shapes[key]
        except KeyError:
            shape = self._learn(key)
        if shape is None:
            return self._by_name(parse_properties(text))
        pick, tags, keys, unique, wait = shape
        found = _index_keys(
            parts[unique][_UNIQUE_AT:] if unique >= 0 else "",
            parts[keys][_KEYS_AT:] if keys >= 0 else "",
        )
        code = tags_code(parts[tags][_TAGS_AT:]) if tags >= 0 else 0
        waits = wait < 0 or parts[wait][_WAIT_AT:].lower() == "true"
        parts.append(self._cluster_part)
        return Recoded(PROPERTY_SEPARATOR.join(pick(parts)).encode(), code, found, waits, None)

    def batch_suffix(self, text: str | None) -> tuple[bytes, bool, bool]:
        """Return what ends the properties of every message of a batch.

        Returns:
            The text, whether the producer waits for the disk, whether it asks for delay.
        """
        named = parse_properties(text or "")
        named[CLUSTER] = self._cluster
        waits = named.get(WAIT, "true").lower() == "true"
        return in_java_order(named).encode(), waits, _is_delayed(named)

    def batch_entry(self, raw: bytes) -> tuple[int, tuple[str, ...], bool]:
        """Return tag code and index keys of one message of a batch, and whether it asks
        for delay (which no batch may)."""
        named = parse_properties(raw)
        return tags_code(named.get(TAGS)), index_keys(named), _is_delayed(named)

    def _learn(self, names: tuple[str, ...]) -> _Shape | None:
        if len(self._shapes) >= _SHAPES_MAX:
            # Somebody makes up property names; start again rather than grow.
            self._shapes.clear()
        shape = None
        if len(set(names)) == len(names) and not _ACTED_ON.intersection(names):
            shape = _Shape(
                _picker(names), *(_find(names, n) for n in (TAGS, KEYS, UNIQUE_KEY, WAIT))
            )
        self._shapes[names] = shape
        return shape

    def _by_name(self, named: dict[str, str]) -> Recoded:
        acted_on = DELAY in named or TRANSACTION_PREPARED in named
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
    """True unless DELAY is missing or 0; nonsense counts, so that nobody takes it for 0."""
    return named.get(DELAY, "0") != "0"


def _find(names: Sequence[str], name: str) -> int:
    return names.index(name) if name in names else -1


def _picker(names: tuple[str, ...]) -> Callable[[list[str]], tuple[str, ...]]:
    """Return what takes the parts of ``names`` plus the CLUSTER part in stored order."""
    source = {name: at for at, name in enumerate((*names, CLUSTER))}
    kept = [name for name in source if name != WAIT]
    order = [source[name] for name in hashmap_order(kept, peak_count=len(source))]
    if len(order) == 1:
        only = order[0]
        return lambda parts: (parts[only],)
    return itemgetter(*order)
