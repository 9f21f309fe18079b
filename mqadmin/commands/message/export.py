"""``message export``: write the messages of a topic to a file; an interrupted run can continue.

    queues in order -> rows -> FILE, and at intervals FILE.state: which queue, which offset

Requests: as ``message print``. ``store export`` does the same with a store directory.
"""

from collections.abc import AsyncIterator
from dataclasses import replace

import click

from mqadmin.cli.declare import Call, Needs, Outcome, command
from mqadmin.cli.decorators import (
    limit_option,
    no_bodies_option,
    stored_from,
    stored_until,
    tag_expression,
    topic_argument,
)
from mqadmin.cli.times import bound_ms
from mqadmin.cli.types import QUEUE
from mqadmin.errors import Usage
from mqadmin.messages.broker_reader import QueueSpan, read_spans
from mqadmin.messages.browse import MessageQuery, consumer_and_spans, stored_rows
from mqadmin.messages.export_file import (
    ExportRow,
    ExportState,
    ExportTarget,
    begin,
    export_options,
    queue_of,
)
from mqadmin.messages.filter import RecordFilter
from mqadmin.messages.message_rows import MessageRow, row_of
from mqadmin.output.terminal.progress import Progress
from mqadmin.output.times import When


@command(
    "message export",
    details="jsonl and csv files have the columns of `message print`; Parquet files (which need "
    "pyarrow) have bodies as bytes. A state file beside the output lets an interrupted run "
    "continue. Messages that arrive after the start are left out. `message import` reads jsonl.",
    examples=(
        ("mqadmin message export orders --to orders.jsonl", "a whole topic"),
        (
            "mqadmin message export orders --to orders.jsonl --resume",
            "continue an interrupted export",
        ),
        ("mqadmin message export orders --to - | jq .body", "pipe to another program"),
        ("mqadmin message export orders --to orders.jsonl --store DIR", "from a stopped broker"),
    ),
    rows=ExportRow,
    summary_rows=MessageRow,
    needs=Needs.EITHER,
)
@topic_argument()
@export_options
@click.option("--queue", type=QUEUE, help="only this queue")
@stored_from()
@stored_until
@tag_expression
@limit_option()
@no_bodies_option
async def export_messages(
    call: Call,
    *,
    topic: str,
    target: ExportTarget,
    queue: str | None,
    from_: When | None,
    until: When | None,
    tag: str,
    limit: int | None,
    no_body: bool,
) -> Outcome:
    """Return what was written.

    Raises:
        Usage: the file exists, or was started with other options.
        NoRoute: the topic does not exist.
    """
    if target.resume and call.is_offline:
        # An export from a store does not keep a state to resume from.
        raise Usage("--resume cannot be used with --store", hint="use `store export --resume`")
    asked = {
        "topic": topic,
        "format": target.format_,
        "queue": queue,
        "tag": tag,
        "no_body": no_body,
        "from": from_,
        "until": until,
    }
    now_ms = call.now_ms()
    fresh = ExportState(
        asked={name: str(value) for name, value in asked.items()},
        begin_ms=bound_ms(from_, now_ms),
        # A resumed export keeps the end, so that finished queues stay finished.
        end_ms=until.ms(now_ms) if until else now_ms,
    )
    state = begin(target, fresh)
    record_filter = RecordFilter(begin_ms=state.begin_ms, end_ms=state.end_ms)
    wish = MessageQuery(topic=topic, filter=record_filter, queue=queue, tags=tag)
    if call.is_offline:
        wish = replace(
            wish, filter=replace(record_filter, topic=topic), limit=limit, no_body=no_body
        )
        return _from_store(call, target, wish, state)
    consumer, spans = await consumer_and_spans(call, wish)
    left = _left(spans, state)
    count_max = None if limit is None else max(0, limit - state.rows)
    total, rest = (sum(span.end - span.start for span in each) for each in (spans, left))

    async def rows() -> AsyncIterator[MessageRow]:
        async for message in read_spans(
            consumer, left, record_filter, tags=tag, count_max=count_max
        ):
            yield row_of(message, warn=call.warn, body=not no_body)

    if target.is_stdout:
        return target.printed(rows())
    return await _write(call, target, state, rows(), before=total - rest, total=total)


async def _write(
    call: Call,
    target: ExportTarget,
    state: ExportState,
    rows: AsyncIterator[MessageRow],
    *,
    before: int,
    total: int,
) -> Outcome:
    """Write the remaining rows; ``before`` of ``total`` are in the file already."""
    with (
        target.writer(state, csv_raw=call.settings.csv_raw) as writer,
        Progress(call.console, "export") as progress,
    ):
        async for row in rows:
            writer.add(row)
            before += 1
            progress(before, total)
        return writer.finish(target)


def _from_store(
    call: Call, target: ExportTarget, wish: MessageQuery, state: ExportState
) -> Outcome:
    """Export the messages of a store directory."""
    if target.is_stdout:
        return target.printed(stored_rows(call, wish))
    with target.writer(state, csv_raw=call.settings.csv_raw) as writer:
        for row in stored_rows(call, wish):
            writer.add(row)
        return writer.finish(target)


def _left(spans: list[QueueSpan], state: ExportState) -> list[QueueSpan]:
    """Return the spans that are still to be read."""
    if not state.queue:
        return spans
    names = [queue_of(span.queue.broker_name, span.queue.queue_id) for span in spans]
    if state.queue not in names:
        raise Usage(
            f"queue {state.queue}, where the export was interrupted, no longer exists",
            hint="start a new file",
        )
    index = names.index(state.queue)
    first = spans[index]
    return [
        QueueSpan(
            first.queue, min(max(first.start, state.next_queue_offset), first.end), first.end
        ),
        *spans[index + 1 :],
    ]
