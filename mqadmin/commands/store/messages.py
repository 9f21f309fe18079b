"""``store log``, ``tail``, ``get``, ``query``: show messages of a store directory.

log      all of them, in the order they were stored
tail     those that a broker stores while one looks
get      one by log offset, offset id or unique key
query    those with a key

``message query key --store DIR`` finds the same by the same code, in the form that brokers answer.
"""

import click

from mqadmin.cli.declare import Call, Needs, Outcome, argument, command, one
from mqadmin.cli.decorators import (
    inflate_option,
    limit_option,
    no_body_option,
    of_topic,
    option_group,
    stored_at_any_time,
    stored_to,
    topic_argument,
    with_tags,
)
from mqadmin.cli.times import TimeSpan, bound_ms
from mqadmin.cli.types import Integer
from mqadmin.messages.message_rows import MESSAGE_COLUMNS, BodyForm, MessageRow
from mqadmin.messages.record_rows import (
    Selection,
    body_form,
    body_options,
    message_rows,
    selection_options,
)
from mqadmin.messages.tail import TailOptions, tail_options
from mqadmin.output.times import When
from mqadmin.store.follow import follow
from mqadmin.store.offline import closing, stored_by_key, stored_row
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
    """Return one row for each record, in log order.

    Raises:
        NotAStore: the directory is no store.
    """
    now_ms = call.now_ms()
    wanted = selection.wanted(bound_ms(selection.from_, now_ms), bound_ms(to, now_ms))
    store = StoreDir.open(call.store_dir)
    rows = message_rows(
        store,
        wanted,
        offsets=selection.offsets,
        count_max=selection.limit,
        body=selection.body,
        warn=call.warn,
    )
    return Outcome(closing(store, rows))


@command(
    "store tail",
    details="The command works beside a running broker: nothing is locked, and a message is shown "
    "once all of it is written. A warning names what retention deletes before it was "
    "read.",
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
    call: Call, *, topic: str | None, tag: tuple[str, ...], tail: TailOptions, inflate: bool
) -> Outcome:
    """Return rows that go on until ``--count`` or Ctrl-C.

    Raises:
        NotAStore: the directory is no store.
    """
    body = body_form(no_body=tail.no_body, inflate=inflate)
    return follow(call, tail, tail.filter(topic=topic, tags=tag), body=body)


LOG_OFFSET_DIGITS_MAX = 20


@command(
    "store get",
    details="A unique key is looked up in the index, and in the whole log if it is not there.",
    examples=(
        ("mqadmin store get DIR 297161", "the record at this byte of the log"),
        ("mqadmin store get DIR 7F0000010000559700000000000488C9", "by its offset id"),
    ),
    rows=MessageRow,
    columns=MESSAGE_COLUMNS,
    needs=Needs.STORE,
)
@argument("which", metavar="OFFSET|ID", help="a log offset, an offset id or a unique key")
@option_group(
    "body",
    body_form,
    no_body_option,
    click.option("--inflate", is_flag=True, help="decompress the body"),
)
def get_message(call: Call, *, which: str, body: BodyForm) -> Outcome:
    """Return the message.

    Raises:
        NotInStore: there is none.
        RecordDamaged: what lies there is damaged.
    """
    with StoreDir.open(call.store_dir) as store:
        if which.isascii() and which.isdigit() and len(which) <= LOG_OFFSET_DIGITS_MAX:
            log_offset = int(which)
            record = store.record_at(log_offset)
        else:
            record = store.find_message(which)
            log_offset = record.log_offset
        return one(stored_row(call, store, record, body=body, log_offset=log_offset))


@command(
    "store query",
    details="The index files say where to look; what they do not cover is read from the log.",
    examples=(("mqadmin store query DIR orders o-17", "all with this key"),),
    rows=MessageRow,
    columns=MESSAGE_COLUMNS,
    needs=Needs.STORE,
)
@topic_argument()
@argument("key", help="the key, or a unique key")
@stored_at_any_time
@limit_option(
    type=Integer(min=1), default=64, help="largest number of messages, the newest of them"
)
@body_options
def query_key(
    call: Call, *, topic: str, key: str, stored: TimeSpan, limit: int, body: BodyForm
) -> Outcome:
    """Return one row for each message, oldest first.

    Raises:
        ItemNotFound: no message has the key.
    """
    begin_ms, end_ms = stored.ms(call.now_ms())
    return stored_by_key(
        call, topic, key, begin_ms=begin_ms, end_ms=end_ms, count_max=limit, body=body
    )
