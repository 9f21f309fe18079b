"""``extract``: writes messages of stores into files, by topic, with a manifest of the files.

    split ──conditions──> TO/topic=orders/<first log offset>.parquet (or .jsonl)
                          TO/orders/<queue id>/<queue offset>         a body a file

Rule: one task writes each file, under another name, and renames it when it is whole; a task that
runs again writes the same. The manifest says which part of which log each file holds, and its
CRC-32. Parquet has every column of the table commitlog, with bodies as they are stored, compressed
with zstd.
"""

import base64
import json
import os
import uuid
import zlib
from collections.abc import Iterator, Sequence
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple, Protocol

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from mqspark.errors import BadOption
from mqspark.schemas import schema
from mqspark.sources.store.conditions import Condition, stored_between
from mqspark.sources.store.log_tables import LogSplit, check_expression
from mqspark.sources.store.reading import ReadOptions
from mqspark.sources.store.spread import TaskRows, gather, one_batch, spread
from mqspark.sources.store.stores import store_path
from mqspark.sources.store.tables import plan, read, schema_of
from storefmt.arrow.columns import SCHEMA as MESSAGES
from storefmt.offline.output_dir import OutputDirectory

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

SCHEMA: Final = schema(
    file=pa.string(),
    store=pa.string(),
    topic=pa.string(),
    rows=pa.int64(),
    first_log_offset=pa.int64(),
    last_log_offset=pa.int64(),
    bytes=pa.int64(),
    crc32=pa.string(),
)
FORMATS: Final = ("parquet", "jsonl", "files")
_COLUMNS: Final = tuple(name for name in MESSAGES.names if name != "properties_raw")
_ORDER: Final = [("file", "ascending")]


def extract(
    spark: "SparkSession", paths: Sequence[str], *, to: str, kind: str = "parquet", **filters: Any
) -> "DataFrame":
    """Return the manifest as a frame, see ``SCHEMA``; the files are written when it is asked for.

    Args:
        to: a new directory.
        kind: parquet, jsonl, or files (one file for each body).
        filters: which messages are wanted; None for any. ``topics`` and ``tags`` are names
            separated by commas, ``unique_key`` is one, ``begin_ms`` and ``end_ms`` are store times
            (both included), and of ``body``, a regular expression (RE2), the body has a match.

    Raises:
        BadCall: ``to`` is not empty, or lies in a store.
        BadOption: there is no such kind, or an expression is invalid.
    """
    return spread(spark, _rows(paths, to, kind, **filters))


def extract_local(paths: Sequence[str], *, to: str, kind: str = "parquet", **filters: Any) -> Any:
    """Write the files in this process, now; return the manifest as a ``pyarrow.Table``."""
    return gather(_rows(paths, to, kind, **filters))


def rows_of(table: Any, *, to: str, **_options: object) -> list[dict[str, Any]]:
    """Return the rows of the manifest, which is also written, as ``manifest.jsonl``."""
    rows: list[dict[str, Any]] = table.sort_by(_ORDER).to_pylist()
    text = "".join(json.dumps(row) + "\n" for row in rows)
    OutputDirectory(Path(to)).file("manifest.jsonl").write_text(text, "utf-8")
    return rows


class _Part(NamedTuple):
    store: str
    number: int
    split: LogSplit
    to: str
    kind: str
    reading: ReadOptions


class _Writer(Protocol):
    """Writes the wanted messages of one topic in one split."""

    def add(self, batch: Any) -> None: ...
    def close(self) -> list[tuple[Path, int]]: ...


def _rows(
    paths: Sequence[str],
    to: str,
    kind: str,
    *,
    topics: str | None = None,
    tags: str | None = None,
    unique_key: str | None = None,
    begin_ms: int | None = None,
    end_ms: int | None = None,
    body: str | None = None,
) -> TaskRows:
    if kind not in FORMATS:
        raise BadOption(f"option kind is {kind!r}, expected {', '.join(FORMATS)}")
    check_expression(body or "")
    for path in paths:
        OutputDirectory.checked(to, source=store_path(path))
    where = [
        Condition(column, "in", tuple(names.split(",")))
        for column, names in (("topic", topics), ("tags", tags))
        if names is not None
    ]
    if unique_key is not None:
        where.append(Condition("unique_key", "=", unique_key))
    where += stored_between(begin_ms, end_ms)
    reading = ReadOptions(
        columns=_COLUMNS, where=tuple(where), body_matches=body or "", decompress=True
    )
    tasks = [
        _Part(path, number, split, str(Path(to).resolve()), kind, reading)
        for number, path in enumerate(paths)
        for split in plan(path, reading)
    ]
    return TaskRows(_extracted, tasks, SCHEMA)


