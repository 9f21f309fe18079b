"""``message import``: send the messages of a jsonl file; an interrupted run can continue.

    line -> body, tag, keys, own properties -> SEND_MESSAGE_V2 -> FILE.sent: lines done

Rule: every line is checked before the first message is sent, and read again to be sent, so that a
file of any size can be imported. Bodies, tags, keys and user properties are sent; ids and times are
new. The number of finished lines is written every 500 lines and at the end of an interrupted run,
so that a killed run sends at most 500 messages again.
"""

import base64
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from io import StringIO
from pathlib import Path
from typing import Final, NamedTuple, TextIO

import click

from mqadmin.cli.declare import Call, Outcome, Row, argument, command, one
from mqadmin.cli.decorators import limit_option, producer_group, rate_option
from mqadmin.cli.types import FILE_PATH, TOPIC
from mqadmin.errors import CommandError, Usage
from mqadmin.messages.limits import RateLimit
from mqadmin.messages.note_file import write_note
from mqadmin.output.terminal.progress import Progress
from mqclient.message import Message
from mqclient.producer.producer import Producer
from storefmt.config.foreign_json import read_json
from storefmt.formats.properties import SYSTEM_NAMES

STDIN: Final = Path("-")
NOTE_LINES: Final = 500
LINE_SIZE_MAX: Final = 128 << 20
"""Largest number of characters in a line: a message that fills a frame, each byte escaped."""
_DIGITS_MAX: Final = 18


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportResult(Row):
    """An import; ``skipped`` lines were sent by an earlier run.

    ``sent`` counts messages; with ``--dry-run`` those that would be sent.
    """

    file: str
    sent: int
    skipped: int
    topics: tuple[str, ...]


@command(
    "message import",
    examples=(
        ("mqadmin message import orders.jsonl --to orders-test", "to another topic"),
        ("mqadmin message import orders.jsonl --rate 200 -y", "200 a second"),
        ("mqadmin message import orders.jsonl --resume -y", "continue an interrupted import"),
        ("zcat old.jsonl.gz | mqadmin message import - -y", "pipe from another program"),
    ),
    details="Each line needs `body` or `body_base64`, and `topic` if --to is not given.",
    rows=ImportResult,
    writes=True,
)
@argument(
    "file",
    type=FILE_PATH,
    help="file of JSON lines, as `message export` writes it; - reads standard input",
)
@click.option(
    "--to", type=TOPIC, metavar="TOPIC", help="send to this topic instead of the topic of each line"
)
@click.option("--resume", is_flag=True, help="continue an interrupted import")
@rate_option
@limit_option()
@producer_group
async def import_messages(
    call: Call,
    *,
    file: Path,
    to: str | None,
    resume: bool,
    rate: float | None,
    limit: int | None,
    group: str,
) -> Outcome:
    """Return how many were sent.

    Raises:
        Usage: a line is not a valid message, the file is not a regular one, or an earlier run was
            interrupted and --resume is missing.
        NoRoute: the topic does not exist.
    """
    note_path = None if file == STDIN else file.with_name(file.name + ".sent")
    skip = _done_before(note_path, resume=resume)
    lines = _lines_of(call, file)
    count, topics = _checked(lines, to, skip=skip, limit=limit)
    if call.dry_run:
        return one(ImportResult(file=str(file), sent=count, skipped=skip, topics=topics))
    await call.confirm(f"send {count} messages to {', '.join(topics) or 'nowhere'}?")
    producer = Producer(await call.client(), group)
    pace = RateLimit(rate)
    sent = 0
    try:
        with Progress(call.console, "import") as progress:
            for message in _messages(lines, to, skip=skip, limit=limit):
                await pace.turn()
                await producer.send(message)
                sent += 1
                progress(sent, count)
                if sent % NOTE_LINES == 0:
                    _note(note_path, skip + sent)
    except BaseException:
        _note(note_path, skip + sent)
        raise
    if note_path is not None:
        note_path.unlink(missing_ok=True)
    return one(ImportResult(file=str(file), sent=sent, skipped=skip, topics=topics))


