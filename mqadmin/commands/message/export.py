"""``message export``: the messages of a topic into a file, from brokers, resumable.

    queues in order -> rows -> FILE, and now and then FILE.state: which queue, how far

Requests: as ``message print``. ``store export`` does the same with a store directory.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from mqadmin.browse import Wish, parts, stored
from mqadmin.call import Call
from mqadmin.errors import Usage
from mqadmin.exportfile import (
    Exported,
    FileFormat,
    State,
    asked_by,
    begin,
    format_of,
    queue_of,
    writer_for,
)
from mqadmin.messages import row_of
from mqadmin.output.progress import Progress
from mqadmin.parameters import Kind, argument, option
from mqadmin.reading import Span, read
from mqadmin.registry import Needs, command
from mqadmin.rows import Outcome, one
from mqadmin.storedtime import STORED_FROM, STORED_TO, bound_ms
from mqadmin.times import When
from mqadmin.wanted import Filter


@dataclass(frozen=True, slots=True, kw_only=True)
class Arguments:
    """Which messages, and where to."""

    topic: Annotated[str, argument("the topic", kind=Kind.TOPIC)]
    to: Annotated[Path, option("file to write", short="f", metavar="FILE", kind=Kind.FILE)]
    format: Annotated[FileFormat | None, option("instead of what the suffix says")] = None
    resume: Annotated[bool, option("go on with a broken export")] = False
    queue: Annotated[
        str | None, option("only this queue", metavar="ID|BROKER:ID", kind=Kind.QUEUE)
    ] = None
    from_: Annotated[When | None, STORED_FROM] = None
    until: Annotated[When | None, STORED_TO] = None
    tag: Annotated[str, option("only these tags, as 'A || B'", short="t")] = "*"
    limit: Annotated[int | None, option("so many at most", short="c")] = None
    no_body: Annotated[bool, option("leave the bodies out")] = False


@command(
    "message export",
    "write the messages of a topic to a file",
    details="jsonl and csv hold what `message print` prints, Parquet (needs pyarrow) bodies as "
    "bytes. A state file beside the output lets a broken run go on; what comes in after the "
    "start is left out. `message import` reads jsonl.",
    examples=(
        ("mqadmin message export orders --to orders.jsonl", "all of a topic"),
        ("mqadmin message export orders --to orders.jsonl --resume", "go on where it broke"),
        ("mqadmin message export orders --to orders.jsonl --store DIR", "of a stopped broker"),
    ),
    rows=Exported,
    needs=Needs.EITHER,
)
async def export_messages(call: Call, args: Arguments) -> Outcome:
    """Return what was written.

    Raises:
        Usage: the file is there, or was begun with another question.
        NoRoute: there is no such topic.
    """
    if args.limit is not None and args.limit < 0:
        raise Usage(f"limit {args.limit} is negative")
    kind = format_of(args.to, args.format)
    if call.is_offline:
        return _stored(call, args, kind)
    state, resumed = begin(args.to, _fresh(call, args), resume=args.resume)
    wanted = Filter(begin_ms=state.begin_ms, end_ms=state.end_ms)
    consumer, spans = await parts(
        call, Wish(topic=args.topic, filter=wanted, queue=args.queue, tags=args.tag)
    )
    left = _left(spans, state)
    count_max = None if args.limit is None else max(0, args.limit - state.rows)
    writer = writer_for(args.to, kind, state)
    total = sum(span.end - span.start for span in spans)
    before = total - sum(span.end - span.start for span in left)
    with Progress(call.console, "export") as progress:
        try:
            writer.note()
            found = read(consumer, left, wanted, tags=args.tag, count_max=count_max)
            async for message in found:
                writer.add(row_of(message, warn=call.warn, body=not args.no_body))
                before += 1
                progress(before, total)
            size = writer.finish()
        finally:
            writer.close()
    return one(
        Exported(file=str(args.to), format=kind, rows=writer.state.rows, size=size, resumed=resumed)
    )


def _stored(call: Call, args: Arguments, kind: FileFormat) -> Outcome:
    """Write what a store has of the topic; there is no state to go on with."""
    if args.resume:
        raise Usage("--resume with --store", hint="`store export --resume` goes on")
    state, _ = begin(args.to, _fresh(call, args), resume=False)
    wish = Wish(
        topic=args.topic,
        filter=Filter(topic=args.topic, begin_ms=state.begin_ms, end_ms=state.end_ms),
        queue=args.queue,
        tags=args.tag,
        limit=args.limit,
        no_body=args.no_body,
    )
    writer = writer_for(args.to, kind, state)
    try:
        for row in stored(call, wish):
            writer.add(row)
        size = writer.finish()
    finally:
        writer.close()
    return one(
        Exported(file=str(args.to), format=kind, rows=writer.state.rows, size=size, resumed=False)
    )


def _fresh(call: Call, args: Arguments) -> State:
    now_ms = call.now_ms()
    return State(
        asked=asked_by(args),
        begin_ms=bound_ms(args.from_, now_ms),
        # The same end when it goes on: queues that are done must stay done.
        end_ms=args.until.ms(now_ms) if args.until else now_ms,
    )


def _left(spans: list[Span], state: State) -> list[Span]:
    """Return what is still to be read."""
    if not state.queue:
        return spans
    names = [queue_of(span.queue.broker_name, span.queue.queue_id) for span in spans]
    if state.queue not in names:
        raise Usage(
            f"queue {state.queue}, where the export broke, is no more", hint="begin a new file"
        )
    at = names.index(state.queue)
    first = spans[at]
    return [
        Span(first.queue, min(max(first.start, state.next_queue_offset), first.end), first.end),
        *spans[at + 1 :],
    ]
