"""Messages of a store directory as rows, filtered.

    StoreDir.log.located_items --RecordFilter--> MessageRow

Rule: every record is shown at its actual position; a ``log_offset`` in the record that differs is a
finding of ``store verify``, not an address.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

import click

from mqadmin.cli.decorators import (
    inflate_option,
    limit_option,
    no_bodies_option,
    of_topic,
    option_group,
    stored_from,
    with_key,
    with_tags,
)
from mqadmin.cli.types import INTEGER, TextType
from mqadmin.messages.filter import RecordFilter
from mqadmin.messages.message_rows import BodyForm, MessageRow, Warn, message_row
from mqadmin.output.times import When
from storefmt.formats.message import Record
from storefmt.offline.views.log_scan import Damage
from storefmt.offline.views.storedir import StoreDir

RANGE: Final = re.compile(r"(?=.*[0-9])([0-9]*)(-?)([0-9]*)")


@dataclass(frozen=True, slots=True)
class OffsetRange:
    """A range of the log in bytes: ``start`` included, ``end`` not; None for open."""

    start: int | None = None
    end: int | None = None


def parse_range(text: str) -> OffsetRange:
    """Return the range that ``A-B``, ``A-``, ``-B`` or ``A`` (one record) means.

    Raises:
        ValueError: it is not a range of whole numbers.
    """
    match = RANGE.fullmatch(text)
    if match is None:
        raise ValueError(f"{text!r} is not a range of log offsets; expected 0-4096, 4096- or 4096")
    first, dash, last = match.groups()
    if not dash:
        return OffsetRange(int(first), int(first) + 1)
    return OffsetRange(int(first) if first else None, int(last) if last else None)


def body_form(*, no_body: bool, inflate: bool) -> BodyForm:
    """Return what the two flags ask for."""
    if no_body:
        return "none"
    return "inflated" if inflate else "stored"


body_options = option_group("body", body_form, no_bodies_option, inflate_option)
"""``--no-body`` and ``--inflate``, as ``body``."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Selection:
    """The options that say which messages of a store are wanted, and how much of them.

    A command adds the one for the end of the time: its name differs.
    """

    topic: str | None
    queue: int | None
    key: str | None
    tag: tuple[str, ...]
    producer: str | None
    from_: When | None
    log_offset: OffsetRange | None
    limit: int | None
    no_body: bool
    inflate: bool

    @property
    def offsets(self) -> OffsetRange:
        """Return the part of the log that is wanted."""
        return self.log_offset or OffsetRange()

    @property
    def body(self) -> BodyForm:
        """Return how bodies are shown."""
        return body_form(no_body=self.no_body, inflate=self.inflate)

    def asked(self) -> dict[str, str]:
        """Return which messages are asked for, and how, by the names of the options."""
        names = ("topic", "queue", "key", "tag", "producer", "from_", "log_offset")
        return {
            name.rstrip("_"): str(getattr(self, name)) for name in (*names, "no_body", "inflate")
        }

    def wanted(self, begin_ms: int | None, end_ms: int | None) -> RecordFilter:
        """Return the filter, for times that were worked out."""
        return RecordFilter(
            topic=self.topic,
            queue_id=self.queue,
            key=self.key,
            tags=self.tag,
            producer=self.producer,
            begin_ms=begin_ms,
            end_ms=end_ms,
        )


selection_options = option_group(
    "selection",
    Selection,
    of_topic(),
    click.option("--queue", type=INTEGER, help="of this queue"),
    with_key,
    with_tags(),
    click.option("--producer", help="only this producer group, if it is stored"),
    stored_from(),
    click.option(
        "--log-offset",
        type=TextType(read=parse_range),
        metavar="A-B",
        help="in this part of the log, in bytes",
    ),
    limit_option(),
    no_bodies_option,
    inflate_option,
)


def message_rows(
    store: StoreDir,
    record_filter: RecordFilter,
    *,
    offsets: OffsetRange,
    count_max: int | None,
    body: BodyForm,
    warn: Warn,
) -> Iterator[MessageRow]:
    """Yield the selected records in log order; damage is reported and skipped."""
    count = 0
    for span, pos, item in store.log.located_items(offsets.start, offsets.end):
        if count_max is not None and count >= count_max:
            return
        file = store.span_name(span)
        if isinstance(item, Damage):
            warn(
                f"{file} at byte {pos}: {item.error}; skipped {item.size} bytes; see `store verify`"
            )
        elif isinstance(item, Record) and record_filter.wants(item):
            count += 1
            yield row_at(item, log_offset=span.start + pos, file=file, body=body, warn=warn)


def row_at(record: Record, *, log_offset: int, file: str, body: BodyForm, warn: Warn) -> MessageRow:
    """Return the row of a record that lies at ``log_offset``.

    A body that cannot be decompressed is shown as it is stored, with a warning.
    """
    record = record._replace(log_offset=log_offset)
    row = message_row(record, body=body, file=file)
    if row.body_error is not None:
        warn(f"record at log offset {log_offset}: {row.body_error}; the stored bytes are shown")
    return row
