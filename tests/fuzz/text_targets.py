"""Targets of ``storefmt`` that read text: fastjson, and every file of ``config/``."""

from collections.abc import Iterator
from contextlib import suppress

from storefmt.config.fastjson import dialect_of, dumps, loads
from storefmt.config.tables import ConsumerOffsets, DelayOffsets, GroupTable, TopicTable
from storefmt.errors import ConfigDamaged, StoreError
from tests.fuzz.seeds import store_files
from tests.fuzz.target import Target
from tests.storefmt.vectors import DATA

TABLES = (TopicTable, GroupTable, ConsumerOffsets, DelayOffsets)
WORDS = (
    "{", "}", "[", "]", ":", ",", '"', "'", "\\", "\\u0041", "\\ud800", "\\x41", "/*", "*/", "//",
    "null", "true", "NaN", "1e309", "-0", "$ref", '{"$ref":"$"}', '{"$ref":"$.a[0]"}',
    '{"$ref":".."}', '{"$ref":"@"}', '"offsetTable"', '"topicConfigTable"', '"dataVersion"',
    '"subscriptionGroupTable"', '"T@G"', '"timestamp"', '"counter"', '"filterDataByTopic"',
    '"groupFilterData"', '"bloomFilterData"', '"table"', '"o"', '"oc"', '"ot"', '"cm"',
    '"topicQueueMappingInfoMap"', '"hostedQueues"', '"messageRequestModeMap"', '"timingCount"',
)  # fmt: skip


def read_json(data: bytes) -> None:
    """Read a fastjson text: what is written of it again reads as the same."""
    dialect_of(data)
    value = loads(data)
    for pretty in (False, True):
        text = dumps(value, pretty=pretty)
        again = loads(text)
        assert dumps(again, pretty=pretty) == text


def read_config(data: bytes) -> None:
    """Read a text as every file of ``config/``; each that takes it writes it again."""
    for table in TABLES:
        with suppress(ConfigDamaged):
            found = table.decode(data)
            assert table.decode(found.encode()).encode() == found.encode()
    value = loads(data)
    assert isinstance(dumps(value, pretty=True, dialect=dialect_of(data)), str)


def _configs() -> Iterator[bytes]:
    yield from (data for data in store_files("config/*", size=8192) if data[:1] == b"{")
    yield from (path.read_bytes() for path in sorted((DATA / "config5").iterdir()))


def _texts() -> Iterator[bytes]:
    yield b'{"a":{1:2,{"b":3}:[4,null,-1.5e3,"\\u0041\\n"]},c:\'d\',"e":{"$ref":"$.a"}}'
    yield from (data for data in _configs() if len(data) < 600)


def text_targets() -> list[Target]:
    """Return the targets of the text formats."""
    return [
        Target("json", read_json, (StoreError,), _texts, WORDS),
        Target("config", read_config, (StoreError,), _configs, WORDS),
    ]
