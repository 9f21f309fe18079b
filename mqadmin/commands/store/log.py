"""``store log``: the messages of a commit log, in the order they were stored."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated

from mqadmin.call import Call
from mqadmin.messages import MESSAGE_COLUMNS, MessageRow
from mqadmin.records import Selection, message_rows
from mqadmin.registry import Needs, command
from mqadmin.rows import Outcome
from mqadmin.storedtime import STORED_TO, bound_ms
from mqadmin.times import When
from storefmt.offline.views.storedir import StoreDir


@dataclass(frozen=True, slots=True, kw_only=True)
class Arguments(Selection):
    """Which messages, and how much of them."""

    to: Annotated[When | None, STORED_TO] = None


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
    args.check()
    store = StoreDir.open(call.store_dir)
    return Outcome(_rows(call, args, store))


def _rows(call: Call, args: Arguments, store: StoreDir) -> Iterator[MessageRow]:
    now_ms = call.now_ms()
    wanted = args.wanted(bound_ms(args.from_, now_ms), bound_ms(args.to, now_ms))
    with store:
        yield from message_rows(
            store,
            wanted,
            offsets=args.offsets,
            count_max=args.limit,
            body=args.body,
            warn=call.warn,
        )
