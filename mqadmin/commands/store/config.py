"""``store config``: list every setting and position in the files of ``config/``."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import click

from mqadmin.cli.declare import Call, Needs, Outcome, Row, argument, command
from mqadmin.errors import ItemNotFound
from storefmt.config.fastjson import Json, Key, dumps, loads
from storefmt.config.tables import MEANINGS
from storefmt.errors import ConfigDamaged, StoreError
from storefmt.formats.timer import CHECKPOINT_SIZE, TimerCheckpoint
from storefmt.offline.views.store_view import ConfigRead
from storefmt.offline.views.storedir import StoreDir

TIMER: Final = "timercheck"


BACKUP: Final = ".bak"


Leaf = bool | int | float | str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class ConfigRow(Row):
    """The value of one ``field`` (nested ones with dots) of the item ``name`` in a ``table``.

    ``file`` is the file that was read: the ``.bak`` if the file itself is damaged or missing.
    """

    file: str
    table: str
    name: str
    field: str
    value: Leaf


@command(
    "store config",
    examples=(
        ("mqadmin store config DIR topics.json --name orders", "the settings of one topic"),
        ("mqadmin store config DIR consumerOffset.json.bak", "the offsets of the previous save"),
    ),
    details="If a file cannot be read, its .bak is read instead, as a broker does, and a note "
    "says so.",
    rows=ConfigRow,
    needs=Needs.STORE,
)
@argument("file", required=False, help="one file, such as topics.json or its .bak; all if left out")
@click.option("--name", help="only entries of this topic, group, topic@group or level")
def show_config(call: Call, *, file: str | None, name: str | None) -> Outcome:
    """Return one row for each value, in the order of the files.

    Raises:
        ItemNotFound: neither the file nor its ``.bak`` exists.
        ConfigDamaged: neither the file that was named nor its ``.bak`` can be read.
    """
    with StoreDir.open(call.store_dir) as store:
        existing = [config_name for config_name in MEANINGS if _paths(store, config_name)]
        names = existing if file is None else [file]
        if file is not None and not _paths(store, file):
            raise ItemNotFound(
                f"no {file} in config/ of {store.root}",
                hint=f"existing files: {', '.join(existing) or 'none'}",
            )
        reads = [_read(store, config_name) for config_name in names]
    if file is not None and reads[0].value is None:
        damaged, problem = reads[0].problems[0]
        raise ConfigDamaged(f"{damaged}: {problem}; `mqadmin store verify` checks the rest")
    rows = [
        row
        for read in reads
        for row in _rows(read)
        if name is None or name in (row.name, *row.name.split("@"))
    ]
    return Outcome(rows, notes=tuple(_notes(reads)))


def _paths(store: StoreDir, name: str) -> list[Path]:
    """Return the file of a name and its backup, if they exist."""
    if name.removesuffix(BACKUP) not in MEANINGS:
        return []
    both = (store.paths.config_file(name), store.paths.config_file(name + BACKUP))
    return [path for path in both if path.is_file()]


def _read(store: StoreDir, name: str) -> ConfigRead[Json]:
    if name.removesuffix(BACKUP) != TIMER:
        return store.config(name, loads)
    problems = []
    for path in _paths(store, name):
        try:
            checkpoint = TimerCheckpoint.decode(
                store.open_files.open(path).read(0, CHECKPOINT_SIZE)
            )
        except StoreError as error:
            problems.append((f"config/{path.name}", str(error)))
        else:
            fields: dict[Key, Json] = dict(zip(checkpoint._fields, checkpoint, strict=True))
            return ConfigRead(fields, f"config/{path.name}", tuple(problems))
    return ConfigRead(None, "", tuple(problems))


def _rows(read: ConfigRead[Json]) -> Iterator[ConfigRow]:
    """Yield the values of a file; a table of tables has a name for each of its lines."""
    value = read.value
    for table, inner in value.items() if isinstance(value, dict) else ():
        tables = inner.items() if isinstance(inner, dict) else [("", inner)]
        for name, leaf in tables:
            for field, said in _leaves(leaf):
                yield ConfigRow(
                    file=read.file, table=_text(table), name=_text(name), field=field, value=said
                )


def _leaves(value: Json, path: str = "") -> Iterator[tuple[str, Leaf]]:
    if isinstance(value, dict) and value:
        for key, inner in value.items():
            yield from _leaves(inner, f"{path}.{_text(key)}" if path else _text(key))
    elif isinstance(value, dict | list):
        yield path, dumps(value)
    else:
        yield path, value


def _text(key: Key) -> str:
    return (
        key if isinstance(key, str) else str(key) if isinstance(key, int) else dumps({**dict(key)})
    )


def _notes(reads: list[ConfigRead[Json]]) -> Iterator[str]:
    for read in reads:
        for file, problem in read.problems:
            instead = f"{read.file} is used instead" if read.file else "it has no backup"
            yield f"{file}: {problem}; {instead}"
