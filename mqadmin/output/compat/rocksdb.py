"""Java's layouts of settings in RocksDB.

Source: tools/command/metadata/RocksDBConfigToJsonCommand.java,
tools/command/export/ExportMetadataInRocksDBCommand.java (5.4.0).
"""

from collections.abc import Iterable, Iterator, Mapping
from itertools import count
from typing import Final

from mqadmin.output.compat.java_text import Line, Record
from storefmt.config.fastjson import Dialect, Json, Key, dumps, loads
from storefmt.formats.javahash import string_hash
from storefmt.formats.javamaps import hash_order

_VERSION, _OFFSETS = "dataVersion", "offsetTable"
_NOT_PRINTED: Final = frozenset({"forbiddenTable"})
"""What a broker exports and the tool does not."""
_Sections = dict[Key, dict[Key, Json]]


def config_to_json(records: Iterable[Record], line: Line) -> Iterator[str]:
    """Print ``rocksDBConfigToJson`` with ``-p``."""
    yield "Use [local mode] load rocksdb to print or export file \n"
    sections = _sections(records)
    if _OFFSETS in sections:
        sections = {_OFFSETS: {key: _by_queue(of) for key, of in sections[_OFFSETS].items()}}
    ordered = {
        name: sections[name] for name in hash_order(sections, lambda name: string_hash(str(name)))
    }
    if line.is_on("j", default=True):
        yield _pretty(ordered)
        return
    numbers = count(1)
    for name, items in ordered.items():
        yield f"type: {name}"
        yield from _lines(items, numbers)


def metadata(records: Iterable[Record], line: Line) -> Iterator[str]:
    """Print ``exportMetadataInRocksDB``."""
    sections = _sections(records)
    sections.pop(_VERSION, None)
    if _OFFSETS in sections:
        yield "Invalid config type=consumerOffsets, Options: topics,subscriptionGroups\n"
        return
    for name, items in sections.items():
        if line.is_on("j"):
            names = hash_order(items, lambda key: string_hash(str(key)))
            yield _pretty({name: {key: items[key] for key in names}})
        else:
            yield from _lines(items, count(1))


def _sections(records: Iterable[Record]) -> _Sections:
    sections: _Sections = {}
    for record in records:
        name = str(record["table"])
        if name not in _NOT_PRINTED:
            sections.setdefault(name, {})[str(record["key"])] = loads(str(record["value"]))
    return sections


def _by_queue(value: Json) -> Json:
    """Return offsets with queue ids that are numbers, in their order, as Java's map has them."""
    queues = value if isinstance(value, dict) else {}
    return {number: queues[str(number)] for number in sorted(int(str(key)) for key in queues)}


def _pretty(sections: Mapping[Key, dict[Key, Json]]) -> str:
    whole: dict[Key, Json] = {**sections}
    return dumps(whole, pretty=True, dialect=Dialect.FASTJSON2) + "\n"


def _lines(items: Mapping[Key, Json], numbers: Iterator[int]) -> Iterator[str]:
    for key, value in items.items():
        yield f"{next(numbers)}, Key: {key}, Value: {dumps(value)}\n"
