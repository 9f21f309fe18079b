"""``message decode-id``: show what a message id contains; no server is asked.

    offset id   store host | log offset
    unique id   client ip | pid | class loader | ms of the month | counter

Both have 32 or 56 digits. An offset id has a valid port and log offset; the same bytes
of a unique id almost never are, so one reading is likely.
"""

from dataclasses import dataclass
from datetime import datetime
from typing import Final

from mqadmin.cli.declare import Call, EpochMs, Needs, Outcome, Row, argument, command
from storefmt.formats.hosts import host_text, port_of
from storefmt.formats.msgid import decode_unique_id, parse_offset_id

PORT_MAX: Final = 65535
LOG_MAX: Final = 1 << 50
"""Commit logs are shorter than a pebibyte."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DecodedId(Row):
    """One id; the fields of the other kind are None.

    ``log_offset`` is in bytes. ``born_ms`` is right if the message is younger than a month
    and its client's clock is in this machine's time zone; 0 for an offset id.
    """

    id: str
    kind: str
    host: str
    log_offset: int | None = None
    pid: int | None = None
    counter: int | None = None
    born_ms: EpochMs = 0


@command(
    "message decode-id",
    examples=(
        ("mqadmin message decode-id 7F00000100002A9F00000000000004D2", "broker and log offset"),
        ("mqadmin message decode-id AC1100020B6B18B4AAC2064ED6A30000", "client, pid and time"),
    ),
    rows=DecodedId,
    needs=Needs.NONE,
)
@argument("message_ids", nargs=-1, required=True, metavar="ID", help="message ids")
def decode_id(call: Call, *, message_ids: tuple[str, ...]) -> Outcome:
    """Return one row for each id.

    Raises:
        BadCall: one of them is not an id.
    """
    return Outcome([decode_message_id(text, now_ms=call.now_ms()) for text in message_ids])


def decode_message_id(text: str, *, now_ms: int) -> DecodedId:
    """Return the contents of an id in its most likely reading."""
    store_host, log_offset = parse_offset_id(text)
    if 0 < port_of(store_host) <= PORT_MAX and 0 <= log_offset < LOG_MAX:
        return DecodedId(id=text, kind="offset", host=host_text(store_host), log_offset=log_offset)
    decoded = decode_unique_id(text)
    return DecodedId(
        id=text,
        kind="unique",
        host=decoded.ip,
        pid=decoded.pid,
        counter=decoded.counter,
        born_ms=_born_ms(decoded.born_ms_in_month, now_ms=now_ms),
    )


def _born_ms(in_month_ms: int, *, now_ms: int) -> int:
    """Return the last time that was so many ms after the beginning of a month."""
    month = datetime.fromtimestamp(now_ms / 1000).replace(
        day=1, hour=0, minute=0, second=0, microsecond=0
    )
    start_ms = round(month.timestamp() * 1000)
    if start_ms + in_month_ms <= now_ms:
        return start_ms + in_month_ms
    before = month.replace(
        year=month.year - (month.month == 1), month=12 if month.month == 1 else month.month - 1
    )
    return round(before.timestamp() * 1000) + in_month_ms
