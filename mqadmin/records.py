"""Messages of a store directory as rows, and which of them are wanted.

    StoreDir.log.walk --Filter--> MessageRow

Rule: every record is shown where it really lies: a ``log_offset`` that says otherwise is a
finding of ``store verify``, not an address.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated

from mqadmin.errors import Usage
from mqadmin.messages import BodyForm, MessageRow, Warn, message_row
from mqadmin.parameters import Kind, option
from mqadmin.storedtime import STORED_FROM
from mqadmin.times import When
from mqadmin.wanted import Filter
from storefmt.formats.message import Record
from storefmt.offline.views.log_scan import Damage
from storefmt.offline.views.storedir import StoreDir


@dataclass(frozen=True, slots=True)
class OffsetRange:
    """A range of the log in bytes: ``start`` included, ``end`` not; None for open."""

    start: int | None = None
    end: int | None = None


def parse_range(text: str) -> OffsetRange:
    """Return the range that ``A-B``, ``A-``, ``-B`` or ``A`` (one record) means.

    Raises:
        ValueError: it is no range of whole numbers.
    """
    first, dash, last = text.partition("-")
    if not all(part == "" or (part.isascii() and part.isdigit()) for part in (first, last)):
        raise ValueError(f"{text!r} is no range of log offsets; expected 0-4096, 4096- or 4096")
    if not first and not last:
        raise ValueError(f"{text!r} is no range of log offsets; expected 0-4096, 4096- or 4096")
    if not dash:
        return OffsetRange(int(first), int(first) + 1)
    return OffsetRange(int(first) if first else None, int(last) if last else None)


@dataclass(frozen=True, slots=True, kw_only=True)
class Selection:
    """The options that say which messages of a store are wanted, and how much of them.

    A command adds the one for the end of the time: its name differs.
    """

    topic: Annotated[str | None, option("of this topic", kind=Kind.TOPIC)] = None
    queue: Annotated[int | None, option("of this queue")] = None
    key: Annotated[str | None, option("with this key or unique key", short="k")] = None
    tag: Annotated[tuple[str, ...], option("with one of these tags")] = ()
    producer: Annotated[str | None, option("of this producer group, where it is stored")] = None
    from_: Annotated[When | None, STORED_FROM] = None
    log_offset: Annotated[
        OffsetRange | None,
        option("in this part of the log, in bytes", metavar="A-B", parse=parse_range),
    ] = None
    limit: Annotated[int | None, option("so many at most", short="c")] = None
    no_body: Annotated[bool, option("leave the bodies out")] = False
    inflate: Annotated[bool, option("decompress the bodies")] = False

    @property
    def offsets(self) -> OffsetRange:
        """Return the part of the log that is wanted."""
        return self.log_offset or OffsetRange()

    @property
    def body(self) -> BodyForm:
        """Return how bodies are shown."""
        return body_form(no_body=self.no_body, inflate=self.inflate)

    def check(self) -> None:
        """Refuse what cannot be meant.

        Raises:
            Usage: the limit is negative.
        """
        if self.limit is not None and self.limit < 0:
            raise Usage(f"limit {self.limit} is negative; leave it out for all")

    def wanted(self, begin_ms: int | None, end_ms: int | None) -> Filter:
        """Return the filter, for times that were worked out."""
        return Filter(
            topic=self.topic,
            queue_id=self.queue,
            key=self.key,
            tags=self.tag,
            producer=self.producer,
            begin_ms=begin_ms,
            end_ms=end_ms,
        )


def message_rows(
    store: StoreDir,
    wanted: Filter,
    *,
    offsets: OffsetRange,
    count_max: int | None,
    body: BodyForm,
    warn: Warn,
) -> Iterator[MessageRow]:
    """Yield the records that are wanted in log order; damage is told and passed over."""
    count = 0
    for span, pos, item in store.log.walk(offsets.start, offsets.end):
        if count_max is not None and count >= count_max:
            return
        file = store.span_name(span)
        if isinstance(item, Damage):
            warn(
                f"{file} at byte {pos}: {item.error}; {item.size} bytes passed over, "
                "`store verify` says more"
            )
        elif isinstance(item, Record) and wanted.wants(item):
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


def body_form(*, no_body: bool, inflate: bool) -> BodyForm:
    """Return what the two flags ask for."""
    if no_body:
        return "none"
    return "inflated" if inflate else "stored"
