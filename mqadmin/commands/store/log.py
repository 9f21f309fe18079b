"""``store log``: the messages of a commit log, in the order they were stored."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated

from mqadmin.call import Call
from mqadmin.errors import Usage
from mqadmin.messages import MESSAGE_COLUMNS, MessageRow
from mqadmin.parameters import Kind, option
from mqadmin.records import Filter, OffsetRange, body_form, message_rows, parse_range
from mqadmin.registry import Needs, command
from mqadmin.rows import Outcome
from mqadmin.times import When, parse_when
from storefmt.offline.storedir import StoreDir


@dataclass(frozen=True, slots=True, kw_only=True)
class Arguments:
    """Which messages, and how much of them."""

    topic: Annotated[str | None, option("of this topic", kind=Kind.TOPIC)] = None
    queue: Annotated[int | None, option("of this queue")] = None
    key: Annotated[str | None, option("with this key or unique key", short="k")] = None
    tag: Annotated[tuple[str, ...], option("with one of these tags")] = ()
    producer: Annotated[str | None, option("of this producer group, where it is stored")] = None
    from_: Annotated[
        When | None,
        option("stored then or later", metavar="TIME", kind=Kind.TIME, parse=parse_when),
    ] = None
    to: Annotated[
        When | None,
        option("stored then or before", metavar="TIME", kind=Kind.TIME, parse=parse_when),
    ] = None
    log_offset: Annotated[
        OffsetRange | None,
        option("in this part of the log, in bytes", metavar="A-B", parse=parse_range),
    ] = None
    limit: Annotated[int | None, option("so many at most", short="c")] = None
    no_body: Annotated[bool, option("leave the bodies out")] = False
    inflate: Annotated[bool, option("decompress the bodies")] = False


@command(
    "store log",
    "list the messages of a store directory",
    details="Damaged records are passed over with a warning; `store verify` explains them.",
    examples=(
        ("mqadmin store log DIR --topic orders --from -1h", "what came in the last hour"),
        ("mqadmin store log DIR --log-offset 4096- --limit 10 -o jsonl", "ten from there on"),
    ),
    rows=MessageRow,
    columns=MESSAGE_COLUMNS,
    needs=Needs.STORE,
)
def list_log(call: Call, args: Arguments) -> Outcome:
    """Return one row a record, in log order.

    Raises:
        Usage: the limit is negative.
        NotAStore: the directory is no store.
    """
    if args.limit is not None and args.limit < 0:
        raise Usage(f"limit {args.limit} is negative")
    store = StoreDir.open(call.store_dir)
    return Outcome(_rows(call, args, store))


def _rows(call: Call, args: Arguments, store: StoreDir) -> Iterator[MessageRow]:
    now_ms = call.now_ms()
    wanted = Filter(
        topic=args.topic,
        queue_id=args.queue,
        key=args.key,
        tags=args.tag,
        producer=args.producer,
        begin_ms=args.from_.ms(now_ms) if args.from_ else None,
        end_ms=args.to.ms(now_ms) if args.to else None,
    )
    with store:
        yield from message_rows(
            store,
            wanted,
            offsets=args.log_offset or OffsetRange(),
            count_max=args.limit,
            body=body_form(no_body=args.no_body, inflate=args.inflate),
            warn=call.warn,
        )
