"""Write messages to a file (jsonl, csv or Parquet) so that an interrupted run can continue.

    jsonl, csv   rows are appended; the state has the size of the file and the next position
    parquet      FILE.parts/000000.parquet … are joined into FILE at the end

Rule: rows are synced to the disk before the state file (FILE.state) counts them, and a resumed run
truncates the file to what the state says. The state is removed when the export is complete.
"""

import base64
import json
import os
import shutil
from abc import ABC, abstractmethod
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, Final, Literal, Self, TextIO, get_args

import click

from mqadmin.cli.decorators import option_group, to_file
from mqadmin.cli.types import Choice
from mqadmin.errors import CommandError, Usage
from mqadmin.messages.message_rows import MessageRow
from mqadmin.messages.note_file import write_note
from mqadmin.output.columns import columns_of, record_of
from mqadmin.output.delimited import CsvPrinter
from mqadmin.output.files import STDOUT
from mqadmin.output.printer import Look
from mqadmin.output.rows import Outcome, Row, Rows, one
from mqadmin.output.structured import json_text
from storefmt.config.foreign_json import read_json

FileFormat = Literal["jsonl", "csv", "parquet"]
ROWS_A_PART: Final = 5000
"""How many rows lie between two states; also the size of a Parquet row group."""
COLUMNS: Final = columns_of(MessageRow)


@dataclass(frozen=True, slots=True)
class ExportState:
    """How far an export is.

    Attributes:
        asked: the options of the export; a run with other options cannot continue it.
        begin_ms, end_ms: the time range, fixed when the export began.
        next_log_offset: where to continue in the log; -1 for its start.
        queue: the queue of the last row as ``BROKER:ID``, and ``next_queue_offset`` behind it:
            where to continue with a topic that is read from brokers.
        size: bytes of the file (jsonl, csv), or parts (Parquet), that are complete.
        resumed: this run continues an interrupted one.
    """

    asked: dict[str, str]
    begin_ms: int | None = None
    end_ms: int | None = None
    next_log_offset: int = -1
    queue: str = ""
    next_queue_offset: int = -1
    rows: int = 0
    size: int = 0
    resumed: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class ExportRow(Row):
    """A complete export; ``size`` is the file's, in bytes."""

    file: str
    format: str
    rows: int
    size: int
    resumed: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class ExportTarget:
    """Where an export goes: the options of `message export` and `store export`."""

    to: Path
    format_: FileFormat | None
    resume: bool

    @property
    def is_stdout(self) -> bool:
        """Return whether the rows go to standard output, where no state is kept."""
        return self.to == STDOUT

    @property
    def kind(self) -> FileFormat:
        """Return the format: the requested one, otherwise that of the file's suffix.

        Standard output gets jsonl.

        Raises:
            Usage: neither is given.
        """
        if self.format_ is not None:
            return self.format_
        if self.is_stdout:
            return "jsonl"
        formats: dict[str, FileFormat] = {".jsonl": "jsonl", ".csv": "csv", ".parquet": "parquet"}
        file_format = formats.get(self.to.suffix.lower())
        if file_format is None:
            raise Usage(
                f"{self.to.name}: unknown format",
                hint="end the name in .jsonl, .csv or .parquet, or use --format",
            )
        return file_format

    def printed(self, rows: Rows) -> Outcome:
        """Return the rows for standard output.

        Raises:
            Usage: the line asks for what only a file can have.
        """
        if self.resume or self.kind == "parquet":
            raise Usage(
                "--resume and Parquet need a file, and --to - is standard output",
                hint="give a file, as in --to orders.parquet",
            )
        return Outcome(rows, format=self.kind, row_class=MessageRow)

    def writer(self, state: ExportState, *, csv_raw: bool) -> "ExportWriter":
        """Return a writer of the rows that follow those of ``state``.

        Args:
            state: how far the export is.
            csv_raw: leave csv cells as they are that a spreadsheet would run as formulas.
        """
        if self.kind == "csv":
            return CsvWriter(self.to, state, csv_raw=csv_raw)
        return (LinesWriter if self.kind == "jsonl" else ParquetWriter)(self.to, state)


export_options = option_group(
    "target",
    ExportTarget,
    to_file(required=True),
    click.option(
        "--format",
        "format_",
        type=Choice(get_args(FileFormat)),
        help="format, instead of that of the suffix",
    ),
    click.option("--resume", is_flag=True, help="continue an interrupted export"),
)


