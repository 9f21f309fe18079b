"""``store trace``: show the whole life of a message from a store directory."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Final

import click

from mqadmin.cli.declare import Call, EpochMs, Needs, Outcome, argument, command
from mqadmin.cli.types import TOPIC
from mqadmin.messages.message_rows import BodyForm, MessageRow
from mqadmin.messages.record_rows import body_options
from mqadmin.messages.trace import position_text
from mqadmin.store_access.stored_rows import stored_row
from storefmt.offline.analyse.message_history import StepKind
from storefmt.offline.analyse.trace import TraceStep, trace
from storefmt.offline.views.info import GroupInfo
from storefmt.offline.views.storedir import StoreDir

COLUMNS = (
    *("step_time", "step", "topic", "group", "queue_id", "queue_offset", "log_offset", "due_time"),
    "detail",
)

READ_BY_GROUPS: Final = frozenset(
    {
        StepKind.STORE,
        StepKind.COMMIT,
        StepKind.DELIVER,
        StepKind.RETRY,
        StepKind.DEAD_LETTER,
        StepKind.COPY,
    }
)
"""Steps of a message's life that put it where consumers find it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TraceRow(MessageRow):
    """One step in the life of a message, with the record that shows it.

    ``step_ms`` is when the record was stored; it is 0 for ``group``, which is the present state.
    ``due_ms`` is when a delay ends. ``group_offset`` is the next entry that ``group`` reads.
    """

    step: str
    step_ms: EpochMs
    due_ms: EpochMs
    group: str | None = None
    group_offset: int | None = None
    detail: str


@command(
    "store trace",
    details="The steps are store, delay, deliver, recall; half, half_check, commit, op, "
    "rollback, given_up; retry_delay, retry, dead_letter; copy (an entry in one more queue), "
    "trace (traced by clients), and group for each queue from which consumers get the message. "
    "The index is searched first; the log is read where it is not covered, and a note says so.",
    examples=(
        ("mqadmin store trace DIR FD0000000000000000000000000000020AC04E0E2F2A", "by unique key"),
        ("mqadmin store trace DIR o-17 --topic orders", "every message with this key"),
    ),
    rows=TraceRow,
    columns=COLUMNS,
    needs=Needs.STORE,
)
@argument("which", metavar="KEY|ID", help="a key, a unique key or an offset id")
@click.option("--topic", "-t", type=TOPIC, help="only messages that were sent to this topic")
@click.option("--scan", is_flag=True, help="read the whole log instead of looking up the index")
@body_options
def trace_message(
    call: Call, *, which: str, topic: str | None, scan: bool, body: BodyForm
) -> Outcome:
    """Return one row for each step, oldest first, then where the consumer groups stand.

    Raises:
        NotInStore: no message has the id or key.
    """
    with StoreDir.open(call.store_dir) as store:
        life = trace(store, which, topic=topic, scan=scan)
        rows = [_row(call, store, step, body) for step in life.steps]
        notes = list(life.notes)
        if store.unread_settings is None:
            rows += _groups(call, store, life.steps)
        else:
            notes.append(str(store.unread_settings))
    return Outcome(rows, notes=tuple(notes), tree=("topic", "group"))


def _row(call: Call, store: StoreDir, step: TraceStep, body: BodyForm) -> TraceRow:
    return _trace_row(stored_row(call, store, step.record, body=body), step, group=None)


def _groups(call: Call, store: StoreDir, steps: list[TraceStep]) -> Iterator[TraceRow]:
    groups = store.group_offsets()
    for step in steps:
        if step.step not in READ_BY_GROUPS:
            continue
        for group in groups:
            if (group.topic, group.queue_id) == step.queue[:2]:
                yield _trace_row(
                    stored_row(call, store, step.record, body="none"), step, group=group
                )


def _trace_row(message: MessageRow, step: TraceStep, *, group: GroupInfo | None) -> TraceRow:
    topic, queue_id, queue_offset = step.queue
    row = TraceRow.of(
        message,
        topic=topic,
        queue_id=queue_id,
        queue_offset=queue_offset,
        step=step.step.value,
        step_ms=step.at_ms,
        due_ms=step.due_ms,
        detail=step.detail,
    )
    if group is None:
        return row
    progress = position_text(queue_offset, group.queue_offset)
    return replace(
        row,
        step=StepKind.GROUP.value,
        step_ms=0,
        due_ms=0,
        group=group.group,
        group_offset=group.queue_offset,
        detail=f"at {group.queue_offset}: {progress}",
    )
