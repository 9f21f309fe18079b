"""``store log``, ``store tail``: the messages of a commit log in the order they were stored, and
those that a broker stores while one looks.
"""

from collections.abc import Iterator

from mqadmin.cli.declare import Needs, command
from mqadmin.cli.decorators import inflate_option, of_topic, stored_to, with_tags
from mqadmin.cli.times import bound_ms
from mqadmin.messages.filter import Filter
from mqadmin.messages.message_rows import MESSAGE_COLUMNS, MessageRow
from mqadmin.messages.record_rows import Selection, body_form, message_rows, selection_options
from mqadmin.messages.tail import TailWish, tail_options
from mqadmin.output.rows import Outcome
from mqadmin.output.times import When
from mqadmin.session.call import Call
from mqadmin.store.follow import follow
from storefmt.offline.views.storedir import StoreDir


@command(
    "store log",
    details="Damaged records are passed over with a warning; `store verify` explains them.",
    examples=(
        ("mqadmin store log DIR --topic orders --from -1h", "what came in the last hour"),
        ("mqadmin store log DIR --log-offset 4096- --limit 10 -o jsonl", "ten from there on"),
    ),
    rows=MessageRow,
    columns=MESSAGE_COLUMNS,
    needs=Needs.STORE,
)
@selection_options
@stored_to()
def list_log(call: Call, *, selection: Selection, to: When | None) -> Outcome:
    """Return one row a record, in log order.

    Raises:
        NotAStore: the directory is no store.
    """
    now_ms = call.now_ms()
    wanted = selection.wanted(bound_ms(selection.from_, now_ms), bound_ms(to, now_ms))
    return Outcome(_rows(call, selection, wanted, StoreDir.open(call.store_dir)))


def _rows(
    call: Call, selection: Selection, wanted: Filter, store: StoreDir
) -> Iterator[MessageRow]:
    with store:
        yield from message_rows(
            store,
            wanted,
            offsets=selection.offsets,
            count_max=selection.limit,
            body=selection.body,
            warn=call.warn,
        )


@command(
    "store tail",
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
@of_topic("-t")
@with_tags()
@tail_options
@inflate_option
def tail_store(
    call: Call, *, topic: str | None, tag: tuple[str, ...], tail: TailWish, inflate: bool
) -> Outcome:
    """Return rows that go on until ``--count`` or Ctrl-C.

    Raises:
        NotAStore: the directory is no store.
    """
    body = body_form(no_body=tail.no_body, inflate=inflate)
    return follow(call, tail, tail.filter(topic=topic, tags=tag), body=body)
