"""``store tail``: follow the commit log of a store directory while a broker writes it."""

import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated, Final

from mqadmin.call import Call
from mqadmin.errors import Usage
from mqadmin.messages import MESSAGE_COLUMNS, MessageRow
from mqadmin.parameters import Kind, option
from mqadmin.records import body_form, row_at
from mqadmin.registry import Needs, command
from mqadmin.rows import Outcome
from mqadmin.times import parse_time
from mqadmin.wanted import Filter
from storefmt.message import Record
from storefmt.offline.follow import Follower, Skipped
from storefmt.offline.storedir import StoreDir

POLL_S: Final = 0.1


def parse_start(text: str) -> str:
    """Check ``earliest``, ``latest`` or a time.

    Raises:
        ValueError: it is none of them.
    """
    if text not in {"earliest", "latest"}:
        parse_time(text, now_ms=0)
    return text


@dataclass(frozen=True, slots=True, kw_only=True)
class Arguments:
    """What to follow."""

    topic: Annotated[str | None, option("of this topic", short="t", kind=Kind.TOPIC)] = None
    key: Annotated[str | None, option("with this key or unique key", short="k")] = None
    tag: Annotated[tuple[str, ...], option("with one of these tags")] = ()
    from_: Annotated[
        str,
        option("earliest, latest or a TIME", metavar="WHERE", kind=Kind.TIME, parse=parse_start),
    ] = "latest"
    count: Annotated[int | None, option("end after so many", short="c")] = None
    no_follow: Annotated[bool, option("end at what is there now")] = False
    no_body: Annotated[bool, option("leave the bodies out")] = False
    inflate: Annotated[bool, option("decompress the bodies")] = False


@command(
    "store tail",
    "follow a store directory: print messages as they are stored",
    details="Works beside a running broker: nothing is locked, and a message is shown once all "
    "of it is written. What retention deletes before it was read is told on standard error.",
    examples=(
        ("mqadmin store tail DIR", "what comes from now on; Ctrl-C ends it"),
        ("mqadmin store tail DIR --topic orders --from -5m -o jsonl", "and the last 5 minutes"),
    ),
    rows=MessageRow,
    columns=MESSAGE_COLUMNS,
    needs=Needs.STORE,
)
def tail_store(call: Call, args: Arguments) -> Outcome:
    """Return rows that go on until ``--count`` or Ctrl-C.

    Raises:
        Usage: the count is not positive.
        NotAStore: the directory is no store.
    """
    if args.count is not None and args.count < 1:
        raise Usage(f"--count {args.count}: expected 1 or more")
    begin_ms = None
    with StoreDir.open(call.store_dir) as store:
        start = store.log.end
        if args.from_ == "earliest":
            start = store.log.min_offset
        elif args.from_ != "latest":
            begin_ms = parse_time(args.from_, now_ms=call.now_ms())
            start = _file_before(store, begin_ms)
        follower = Follower(store.paths.commitlog, start)
    wanted = Filter(topic=args.topic, key=args.key, tags=args.tag, begin_ms=begin_ms)
    return Outcome(_rows(call, args, follower, wanted), follow=True)


def _file_before(store: StoreDir, begin_ms: int) -> int:
    """Return the start of the last log file whose first message is older than a time."""
    start = store.log.min_offset
    for span in store.log.spans:
        first = next(iter(store.records(span.start, span.start + 1)), None)
        if not isinstance(first, Record) or first.store_ms >= begin_ms:
            break
        start = span.start
    return start


def _rows(call: Call, args: Arguments, follower: Follower, wanted: Filter) -> Iterator[MessageRow]:
    body = body_form(no_body=args.no_body, inflate=args.inflate)
    count = 0
    while True:
        for found in follower.poll():
            if isinstance(found, Skipped):
                call.warn(f"log offset {found.log_offset}: {found.why}")
            elif wanted.wants(found.record):
                yield row_at(
                    found.record,
                    log_offset=found.log_offset,
                    file=f"commitlog/{found.file}",
                    body=body,
                    warn=call.warn,
                )
                count += 1
                if count == args.count:
                    return
        if args.no_follow:
            return
        time.sleep(POLL_S)
