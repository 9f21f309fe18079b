"""Restores an archive into a store directory: the commit log, from which a broker builds queues.

    files --log offset and size of every message--> layout: the range of each commit log file
          --each file alone--> records, as they were but for their log offset

Rule: records come in the order of their old commit log, with the same queue offsets, times, hosts
and bytes; only ``log_offset`` is new, and with it the offset message id. The log is packed as a
broker packs it, so both brokers can open its files, and build consume queues and index from it at
their start. It begins at its second file, as after retention. A store has the messages of one
broker, since two brokers have queues with the same numbers. A time that no calendar has (null in
the archive) is restored as 0.

Source: store/CommitLog.java#doAppend, store/DefaultMessageStore.java#start (4.9.7).
"""

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from mqspark.archive.archive import Archive
from mqspark.archive.manifests import ArchiveFile
from mqspark.archive.write import stored_names
from mqspark.errors import BadArchive, BadOption
from mqspark.places import StorageDir
from storefmt.config.tables import TopicConfig, TopicTable
from storefmt.formats.hosts import pack_address
from storefmt.formats.message import BLANK_SIZE_MIN, blank, encode_record
from storefmt.offline.repair.placement import is_name
from storefmt.paths import StorePaths, log_file_name

Ints = npt.NDArray[np.int64]
FILE_SIZE: Final = 1 << 30
"""A broker's default mappedFileSizeCommitLog."""
WINDOW_SIZE: Final = 32 << 20
"""The bytes of records that are in memory at once."""
_PLACES: Final = ("log_offset", "store_size")
_RECORD: Final = (
    "log_offset", "store_size", "topic", "queue_id", "queue_offset", "flag", "sys_flag",
    "body_crc", "born_timestamp", "born_host", "born_port", "store_timestamp", "store_host",
    "store_port", "reconsume_times", "prepared_transaction_offset", "body", "properties_raw",
)  # fmt: skip


class LogFilePlan(NamedTuple):
    """One commit log file to build.

    Attributes:
        base: its first log offset in the new log.
        windows: the first and last old log offset of messages that are read together.
    """

    base: int
    file_size: int
    rows: int
    windows: tuple[tuple[int, int], ...]
    is_last: bool


class RestorePlan(NamedTuple):
    """A store to build: the files of the archive, and the files of the new log."""

    files: tuple[ArchiveFile, ...]
    parts: tuple[LogFilePlan, ...]


def plan_log(
    archive: Archive,
    *,
    topics: Sequence[str] | None = None,
    broker: str | None = None,
    file_size: int = FILE_SIZE,
) -> RestorePlan:
    """Return the layout of the commit log of a new store; this reads two columns of the archive.

    Args:
        archive: the archive to restore.
        topics: the topics to restore, None for all.
        broker: the broker whose messages are restored; required if the archive has several.
        file_size: bytes of a commit log file (mappedFileSizeCommitLog of the new broker).

    Raises:
        BadOption: no broker is named and there are several, or the broker has no messages.
        BadArchive: a record does not fit into a file.
        OSError: a file cannot be read.
    """
    files = archive.files(topics=topics)
    brokers = sorted({file.broker for file in files})
    if broker is None and len(brokers) > 1:
        raise BadOption(
            f"the archive has messages of the brokers {', '.join(brokers)}; "
            "a store is one broker's: name it with option broker"
        )
    chosen = tuple(file for file in files if broker in (None, file.broker) and file.rows)
    if not chosen:
        raise BadOption(
            f"nothing to restore: the archive has {', '.join(brokers) or 'no messages'}"
        )
    offsets, sizes = _places(archive.place, chosen)
    return RestorePlan(chosen, tuple(_parts(offsets, sizes, file_size)))


def _places(place: StorageDir, files: Iterable[ArchiveFile]) -> tuple[Ints, Ints]:
    """Return the old log offset and the size of every message, in the order of the old log."""
    columns = [_read(place, file, _PLACES, None) for file in files]
    whole = pa.concat_tables(columns)
    offsets = whole.column("log_offset").to_numpy()
    order = np.argsort(offsets, kind="stable")
    return offsets[order], whole.column("store_size").to_numpy().astype(np.int64)[order]


def _parts(offsets: Ints, sizes: Ints, file_size: int) -> Iterator[LogFilePlan]:
    ends = np.cumsum(sizes)
    # The log does not begin at 0: the entries before a queue's first one are blanks that point to
    # 0, and a broker skips entries that point before its log.
    first, base = 0, file_size
    while first < len(sizes):
        before = int(ends[first - 1]) if first else 0
        # A broker leaves room for the header of a blank at the end of each file.
        limit = before + file_size - BLANK_SIZE_MIN
        stop = int(np.searchsorted(ends, limit, side="right"))
        if stop == first:
            raise BadArchive(
                f"a record of {int(sizes[first])} bytes does not fit into a commit log file of "
                f"{file_size} bytes; choose a larger fileSize"
            )
        windows = tuple(_windows(offsets, ends, first, stop))
        yield LogFilePlan(base, file_size, stop - first, windows, stop == len(sizes))
        first, base = stop, base + file_size


