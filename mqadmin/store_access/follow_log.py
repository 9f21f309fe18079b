"""Follow the commit log of a store directory while a broker writes it.

Rule: nothing is locked, and a message is shown once it is completely written; messages that
retention deletes before they are read are reported on standard error.
"""

import time
from collections.abc import Iterator
from dataclasses import replace
from typing import Final

from mqadmin.messages.filter import RecordFilter
from mqadmin.messages.limits import Limit
from mqadmin.messages.message_rows import BodyForm, MessageRow
from mqadmin.messages.record_rows import row_at
from mqadmin.messages.tail import TailOptions
from mqadmin.output.rows import Outcome
from mqadmin.output.times import parse_time
from mqadmin.session.call import Call
from storefmt.formats.message import Record
from storefmt.offline.views.follow import Follower, SkippedBytes
from storefmt.offline.views.storedir import StoreDir

POLL_S: Final = 0.1


def follow(
    call: Call, tail: TailOptions, record_filter: RecordFilter, *, body: BodyForm
) -> Outcome:
    """Return rows that continue until ``tail`` ends or Ctrl-C.

    Raises:
        NotAStore: the directory is not a store.
    """
    begin_ms = None
    with StoreDir.open(call.store_dir) as store:
        start = store.log.end
        if tail.from_ == "earliest":
            start = store.log.min_offset
        elif tail.from_ != "latest":
            begin_ms = parse_time(tail.from_, now_ms=call.now_ms())
            start = _file_before(store, begin_ms)
        follower = Follower(store.paths.commitlog, start)
    rows = _rows(call, tail, replace(record_filter, begin_ms=begin_ms), follower, body)
    return Outcome(rows, follow=True)


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
    call: Call, tail: TailOptions, record_filter: RecordFilter, follower: Follower, body: BodyForm
) -> Iterator[MessageRow]:
    count, scan, size = 0, Limit(tail.scan), Limit(tail.bytes_)
    while True:
        for followed in follower.poll():
            if isinstance(followed, SkippedBytes):
                call.warn(f"log offset {followed.log_offset}: {followed.why}")
                continue
            if not scan.spend():
                return
            if record_filter.wants(followed.record):
                row = row_at(
                    followed.record,
                    log_offset=followed.log_offset,
                    file=f"commitlog/{followed.file}",
                    body=body,
                    warn=call.warn,
                )
                if not size.spend(row.body_size):
                    return
                yield row
                count += 1
                if count == tail.count:
                    return
        if tail.no_follow:
            return
        time.sleep(POLL_S)
