"""Follows the commit log of a store directory while a broker writes it.

Rule: nothing is locked and a message is shown once all of it is written; what retention deletes
before it was read is told on standard error.
"""

import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Final

from mqadmin.messages.filter import Filter
from mqadmin.messages.limits import Limit
from mqadmin.messages.message_rows import BodyForm, MessageRow
from mqadmin.messages.record_rows import row_at
from mqadmin.output.rows import Outcome
from mqadmin.output.times import parse_time
from mqadmin.session.call import Call
from storefmt.formats.message import Record
from storefmt.offline.views.follow import Follower, Skipped
from storefmt.offline.views.storedir import StoreDir

POLL_S: Final = 0.1


@dataclass(frozen=True, slots=True, kw_only=True)
class Follow:
    """What to follow.

    Attributes:
        start: earliest, latest or a time.
        wanted: which records; its ``begin_ms`` is that of ``start``.
        count: end after so many.
        bytes_max: end before bodies of more bytes in all.
        scan: end after so many were looked at.
        follow: False ends at what is there now.
        queue_id: only this queue of the topic.
    """

    start: str
    wanted: Filter
    count: int | None
    bytes_max: int | None = None
    scan: int | None = None
    follow: bool
    body: BodyForm
    queue_id: int | None = None


def follow(call: Call, wish: Follow) -> Outcome:
    """Return rows that go on until ``count`` or Ctrl-C.

    Raises:
        Usage: a limit is negative.
        NotAStore: the directory is no store.
    """
    begin_ms = None
    with StoreDir.open(call.store_dir) as store:
        start = store.log.end
        if wish.start == "earliest":
            start = store.log.min_offset
        elif wish.start != "latest":
            begin_ms = parse_time(wish.start, now_ms=call.now_ms())
            start = _file_before(store, begin_ms)
        follower = Follower(store.paths.commitlog, start)
    wanted = replace(wish.wanted, begin_ms=begin_ms)
    limits = Limit(wish.scan, "--scan"), Limit(wish.bytes_max, "--bytes")
    return Outcome(_rows(call, replace(wish, wanted=wanted), follower, *limits), follow=True)


def _file_before(store: StoreDir, begin_ms: int) -> int:
    """Return the start of the last log file whose first message is older than a time."""
    start = store.log.min_offset
    for span in store.log.spans:
        first = next(iter(store.records(span.start, span.start + 1)), None)
        if not isinstance(first, Record) or first.store_ms >= begin_ms:
            break
        start = span.start
    return start


def _rows(
    call: Call, wish: Follow, follower: Follower, scan: Limit, size: Limit
) -> Iterator[MessageRow]:
    count = 0
    while True:
        for found in follower.poll():
            if isinstance(found, Skipped):
                call.warn(f"log offset {found.log_offset}: {found.why}")
                continue
            if not scan.take():
                return
            if wish.queue_id in (None, found.record.queue_id) and wish.wanted.wants(found.record):
                row = row_at(
                    found.record,
                    log_offset=found.log_offset,
                    file=f"commitlog/{found.file}",
                    body=wish.body,
                    warn=call.warn,
                )
                if not size.take(row.body_size):
                    return
                yield row
                count += 1
                if count == wish.count:
                    return
        if not wish.follow:
            return
        time.sleep(POLL_S)