def queue_of(broker: str, queue_id: int) -> str:
    """Return a queue as the state names it."""
    return f"{broker}:{queue_id}"


def state_path(path: Path) -> Path:
    """Return where the state of an export to ``path`` is kept."""
    return path.with_name(path.name + ".state")


def begin(target: ExportTarget, fresh: ExportState) -> ExportState:
    """Return the state to start from: a new one, or that of an interrupted run.

    Raises:
        Usage: the file already exists, or was written with other options.
        CommandError: the state cannot be read.
    """
    path = target.to
    if target.is_stdout:
        return fresh
    state_file = state_path(path)
    if not target.resume or not state_file.exists():
        if path.exists():
            raise Usage(
                f"{path} already exists",
                hint="it is complete; remove it to export again"
                if not state_file.exists()
                else "add --resume to continue it, or remove it and its .state",
            )
        if state_file.exists():
            raise Usage(
                f"{state_file} remains from an interrupted export",
                hint="add --resume, or remove it",
            )
        return fresh
    try:
        state = _state_of(state_file.read_text("utf-8"))
    except (ValueError, TypeError) as error:
        raise CommandError(
            f"{state_file}: {error}", hint="remove it and the file, and start again"
        ) from None
    if state.asked != fresh.asked:
        differ = sorted(
            name
            for name in {*state.asked, *fresh.asked}
            if state.asked.get(name) != fresh.asked.get(name)
        )
        raise Usage(
            f"{path} was started with another {', '.join(differ)}",
            hint="use the same options, or export to another file",
        )
    return replace(state, resumed=True)


def _state_of(text: str) -> ExportState:
    """Return the state in a file.

    Raises:
        ValueError: the file does not contain a state.
        TypeError: it has other fields, or one of another type.
    """
    state = ExportState(**read_json(text))
    asked: object = state.asked
    queue: object = state.queue
    if not isinstance(asked, dict) or not isinstance(queue, str):
        raise TypeError("`asked` or `queue` has the wrong type")
    counts = (state.rows, state.size)
    offsets = (state.next_log_offset, state.next_queue_offset)
    times = tuple(time_ms for time_ms in (state.begin_ms, state.end_ms) if time_ms is not None)
    if not all(type(each) is int for each in (*counts, *offsets, *times)):
        raise TypeError("a number has the wrong type")
    if min(counts) < 0 or min(offsets) < -1:
        raise ValueError("a number is negative")
    return state


class ExportWriter(ABC):
    """Writes rows, and from time to time the state."""

    def __init__(self, path: Path, state: ExportState) -> None:
        self.path = path
        self.state = state
        self._since = 0

    def add(self, row: MessageRow) -> None:
        """Write one row."""
        self._write(row)
        self._since += 1
        self.state = replace(
            self.state,
            next_log_offset=row.log_offset + row.size,
            queue=queue_of(row.broker or "", row.queue_id),
            next_queue_offset=row.queue_offset + 1,
            rows=self.state.rows + 1,
        )
        if self._since >= ROWS_A_PART:
            self.save()

    def save(self) -> None:
        """Sync the rows, then write the state."""
        self.state = replace(self.state, size=self._sync())
        self._since = 0
        self.note()

    def note(self) -> None:
        """Write the state; also before the first row, so that every run can be resumed."""
        write_note(state_path(self.path), json.dumps(asdict(self.state)))

    def __enter__(self) -> Self:
        self.note()
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def finish(self, target: ExportTarget) -> Outcome:
        """Complete the file, drop the state, and return what was written."""
        self.save()
        self._complete()
        state_path(self.path).unlink()
        row = ExportRow.of(
            self.state, file=str(self.path), format=target.kind, size=self.path.stat().st_size
        )
        return one(row)

    @abstractmethod
    def _write(self, row: MessageRow) -> None: ...

    @abstractmethod
    def _sync(self) -> int:
        """Sync the rows to the disk; return how many bytes or parts are complete."""

    @abstractmethod
    def _complete(self) -> None: ...

    @abstractmethod
    def close(self) -> None:
        """Close the file; unsaved rows may be written again later."""