def _windows(offsets: Ints, ends: Ints, first: int, stop: int) -> Iterator[tuple[int, int]]:
    while first < stop:
        before = int(ends[first - 1]) if first else 0
        end = min(stop, int(np.searchsorted(ends, before + WINDOW_SIZE, side="right")))
        end = max(end, first + 1)
        yield int(offsets[first]), int(offsets[end - 1])
        first = end


def build_part(place: StorageDir, plan: RestorePlan, part: LogFilePlan, directory: Path) -> int:
    """Write one commit log file, and return how many messages it has.

    Args:
        place: the archive.
        plan: what ``plan_log`` returned.
        part: the commit log file to write.
        directory: the store directory.

    Raises:
        BadArchive: the archive changed since it was planned.
        OSError: a file cannot be read or written.
    """
    path = directory / log_file_name(part.base)
    position = rows = 0
    with path.open("wb") as out:
        for low, high in part.windows:
            for row in _rows(place, plan.files, low, high):
                raw = encoded(row, log_offset=part.base + position)
                out.write(raw)
                position += len(raw)
                rows += 1
        if rows != part.rows or position > part.file_size - BLANK_SIZE_MIN:
            raise BadArchive(f"{path}: {rows} messages of {part.rows}: the archive has changed")
        if not part.is_last:
            out.write(blank(part.file_size - position))
        # The files of a broker have their full size from the first message on.
        out.truncate(part.file_size)
        out.flush()
        os.fsync(out.fileno())
    return rows


def _rows(
    place: StorageDir, files: Iterable[ArchiveFile], low: int, high: int
) -> Iterator[dict[str, Any]]:
    tables = [
        _read(place, file, _RECORD, (low, high))
        for file in files
        if file.first_log_offset is not None
        and file.last_log_offset is not None
        and file.first_log_offset <= high
        and file.last_log_offset >= low
    ]
    yield from pa.concat_tables(tables).sort_by("log_offset").to_pylist()


def _read(
    place: StorageDir, file: ArchiveFile, columns: Sequence[str], between: tuple[int, int] | None
) -> Any:
    """Return columns of a file, of all messages or of those between two old log offsets.

    Times are in ms, because Python's datetime cannot represent all of them.
    """
    with place.filesystem().open_input_file(place.path(file.path)) as source:
        names = stored_names(pq.read_schema(source))
        filters = None
        if between is not None:
            places = pc.field(names["log_offset"])
            filters = (places >= between[0]) & (places <= between[1])
        source.seek(0)
        table = pq.read_table(source, columns=[names[name] for name in columns], filters=filters)
    table = table.rename_columns(list(columns))
    for name in ("born_timestamp", "store_timestamp"):
        if name in columns:
            number = table.schema.get_field_index(name)
            times = pc.divide(table.column(name).cast(pa.int64()), 1_000)
            table = table.set_column(number, name, pc.fill_null(times, 0))
    return table


def encoded(row: Mapping[str, Any], *, log_offset: int) -> bytes:
    """Return a row of an archive as a record at ``log_offset``.

    Raises:
        BadArchive: its topic would be the name of a directory outside of the store.
    """
    if not is_name(row["topic"]):
        raise BadArchive(f"a message of topic {row['topic']!r}, which is no topic; is it yours?")
    return encode_record(
        topic=row["topic"].encode(),
        queue_id=row["queue_id"],
        queue_offset=row["queue_offset"],
        log_offset=log_offset,
        flag=row["flag"],
        sys_flag=row["sys_flag"],
        born_ms=row["born_timestamp"],
        born_host=_host(row, "born"),
        store_ms=row["store_timestamp"],
        store_host=_host(row, "store"),
        reconsume_times=row["reconsume_times"],
        prepared_transaction_offset=row["prepared_transaction_offset"],
        body=row["body"],
        properties=row["properties_raw"],
        body_crc=row["body_crc"],
    )


def _host(row: Mapping[str, Any], side: str) -> bytes:
    # A stored port may be any int32, which pack_host refuses.
    port: int = row[f"{side}_port"]
    return pack_address(row[f"{side}_host"]) + port.to_bytes(4, "big", signed=True)


def write_topics(plan: RestorePlan, directory: Path) -> list[str]:
    """Write topics.json with every topic of the plan and its queues; return the topics' names."""
    counts: dict[str, int] = {}
    for file in plan.files:
        most = max(queue_id for queue_id, _, _ in file.ranges) + 1
        counts[file.topic] = max(counts.get(file.topic, 0), most)
    table = TopicTable({name: TopicConfig(name, count, count) for name, count in counts.items()})
    config = StorePaths(directory).config
    config.mkdir(parents=True, exist_ok=True)
    (config / "topics.json").write_text(table.encode())
    return sorted(counts)
