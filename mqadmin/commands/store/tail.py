"""``store tail``: print messages as a broker stores them."""

from mqadmin.cli.declare import Call, Needs, Outcome, command
from mqadmin.cli.decorators import inflate_option, of_topic, with_tags
from mqadmin.messages.message_rows import MESSAGE_COLUMNS, MessageRow
from mqadmin.messages.record_rows import body_form
from mqadmin.messages.tail import TailOptions, tail_options
from mqadmin.store_access.follow_log import follow


@command(
    "store tail",
    details="The command works beside a running broker: nothing is locked, and a message is "
    "shown once it is completely written. A warning names files that retention deletes before "
    "they have been read.",
    examples=(
        ("mqadmin store tail DIR", "new messages, until Ctrl-C"),
        (
            "mqadmin store tail DIR --topic orders --from -5m -o jsonl",
            "starting with the last 5 minutes",
        ),
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
    """Return rows that continue until ``--count`` or Ctrl-C.

    Raises:
        NotAStore: the directory is not a store.
    """
    body = body_form(no_body=tail.no_body, inflate=inflate)
    return follow(call, tail, tail.filter(topic=topic, tags=tag), body=body)
