"""The tables made of the commit log, and how a log is cut into splits.

    commitlog   a row for each message (``storefmt.arrow.columns`` has the columns and decodes)
    damage      a row for each range of bytes that is not a valid record, or that no file has

Rule: a split is a range of log offsets within one file. A record belongs to the split in which it
starts, so the splits of a store have every record once. Files and sizes are read once, by the
planning: messages that a live broker appends later are not part of the answer.
"""

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any, Final, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from mqspark.errors import BadOption
from mqspark.schemas import DAMAGE, STORE
from mqspark.sources.inflated import inflate_bodies, is_changed_by_inflating, with_needed
from mqspark.sources.store.conditions import log_range, time_range
from mqspark.sources.store.raft_log import RaftFile, lost_in, plan_raft, raft_files, read_raft
from mqspark.sources.store.reading import ReadOptions, StoreLayout
from mqspark.sources.store.skipped import collecting, note
from mqspark.sources.store.stores import file_path
from storefmt.arrow.columns import iter_batches, place_in_log
from storefmt.errors import DamageKind, NotAStore, RecordDamaged
from storefmt.formats.scan import Damage, End, LogFile, log_files
from storefmt.paths import StorePaths
from storefmt.store_file import StoreFile

_LOOK_SIZE: Final = 1 << 16
"""How many bytes planning looks at to see whether a file has data; it runs in the driver."""


class LogSplit(NamedTuple):
    """Log offsets ``start`` up to ``end`` (bytes) of one commit log file."""

    path: str
    start: int
    end: int
    may_end: bool = True
    """Whether zeros up to the end of the file are free space, as in the newest file."""


class MissingLogFiles(NamedTuple):
    """Log offsets ``start`` up to ``end`` that no file has, between two existing files."""

    path: str
    """The path of the first missing file."""
    start: int
    end: int


LogTask = LogSplit | MissingLogFiles | RaftFile
"""The part of a log that one task reads."""


def check_expression(text: str) -> None:
    """Check that a text is a regular expression (RE2).

    Raises:
        BadOption: it is not; the error says where.
    """
    try:
        pc.match_substring_regex(pa.array([b""], pa.binary()), text)
    except pa.ArrowInvalid as error:
        raise BadOption(f"{text!r} is no regular expression: {error}") from error


def plan_log(directory: Path, reading: ReadOptions) -> list[LogTask]:
    """Cut the commit log of a store directory into splits; each file of a Raft log is one.

    Raises:
        NotAStore: there is no commit log.
        OSError: a file cannot be read.
    """
    low, high = log_range(reading.where)
    raft = [] if reading.layout is StoreLayout.FILE else raft_files(directory)
    if reading.layout is StoreLayout.DLEDGER and not raft:
        raise NotAStore(f"{directory} holds no Raft log, dledger-<id>/data; leave out layout")
    parts: list[LogTask] = []
    # A broker that was switched to DLedger still has its older log beside the new one.
    has_older = StorePaths(directory).commitlog.is_dir()
    if not raft or (has_older and reading.layout is not StoreLayout.DLEDGER):
        parts += _plain_parts(directory, reading, low, high)
    return [*parts, *plan_raft(_in_time(raft, reading), low, high)]


def _plain_parts(directory: Path, reading: ReadOptions, low: int, high: int) -> list[LogTask]:
    commitlog = StorePaths(directory).commitlog
    if not directory.is_dir():
        raise NotAStore(f"{directory}: no such directory; give a broker's storePathRootDir")
    if not commitlog.is_dir():
        raise NotAStore(
            f"{directory} holds no commitlog folder; name the directory that has it "
            "(storePathRootDir in broker.conf)"
        )
    splits: list[LogTask] = []
    behind: int | None = None
    paths = log_files(commitlog)
    newest = newest_base(paths)
    # Damage is named by files, rows by what they say: a file may have the wrong name.
    by_rows = (low, high) != log_range(()) and reading.table != DAMAGE
    for path in _in_time(paths, reading):
        with LogFile(path) as file:
            if behind is not None and behind < file.base:
                gap = MissingLogFiles(str(commitlog / f"{behind:020d}"), behind, file.base)
                if reading.table == DAMAGE:
                    splits.append(gap)
                else:
                    note(gap.path, 0)
            behind = file.base + file.size
            may_end = file.base >= newest
            # A preallocated file is gigabytes of holes. A hole in front of data is lost data, which
            # a copy may keep as zeros, so that only the last one is left out.
            data_end = file.data_end() if may_end else file.size
            base = place_in_log(path, file).base if by_rows else file.base
            stop = min(data_end, high - base)
            for pos in range(max(0, low - base), stop, reading.split_size):
                end = min(pos + reading.split_size, stop)
                splits.append(LogSplit(str(path), file.base + pos, file.base + end, may_end))
    return splits


def newest_base(paths: list[Path]) -> int:
    """Return the log offset of the newest file that has data, 0 if none has."""
    for path in reversed(paths):
        with LogFile(path) as file:
            if any(file.read(file.data_after(0), _LOOK_SIZE)):
                return file.base
    return 0


def _in_time(paths: list[Path], reading: ReadOptions) -> list[Path]:
    """Return the files that can hold a message of a wanted time, by the first time in each."""
    times = time_range(reading.where)
    if times is None:
        return paths
    paths = sorted(paths, key=_base_of)
    firsts = [_first_ms(path) for path in paths]
    kept = []
    for number, path in enumerate(paths):
        first, behind = firsts[number], next((ms for ms in firsts[number + 1 :] if ms), None)
        if first and (first > times[1] or (behind is not None and behind < times[0])):
            continue
        kept.append(path)
    return sorted(kept)