def _note(note_path: Path | None, lines: int) -> None:
    """Write how many lines are finished; standard input cannot be resumed."""
    if note_path is not None:
        write_note(note_path, f"{lines}\n")


def _done_before(note_path: Path | None, *, resume: bool) -> int:
    if note_path is None and resume:
        raise Usage("--resume cannot be used with standard input", hint="give the name of the file")
    if note_path is None or not note_path.exists():
        return 0
    if not resume:
        raise Usage(
            f"{note_path} remains from an interrupted import", hint="add --resume, or remove it"
        )
    with note_path.open(encoding="ascii", errors="replace") as note:
        text = note.read(_DIGITS_MAX + 2).strip()
    if not text.isdecimal() or len(text) > _DIGITS_MAX:
        raise CommandError(
            f"{note_path} does not contain a number", hint="remove it and start again"
        )
    return int(text)


class _Lines(NamedTuple):
    """Lines that can be read more than once; ``name`` is what an error calls them."""

    name: str
    open: Callable[[], TextIO]


def _lines_of(call: Call, file: Path) -> _Lines:
    """Return the lines of a file, or those of standard input, which are kept in memory.

    Raises:
        Usage: the file is not a regular one.
        CommandError: standard input is too large, or not text.
    """
    if file == STDIN:
        text = call.console.text_of(file)
        return _Lines("standard input", lambda: StringIO(text, newline="\n"))
    if file.exists() and not file.is_file():
        raise Usage(
            f"{file} is not a regular file",
            hint="the import reads it twice: save it to a file, or pipe it to `message import -`",
        )
    return _Lines(str(file), lambda: file.open(encoding="utf-8", newline="\n"))


def _checked(
    lines: _Lines, to: str | None, *, skip: int, limit: int | None
) -> tuple[int, tuple[str, ...]]:
    """Return how many messages the lines have, and their topics.

    Raises:
        Usage: a line is not a message.
    """
    count, topics = 0, set()
    for message in _messages(lines, to, skip=skip, limit=limit):
        count += 1
        topics.add(message.topic)
    return count, tuple(sorted(topics))


def _messages(lines: _Lines, to: str | None, *, skip: int, limit: int | None) -> Iterator[Message]:
    count = number = 0
    with lines.open() as source:
        while limit is None or count < limit:
            number += 1
            where = f"{lines.name} line {number}"
            try:
                line = source.readline(LINE_SIZE_MAX)
            except UnicodeDecodeError as error:
                raise Usage(f"{where}: not UTF-8 ({error.reason})") from None
            if not line:
                return
            if len(line) == LINE_SIZE_MAX:
                raise Usage(f"{where} has {LINE_SIZE_MAX} characters or more", hint="is it jsonl?")
            if number > skip and line.strip():
                count += 1
                yield _message(to, where, line)


def _message(to: str | None, where: str, line: str) -> Message:
    try:
        row = read_json(line)
        if row.get("body_error"):
            raise Usage(
                f"{where} contains a stored body that could not be decoded: {row['body_error']}",
                hint="remove the line, or remove its `body_error` to send the stored bytes",
            )
        text = row.get("body")
        body = text.encode() if text is not None else base64.b64decode(row["body_base64"])
        properties = {
            str(name): str(value)
            for name, value in (row.get("properties") or {}).items()
            if name not in SYSTEM_NAMES
        }
        return Message(
            to or _text(row["topic"]),
            body,
            tags=None if row.get("tags") is None else _text(row["tags"]),
            keys=[_text(key) for key in row.get("keys") or ()],
            flag=_int32(row.get("flag", 0)),
            properties=properties,
        )
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise Usage(
            f"{where} is not a message: {error!r}", hint="`message export` writes such a file"
        ) from None


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise TypeError(f"{str(value)[:40]} is not a string")
    return value


def _int32(value: object) -> int:
    if type(value) is not int or not -(1 << 31) <= value < 1 << 31:
        raise ValueError(f"flag {str(value)[:40]} is not a 32-bit integer")
    return value
