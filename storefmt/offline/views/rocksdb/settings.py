"""Topics, groups and consumer offsets that 5.x keeps in RocksDB, as the text of their JSON file.

    config/topics, subscriptionGroups, …  a database each        storeType=defaultRocksDB
    config/metadata                       a family each          … useSingleRocksDBForAllConfigs
    config/rdb                            keys with a table id   configManagerVersion=v2

Rule: of several forms of one table, the one that changed most often counts: a broker that starts
copies an older form into RocksDB only if its data version has the greater counter. The text is that
of the file which the broker itself would export.

Source: broker/config/v1/RocksDBTopicConfigManager.java#merge, #migrateFromSeparateRocksDBs,
RocksDBSubscriptionGroupManager.java, RocksDBConsumerOffsetManager.java,
broker/config/v2/ConfigHelper.java, ConsumerOffsetManagerV2.java (5.4.0).
"""

import struct
from collections.abc import Collection, Iterable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Final, NamedTuple

from storefmt.config.fastjson import Json, Key, dumps, loads
from storefmt.config.jsonvalues import as_object, int_of
from storefmt.errors import ConfigDamaged
from storefmt.offline.views.rocksdb.database import DEFAULT_FAMILY, Database

VERSION_KEY: Final = b"kvDataVersionKey"
_FORBIDDEN: Final = "forbidden"
_V2_NAME: Final = "rdb"
_V2_VERSION: Final = struct.Struct(">qqq")
_V2_JSON: Final = 1
_V2_DATA, _V2_DATA_VERSION = 2, 1


class _Table(NamedTuple):
    """Where one table is kept.

    Attributes:
        field: its name in the JSON file.
        separate: its own database.
        family: its family in ``config/metadata``.
        number: its id in ``config/rdb``.
    """

    field: str
    separate: str
    family: str
    number: int


TABLES: Final = {
    "topics.json": _Table("topicConfigTable", "topics", "topic", 3),
    "subscriptionGroup.json": _Table(
        "subscriptionGroupTable", "subscriptionGroups", "subscriptionGroup", 4
    ),
    "consumerOffset.json": _Table("offsetTable", "consumerOffsets", "consumerOffset", 1),
}
"""By the name of the JSON file, where a table is in each form of RocksDB."""
FILE_NAMES: Final = {table.separate: file_name for file_name, table in TABLES.items()}
"""The JSON file of each table, by the name of its database and in Java's tool."""
_SINGLE: Final = "metadata"
NAMES: Final = (*FILE_NAMES, _SINGLE, _V2_NAME)
"""The directories of ``config`` that hold settings in RocksDB, the oldest form first."""


class StoredTable(NamedTuple):
    """One table that RocksDB has.

    Attributes:
        directory: its directory below ``config``, such as ``topics``.
        text: the text that the JSON file would have.
        counter: how often it changed, by its data version; 0 if it has none.
        problems: the items that could not be read, a sentence each.
    """

    directory: str
    text: str
    counter: int
    problems: tuple[str, ...]


def read_tables(
    config: Path, directories: Collection[str], *, file_names: Collection[str] = tuple(TABLES)
) -> dict[str, StoredTable]:
    """Return the tables that RocksDB has, by the name of their JSON file.

    Args:
        config: the directory ``config``.
        directories: the names of the databases in it.
        file_names: the tables that are read.

    Raises:
        StoreError: a database cannot be opened.
    """
    tables: dict[str, StoredTable] = {}
    for name in NAMES:
        # The last two forms have all tables in one database.
        held = [each for each in file_names if FILE_NAMES.get(name, each) == each]
        if name not in directories or not held:
            continue
        with closing(Database(config / name, what="settings")) as database:
            for file_name in held:
                stored = _read(database, TABLES[file_name], name)
                earlier = tables.get(file_name)
                # A later form is read unless an older one has changed since it was copied.
                if stored is not None and (earlier is None or stored.counter >= earlier.counter):
                    tables[file_name] = stored
    return tables


def _read(database: Database, table: _Table, name: str) -> StoredTable | None:
    return _numbered(database, table) if name == _V2_NAME else _named(database, table, name)


def counter_of(value: Json) -> int:
    """Return how often a table changed, by the data version in its JSON object."""
    fields = value if isinstance(value, dict) else {}
    version = fields.get("dataVersion")
    return int_of(version, "counter", 0) if isinstance(version, dict) else 0