def _base_of(path: Path) -> int:
    """Return where a file lies in the log, as its records say it."""
    with LogFile(path) as file:
        return place_in_log(path, file).base


def _first_ms(path: Path) -> int:
    """Return the store time (ms) of a file's first message, 0 if it cannot be read."""
    batches = iter_batches([path], columns=("store_timestamp",), rows_max=1, on_damage=_unheard)
    first = next(batches, None)
    if first is None or not first.column(0)[0].is_valid:
        return 0
    return int(first.column(0).cast(pa.int64())[0].as_py()) // 1000


def _unheard(file_name: str, damage: Damage) -> None:
    """Ignore damage, which the table ``damage`` lists."""


def read_log(split: LogTask, reading: ReadOptions) -> Iterator[Any]:
    """Yield the messages of a split as Arrow record batches with ``reading.columns``.

    Bodies that do not match are dropped here: they never reach Spark.

    Raises:
        RecordDamaged: there is damage, and ``reading.fail_on_damage`` is true.
    """
    try:
        if reading.body_matches or (
            reading.decompress and is_changed_by_inflating(reading.columns)
        ):
            yield from _by_body(split, reading)
        else:
            yield from _messages(split, reading, reading.columns)
    except RecordDamaged as error:
        # The driver does not know the split, so the error must name the file.
        raise RecordDamaged(
            f"{split.path}: {error}", kind=error.kind, pos=error.pos, field=error.field
        ) from error


def _messages(split: LogTask, reading: ReadOptions, columns: tuple[str, ...]) -> Iterator[Any]:
    if isinstance(split, RaftFile):
        yield from read_raft(split, reading, columns)
        return

    def pass_over(file_name: str, damage: Damage) -> None:
        note(split.path, damage.pos)

    def pass_end(file_name: str, end: End) -> None:
        may_end = isinstance(split, MissingLogFiles) or split.may_end
        if collecting() and _lost_size(file_path(split.path), end.pos, may_end):
            note(split.path, end.pos)

    yield from iter_batches(
        [file_path(split.path)],
        columns=columns,
        start=split.start,
        end=split.end,
        rows_max=reading.rows_max,
        bytes_max=reading.bytes_max,
        check_crc=reading.check_crc,
        on_damage=None if reading.fail_on_damage else pass_over,
        on_end=pass_end,
    )


def _by_body(split: LogTask, reading: ReadOptions) -> Iterator[Any]:
    for batch in _messages(split, reading, with_needed(reading.columns)):
        for part in inflate_bodies(
            batch, bytes_max=reading.bytes_max, fail_on_damage=reading.fail_on_damage
        ):
            if reading.body_matches:
                part = part.filter(pc.match_substring_regex(part.bodies, reading.body_matches))
            if part.rows.num_rows:
                rows = part.as_sent() if reading.decompress else part.rows
                yield rows.select(list(reading.columns))


def read_damage(split: LogTask, reading: ReadOptions) -> Iterator[Any]:
    """Yield the ranges of a split that are not valid records, in at most one batch."""
    name = Path(split.path).name
    if isinstance(split, MissingLogFiles):
        size = split.end - split.start
        rows = [_damage_row(name, split.start, size, "gap", "no file has these bytes")]
    elif isinstance(split, RaftFile):
        rows = [
            _damage_row(name, lost.log_offset, lost.length, str(lost.error.kind), str(lost.error))
            for lost in lost_in(split)
        ]
    else:
        rows = _damage_in(split, reading)
    if rows:
        schema = pa.schema([STORE[DAMAGE].field(name) for name in reading.columns])
        yield pa.RecordBatch.from_pylist(rows, schema=schema)


def _damage_in(split: LogSplit, reading: ReadOptions) -> list[dict[str, object]]:
    rows: list[dict[str, object]] = []
    base = int(Path(split.path).name)

    def note(file_name: str, damage: Damage) -> None:
        kind, text = str(damage.error.kind), str(damage.error)
        rows.append(_damage_row(file_name, base + damage.pos, damage.size, kind, text))

    def note_end(file_name: str, end: End) -> None:
        size = _lost_size(file_path(split.path), end.pos, split.may_end)
        if size:
            text = "zeros where a record should be, and no record up to the end of the file"
            rows.append(_damage_row(file_name, base + end.pos, size, str(DamageKind.ZEROS), text))

    columns = ("log_offset", "store_size")
    for batch in iter_batches(
        [file_path(split.path)],
        columns=(*columns, "crc_ok") if reading.check_crc else columns,
        start=split.start,
        end=split.end,
        check_crc=reading.check_crc,
        on_damage=note,
        on_end=note_end,
    ):
        if reading.check_crc:
            rows += _bad_bodies(Path(split.path).name, batch)
    return rows


def _lost_size(path: Path, pos: int, may_end: bool) -> int:
    """Return how many bytes are lost from ``pos`` on, where zeros begin that no record follows."""
    with closing(StoreFile(path)) as file:
        if file.first_data(pos) is not None:
            return file.data_end(pos) - pos
        return 0 if may_end else file.size - pos


def _damage_row(
    file_name: str, log_offset: int, length: int, kind: str, detail: str
) -> dict[str, object]:
    return {
        "file": file_name,
        "log_offset": log_offset,
        "length": length,
        "kind": kind,
        "resumed_at": log_offset + length,
        "detail": detail,
    }


def _bad_bodies(file_name: str, batch: Any) -> Iterator[dict[str, object]]:
    """Yield a damage row for each record whose body does not match its CRC."""
    if batch.column("crc_ok").true_count == batch.num_rows:
        return
    for row in batch.to_pylist():
        if not row["crc_ok"]:
            log_offset, size = row["log_offset"], row["store_size"]
            yield _damage_row(
                file_name, log_offset, size, "bad_crc", "the body does not match its crc"
            )
