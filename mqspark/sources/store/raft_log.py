"""The commit log of a DLedger broker, whose records are wrapped in the entries of a Raft log.

    dledger-<id>/data/<20 digits>  | entry | entry | blank |  --> a task a file
                                     └ record --storefmt.arrow.columns.batch_of--> rows

Rule: entries can be found only from the beginning of a file, so a file is one task. Rows are those
of any log; the log offset of a record is its place in the Raft log. A damaged entry ends its file,
as in Java; a damaged record inside a good entry does not.

Source: storefmt.formats.dledger.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa

from mqspark.errors import BadOption
from mqspark.sources.store.reading import ReadOptions
from mqspark.sources.store.skipped import note
from mqspark.sources.store.stores import file_path
from storefmt.arrow.columns import batch_of
from storefmt.errors import RecordDamaged
from storefmt.formats.dledger import DledgerEntry, find_directories, walk_entries
from storefmt.formats.scan import LogFile, log_files


class RaftFile(NamedTuple):
    """One file of a Raft log: ``start`` up to ``end`` in bytes of the whole log."""

    path: str
    start: int
    end: int


class LostRange(NamedTuple):
    """Bytes from a log offset on that are not a valid entry."""

    log_offset: int
    length: int
    error: RecordDamaged


def raft_files(directory: Path) -> list[Path]:
    """Return the files of a store's Raft log, an empty list if it has none.

    Raises:
        BadOption: the store has several Raft logs; their records are the same.
        OSError: a directory cannot be read.
    """
    if not directory.is_dir():
        return []
    logs = [log for log in find_directories(directory) if log_files(log)]
    if len(logs) > 1:
        names = ", ".join(log.parent.name for log in logs)
        raise BadOption(
            f"{directory} has several Raft logs ({names}); keep a copy with one of them"
        )
    return log_files(logs[0]) if logs else []


def plan_raft(paths: list[Path], low: int, high: int) -> Iterator[RaftFile]:
    """Yield a task for each file that has log offsets from ``low`` up to ``high``."""
    for path in paths:
        with LogFile(path) as file:
            if file.base < high and file.base + file.size > low:
                yield RaftFile(str(path), file.base, file.base + file.size)


def read_raft(task: RaftFile, reading: ReadOptions, columns: tuple[str, ...]) -> Iterator[Any]:
    """Yield the messages of a file as Arrow record batches with ``columns``.

    Raises:
        RecordDamaged: there is damage, and ``reading.fail_on_damage`` is true.
    """
    records: list[bytes] = []
    size = 0
    for item in _items(task):
        if isinstance(item, LostRange):
            if reading.fail_on_damage:
                raise item.error
            note(task.path, item.log_offset)
            continue
        full = len(records) >= reading.rows_max or size + len(item.body) > reading.bytes_max
        if records and full:
            yield _rows(task, records, reading, columns)
            records, size = [], 0
        records.append(item.body)
        size += len(item.body)
    if records:
        yield _rows(task, records, reading, columns)


def lost_in(task: RaftFile) -> Iterator[LostRange]:
    """Yield the bytes of a file that are not valid entries or records."""
    return (item for item in _items(task) if isinstance(item, LostRange))


def _items(task: RaftFile) -> Iterator[DledgerEntry | LostRange]:
    behind = 0
    with LogFile(file_path(task.path)) as file:
        try:
            for pos, item in walk_entries(file.read, base=file.base, size=task.end - task.start):
                if not isinstance(item, DledgerEntry):
                    return
                behind = pos + item.size
                try:
                    if item.record(check_crc=False) is not None:
                        yield item
                except RecordDamaged as error:
                    # The entry says where the next one is.
                    yield LostRange(task.start + pos, item.size, error)
        except RecordDamaged as error:
            yield LostRange(task.start + behind, task.end - task.start - behind, error)


def _rows(
    task: RaftFile, records: list[bytes], reading: ReadOptions, columns: tuple[str, ...]
) -> Any:
    batch = batch_of(b"".join(records), columns=columns, check_crc=reading.check_crc)
    if "file" not in columns:
        return batch
    file_index = columns.index("file")
    names = pa.repeat(pa.scalar(Path(task.path).name, pa.string()), batch.num_rows)
    return batch.set_column(file_index, batch.schema.field(file_index), names)