def _extracted(part: _Part) -> Iterator[Any]:
    writers: dict[str, _Writer] = {}
    spans: dict[str, tuple[int, int, int]] = {}
    for batch in read(part.split, part.reading):
        for topic in pc.unique(batch.column("topic")).to_pylist():
            some = batch.filter(pc.equal(batch.column("topic"), topic))
            if topic not in writers:
                writers[topic] = _writer(part, topic)
            writers[topic].add(some)
            offsets = some.column("log_offset")
            count, first, _ = spans.get(topic, (0, offsets[0].as_py(), 0))
            spans[topic] = count + some.num_rows, first, offsets[-1].as_py()
    for topic, writer in writers.items():
        written = writer.close()
        count, first, last = spans[topic]
        path = written[0][0] if part.kind != "files" else written[0][0].parent.parent
        crc = 0
        for _, each in written:
            crc = zlib.crc32(each.to_bytes(4, "big"), crc) if len(written) > 1 else each
        row = {
            "file": str(path.relative_to(part.to)),
            "store": part.store,
            "topic": topic,
            "rows": count,
            "first_log_offset": first,
            "last_log_offset": last,
            "bytes": sum(each.stat().st_size for each, _ in written),
            "crc32": f"{crc:08x}",
        }
        yield one_batch(SCHEMA, [row])


def _writer(part: _Part, topic: str) -> _Writer:
    out = OutputDirectory(Path(part.to))
    if part.kind == "files":
        return _Bodies(out, part, topic)
    name = f"{part.number:04}-{part.split.start:020}.{part.kind}"
    path = out.file(f"topic={topic}", name)
    return _Parquet(path) if part.kind == "parquet" else _Lines(path)


class _Parquet:
    def __init__(self, path: Path) -> None:
        self._path = path
        self._apart = _apart(path)
        schema = schema_of("commitlog", _COLUMNS)
        self._writer = pq.ParquetWriter(self._apart, schema, compression="zstd")

    def add(self, batch: Any) -> None:
        self._writer.write_batch(batch)

    def close(self) -> list[tuple[Path, int]]:
        self._writer.close()
        return [_placed(self._apart, self._path)]


class _Lines:
    def __init__(self, path: Path) -> None:
        self._path = path
        self._apart = _apart(path)
        self._file = self._apart.open("w", encoding="utf-8")

    def add(self, batch: Any) -> None:
        for row in batch.to_pylist():
            self._file.write(json.dumps(row, default=_as_json) + "\n")

    def close(self) -> list[tuple[Path, int]]:
        self._file.close()
        return [_placed(self._apart, self._path)]


class _Bodies:
    def __init__(self, out: OutputDirectory, part: _Part, topic: str) -> None:
        self._out = out
        self._names = (f"{part.number:04}", topic)
        self._made: list[tuple[Path, int]] = []

    def add(self, batch: Any) -> None:
        for row in batch.select(["queue_id", "queue_offset", "body"]).to_pylist():
            names = (*self._names, str(row["queue_id"]), str(row["queue_offset"]))
            path = self._out.file(*names)
            apart = _apart(path)
            apart.write_bytes(row["body"])
            self._made.append(_placed(apart, path))

    def close(self) -> list[tuple[Path, int]]:
        return self._made


def _apart(path: Path) -> Path:
    return path.with_name(f".{path.name}.{uuid.uuid4().hex}")


def _placed(apart: Path, path: Path) -> tuple[Path, int]:
    """Give a whole file its name; return that and its CRC-32."""
    crc = 0
    with apart.open("rb") as file:
        while data := file.read(1 << 20):
            crc = zlib.crc32(data, crc)
        os.fsync(file.fileno())
    os.replace(apart, path)
    return path, crc


def _as_json(value: object) -> str:
    if isinstance(value, datetime):
        return value.isoformat()
    assert isinstance(value, bytes)
    return base64.b64encode(value).decode()
