"""``store rocksdb``: list the topics, groups or offsets that a broker of 5.x keeps in RocksDB."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from mqadmin.cli.declare import Call, Needs, Outcome, Row, argument, command
from mqadmin.cli.types import DIR_PATH, Choice
from mqadmin.errors import ItemNotFound
from storefmt.config.fastjson import Json, Key, dumps, loads
from storefmt.offline.views.rocksdb.settings import FILE_NAMES, NAMES, read_tables
from storefmt.offline.views.tree import ROCKSDB_MARK


@dataclass(frozen=True, slots=True, kw_only=True)
class SettingRow(Row):
    """One topic, group or offset as RocksDB has it: ``value`` is JSON.

    ``table`` is the field of the JSON file; ``dataVersion`` says how often the table changed.
    """

    table: str
    key: str
    value: str


@command(
    "store rocksdb",
    details="A broker of 5.x keeps topics, groups and consumer offsets in RocksDB with "
    "storeType=defaultRocksDB or configManagerVersion=v2. CONFIG is the directory config of its "
    "store; nothing in it is locked or changed. `topic list`, `group list` and `store offsets` "
    "read the same with --store.",
    examples=(
        ("mqadmin store rocksdb STORE/config topics", "every topic with its settings"),
        ("mqadmin store rocksdb STORE/config consumerOffsets -o jsonl", "for a program"),
    ),
    rows=SettingRow,
    needs=Needs.NONE,
)
@argument("config", type=DIR_PATH, metavar="CONFIG", help="directory config of a store")
@argument("table", type=Choice(list(FILE_NAMES)), help="which table")
def list_settings(call: Call, *, config: Path, table: str) -> Outcome:
    """Return one row for each item, its data version first.

    Raises:
        ItemNotFound: the directory has no such table in RocksDB.
        RocksdbNotInstalled: the package that reads RocksDB is missing.
    """
    directories = [name for name in NAMES if (config / name / ROCKSDB_MARK).is_file()]
    tables = read_tables(config, directories, file_names=[FILE_NAMES[table]])
    stored = tables.get(FILE_NAMES[table])
    if stored is None:
        raise ItemNotFound(
            f"{config}: no {table} in RocksDB",
            hint="give the directory config of a store; `store config DIR` lists its JSON files",
        )
    for problem in stored.problems:
        call.warn(f"{config / stored.directory}: {problem}")
    return Outcome(list(_settings(loads(stored.text))))


def _settings(text: Json) -> Iterator[SettingRow]:
    for table, items in _object(text).items():
        for key, value in _object(items).items():
            yield SettingRow(table=str(table), key=str(key), value=dumps(value))


def _object(value: Json) -> dict[Key, Json]:
    return value if isinstance(value, dict) else {}