class TextWriter(ExportWriter):
    """A file that rows are appended to."""

    def __init__(self, path: Path, state: ExportState) -> None:
        super().__init__(path, state)
        # Not "a", because what an interrupted run wrote after its last state is truncated.
        if path.exists():
            self._file: TextIO = path.open("r+", encoding="utf-8", newline="")
        else:
            self._file = path.open("x", encoding="utf-8", newline="")
        size = os.fstat(self._file.fileno()).st_size
        if size < state.size:
            raise CommandError(
                f"{path} has {size} bytes, {state_path(path).name} says {state.size}",
                hint="remove both, and start again",
            )
        self._file.truncate(state.size)
        self._file.seek(state.size)

    def _sync(self) -> int:
        self._file.flush()
        os.fsync(self._file.fileno())
        return self._file.tell()

    def _complete(self) -> None:
        self.close()

    def close(self) -> None:
        self._file.close()


class LinesWriter(TextWriter):
    """One JSON object per line, as ``store log -o jsonl`` prints them."""

    def _write(self, row: MessageRow) -> None:
        self._file.write(json_text(record_of(row, COLUMNS)) + "\n")


class CsvWriter(TextWriter):
    """A header and one line per row, as ``store log -o csv`` prints them."""

    def __init__(self, path: Path, state: ExportState, *, csv_raw: bool) -> None:
        super().__init__(path, state)
        names = tuple(column.name for column in COLUMNS)
        look = Look(names=names, headers=state.size == 0, csv_raw=csv_raw)
        self._printer = CsvPrinter(self._file, look)

    def _write(self, row: MessageRow) -> None:
        self._printer.row(record_of(row, COLUMNS))


class ParquetWriter(ExportWriter):
    """Parts of some thousand rows, joined at the end; ``body`` holds bytes."""

    def __init__(self, path: Path, state: ExportState) -> None:
        super().__init__(path, state)
        try:
            import pyarrow.parquet
        except ImportError:
            raise Usage(
                "Parquet needs pyarrow, which is not installed",
                hint="`pip install mqadmin[spark]`, or export jsonl or csv",
            ) from None
        self._parquet = pyarrow.parquet
        self._schema = _arrow_schema()
        self._parts = path.with_name(path.name + ".parts")
        self._parts.mkdir(exist_ok=True)
        self._rows: list[dict[str, Any]] = []

    def _write(self, row: MessageRow) -> None:
        self._rows.append(_arrow_row(row))

    def _sync(self) -> int:
        count = self.state.size
        if self._rows:
            import pyarrow as pa

            table = pa.Table.from_pylist(self._rows, schema=self._schema)
            part = self._parts / f"{count:06d}.parquet"
            self._parquet.write_table(table, part, compression="zstd")
            descriptor = os.open(part, os.O_RDONLY)
            try:
                os.fsync(descriptor)
            finally:
                os.close(descriptor)
            self._rows = []
            count += 1
        return count

    def _complete(self) -> None:
        temporary = self._parts / "joined"
        with self._parquet.ParquetWriter(temporary, self._schema, compression="zstd") as out:
            for number in range(self.state.size):
                out.write_table(self._parquet.read_table(self._parts / f"{number:06d}.parquet"))
        temporary.replace(self.path)
        shutil.rmtree(self._parts)

    def close(self) -> None:
        self._rows = []


def _arrow_schema() -> Any:
    import pyarrow as pa

    text, number, small = pa.string(), pa.int64(), pa.int32()
    kinds: dict[str, Any] = {
        "keys": pa.list_(text),
        "properties": pa.map_(text, text),
        "body": pa.binary(),
        "born_ms": pa.timestamp("ms", tz="UTC"),
        "store_ms": pa.timestamp("ms", tz="UTC"),
    }
    kinds |= dict.fromkeys(("queue_offset", "log_offset", "prepared_transaction_offset"), number)
    small_ones = ("queue_id", "size", "flag", "sys_flag", "body_crc", "body_size", "magic")
    kinds |= dict.fromkeys((*small_ones, "reconsume_times"), small)
    names = [column.name for column in COLUMNS if column.name not in _NOT_IN_PARQUET]
    return pa.schema([(name, kinds.get(name, text)) for name in names])


_NOT_IN_PARQUET: Final = ("body_base64", "born_time", "store_time", "broker")


def _arrow_row(row: MessageRow) -> dict[str, Any]:
    record: dict[str, Any] = record_of(row, COLUMNS)
    encoded = record.pop("body_base64", None)
    text = record.get("body")
    raw = base64.b64decode(encoded) if encoded is not None else None
    record["body"] = text.encode() if text is not None else raw
    record["properties"] = list(row.properties.items())
    return {name: value for name, value in record.items() if name not in _NOT_IN_PARQUET}
