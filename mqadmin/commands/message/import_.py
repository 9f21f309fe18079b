"""``message import``: send the messages of a jsonl file; a broken run can be continued.

    line -> body, tag, keys, own properties -> SEND_MESSAGE_V2 -> FILE.sent: lines done

Rule: what the user gave is sent, ids and times are new. The count of lines that are done is
written every 500 lines and at the end of a broken run, so that one that was killed sends at
most 500 again.
"""

import base64
import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import click

from mqadmin.cli.declare import Call, Outcome, Row, argument, command, one
from mqadmin.cli.decorators import limit_option, producer_group, rate_option
from mqadmin.cli.types import FILE_PATH, TOPIC
from mqadmin.errors import CommandError, Usage
from mqadmin.messages.limits import RateLimit
from mqadmin.output.terminal.progress import Progress
from mqclient.message import Message
from mqclient.producer.producer import Producer
from storefmt.formats.properties import SYSTEM_NAMES

NOTE_LINES: Final = 500
STDIN: Final = Path("-")


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
        ("mqadmin message import orders.jsonl --resume -y", "go on where it broke"),
        ("zcat old.jsonl.gz | mqadmin message import - -y", "from another program"),
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
@click.option("--resume", is_flag=True, help="continue an import that broke")
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
        Usage: a line is no message, or an earlier run broke and --resume is missing.
        NoRoute: there is no such topic.
    """
    held = None if file == STDIN else file.with_name(file.name + ".sent")
    skip = _done_before(held, resume=resume)
    text = call.console.text_of(file)
    name = "standard input" if file == STDIN else str(file)
    todo = list(_messages(text, name, to, skip=skip, limit=limit))
    topics = tuple(sorted({message.topic for message in todo}))
    if call.dry_run:
        return one(ImportResult(file=str(file), sent=len(todo), skipped=skip, topics=topics))
    await call.confirm(f"send {len(todo)} messages to {', '.join(topics) or 'nowhere'}?")
    producer = Producer(await call.client(), group)
    pace = RateLimit(rate)
    sent = 0
    try:
        with Progress(call.console, "import") as progress:
            for message in todo:
                await pace.turn()
                await producer.send(message)
                sent += 1
                progress(sent, len(todo))
                if sent % NOTE_LINES == 0:
                    _note(held, skip + sent)
    except BaseException:
        _note(held, skip + sent)
        raise
    if held is not None:
        held.unlink(missing_ok=True)
    return one(ImportResult(file=str(file), sent=sent, skipped=skip, topics=topics))


def _note(held: Path | None, lines: int) -> None:
    """Write how many lines are done; standard input cannot be continued."""
    if held is not None:
        held.write_text(f"{lines}\n", encoding="ascii")


def _done_before(held: Path | None, *, resume: bool) -> int:
    if held is None and resume:
        raise Usage("--resume with standard input", hint="name the file that was begun")
    if held is None or not held.exists():
        return 0
    if not resume:
        raise Usage(f"{held} is left of a broken import", hint="add --resume, or remove it")
    text = held.read_text(encoding="ascii").strip()
    if not text.isdecimal():
        raise CommandError(f"{held} holds no number", hint="remove it and begin anew")
    return int(text)


def _messages(
    text: str, name: str, to: str | None, *, skip: int, limit: int | None
) -> Iterator[Message]:
    """Yield the messages of lines; ``name`` is what an error calls the file."""
    count = 0
    # Not splitlines: a body may have other characters that end a line there.
    for number, line in enumerate(text.split("\n"), start=1):
        if limit is not None and count >= limit:
            return
        if number > skip and line.strip():
            count += 1
            yield _message(to, f"{name} line {number}", line)


def _message(to: str | None, where: str, line: str) -> Message:
    try:
        row = json.loads(line)
        if row.get("body_error"):
            raise Usage(
                f"{where} has its body as it was stored: {row['body_error']}",
                hint="remove the line, or its `body_error` to send the stored bytes",
            )
        text = row.get("body")
        body = text.encode() if text is not None else base64.b64decode(row["body_base64"])
        properties = {
            str(name): str(value)
            for name, value in (row.get("properties") or {}).items()
            if name not in SYSTEM_NAMES
        }
        return Message(
            to or row["topic"],
            body,
            tags=row.get("tags"),
            keys=[str(key) for key in row.get("keys") or ()],
            flag=int(row.get("flag", 0)),
            properties=properties,
        )
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise Usage(
            f"{where} is not a message: {error!r}", hint="`message export` writes such a file"
        ) from None
