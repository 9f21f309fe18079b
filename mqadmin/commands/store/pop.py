"""``store pop``: show which messages were popped and acknowledged, from the revive log."""

from collections.abc import Iterator
from dataclasses import dataclass

import click

from mqadmin.cli.declare import Call, EpochMs, Needs, Outcome, Row, command
from mqadmin.cli.decorators import limit_option, of_topic, stored_between
from mqadmin.cli.times import OpenTimeSpan
from mqadmin.cli.types import GROUP
from mqadmin.store_access.stored_rows import closing
from storefmt.formats.message import Record
from storefmt.formats.pop_records import read_pop_record
from storefmt.names import TopicKind, kind_of
from storefmt.offline.views.log_scan import Damage
from storefmt.offline.views.storedir import StoreDir


@dataclass(frozen=True, slots=True)
class PopRow(Row):
    """A checkpoint or an acknowledgement; offsets in entries, ``log_offset`` in bytes.

    ``revive_ms`` is when the messages of a checkpoint are delivered again unless acknowledged.
    """

    kind: str
    group: str
    topic: str
    queue_id: int
    start_offset: int
    queue_offsets: list[int]
    pop_ms: EpochMs
    invisible_ms: int | None
    revive_ms: EpochMs | None
    broker: str | None
    revive_queue_id: int
    store_ms: EpochMs
    log_offset: int
    file: str


@command(
    "store pop",
    examples=(
        (
            "mqadmin store pop DIR --group billing",
            "messages that billing popped, and its acknowledgements",
        ),
        ("mqadmin store pop DIR --topic orders --from -1h -o jsonl", "of one topic, for a program"),
    ),
    details="A 5.4.0 broker keeps these records in rmq_sys_wheel_timer until they are due, and "
    "then writes them to the revive log; `mqbroker` writes them there at once.",
    rows=PopRow,
    columns=(
        *("kind", "group", "topic", "queue_id", "queue_offsets", "pop_time", "revive_time"),
        "log_offset",
    ),
    needs=Needs.STORE,
)
@click.option("--group", "-g", type=GROUP, help="only this consumer group")
@of_topic()
@stored_between
@limit_option()
def list_pops(
    call: Call, *, group: str | None, topic: str | None, stored: OpenTimeSpan, limit: int | None
) -> Outcome:
    """Return one row for each record, in log order.

    Raises:
        NotAStore: the directory is not a store.
    """
    begin_ms, end_ms = stored.ms(call.now_ms())
    store = StoreDir.open(call.store_dir)

    def rows() -> Iterator[PopRow]:
        count = 0
        for record, pos, file in _revive_records(call, store):
            if limit is not None and count >= limit:
                return
            if not (begin_ms or 0) <= record.store_ms <= (end_ms or record.store_ms):
                continue
            pop_record = read_pop_record(record.tags, record.body)
            if pop_record is None:
                call.warn(f"{file}: the record at log offset {pos} is not a POP record")
            elif group in (None, pop_record.group) and topic in (None, pop_record.topic):
                count += 1
                yield PopRow.of(
                    pop_record,
                    queue_offsets=list(pop_record.queue_offsets),
                    revive_queue_id=record.queue_id,
                    store_ms=record.store_ms,
                    log_offset=pos,
                    file=file,
                )

    return Outcome(closing(store, rows()))


def _revive_records(call: Call, store: StoreDir) -> Iterator[tuple[Record, int, str]]:
    """Yield the records of the revive log with their log offset and file."""
    for span, pos, item in store.log.located_items(None, None):
        file = store.span_name(span)
        if isinstance(item, Damage):
            call.warn(f"{file} at byte {pos}: {item.error}; `store verify` shows more")
        elif isinstance(item, Record) and kind_of(item.topic) is TopicKind.REVIVE:
            yield item, span.start + pos, file