def _named(database: Database, table: _Table, name: str) -> StoredTable | None:
    """Return a table whose keys are names, in a database or a family of its own."""
    is_single = name == _SINGLE
    family = table.family if is_single else DEFAULT_FAMILY
    if family not in database.families:
        return None
    version_family = f"{table.family}Version" if is_single else "kvDataVersion"
    problems: list[str] = []
    json: dict[Key, Json] = {}
    raw = database.get(VERSION_KEY, family=version_family)
    if raw is not None:
        json |= _objects([(b"dataVersion", raw)], problems)
    rows: dict[Key, Json] = dict(_objects(database.entries(family), problems))
    if table.field == "offsetTable":
        rows = {key: _wrapped_offsets(value) for key, value in rows.items()}
    if table.field == "subscriptionGroupTable":
        json["forbiddenTable"] = dict(_objects(database.entries(_FORBIDDEN), problems))
    json[table.field] = rows
    return StoredTable(name, dumps(json), counter_of(json), tuple(problems))


def _wrapped_offsets(value: Json) -> Json:
    """Return queue id -> queue offset of a value ``{"offsetTable": {…}}``."""
    return value.get("offsetTable") if isinstance(value, dict) else None


def _objects(
    entries: Iterable[tuple[bytes, bytes]], problems: list[str]
) -> Iterator[tuple[str, Json]]:
    for key, value in entries:
        try:
            name = key.decode()
            fields: dict[Key, Json] = dict(as_object(loads(value), name))
            yield name, fields
        except (ConfigDamaged, UnicodeDecodeError) as error:
            problems.append(f"skipped {key!r}: {error}")


def _numbered(database: Database, table: _Table) -> StoredTable:
    """Return a table of ``config/rdb``, whose keys begin with the number of the table."""
    problems: list[str] = []
    json: dict[Key, Json] = {}
    start = b"\x01" + table.number.to_bytes(2, "big")
    version = database.get(start + bytes((_V2_DATA_VERSION,)) + b"data_version")
    if version is not None and len(version) == _V2_VERSION.size:
        state, timestamp_ms, counter = _V2_VERSION.unpack(version)
        json["dataVersion"] = {
            "counter": counter, "stateVersion": state, "timestamp": timestamp_ms,
        }  # fmt: skip
    prefix = start + bytes((_V2_DATA,))
    entries = database.entries(prefix=prefix)
    if table.field == "offsetTable":
        json[table.field] = _offsets(entries, len(prefix), problems)
    else:
        json[table.field] = dict(_objects(_json_rows(entries, len(prefix), problems), problems))
    return StoredTable(_V2_NAME, dumps(json), counter_of(json), tuple(problems))


def _json_rows(
    entries: Iterator[tuple[bytes, bytes]], prefix_size: int, problems: list[str]
) -> Iterator[tuple[bytes, bytes]]:
    for key, value in entries:
        if value[:1] != bytes((_V2_JSON,)):
            problems.append(f"skipped {key!r}: its value is not JSON")
        else:
            yield key[prefix_size + 2 :], value[1:]


def _offsets(
    entries: Iterator[tuple[bytes, bytes]], prefix_size: int, problems: list[str]
) -> dict[Key, Json]:
    """Return ``topic@group`` -> queue id -> queue offset."""
    table: dict[Key, Json] = {}
    for key, value in entries:
        parsed = _offset_key(key[prefix_size:])
        if parsed is None or len(value) != 8:
            problems.append(f"skipped {key!r}: it is not the offset of a queue")
            continue
        group, topic, queue_id = parsed
        queues = table.setdefault(f"{topic}@{group}", {})
        assert isinstance(queues, dict)
        queues[queue_id] = int.from_bytes(value, "big", signed=True)
    return table


def _offset_key(data: bytes) -> tuple[str, str, int] | None:
    """Return group, topic and queue id of a key after its prefix."""
    texts: list[str] = []
    for _ in range(2):
        size = int.from_bytes(data[:2], "big")
        if len(data) < size + 3 or data[size + 2] != 1:
            return None
        try:
            texts.append(data[2 : size + 2].decode())
        except UnicodeDecodeError:
            return None
        data = data[size + 3 :]
    return (texts[0], texts[1], int.from_bytes(data, "big")) if len(data) == 4 else None
