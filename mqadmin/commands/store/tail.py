"""``store tail``: follow the commit log of a store directory while a broker writes it."""

from mqadmin.cli.declare import Needs, command
from mqadmin.cli.decorators import (
    inflate_option,
    no_bodies_option,
    no_follow_option,
    of_topic,
    tail_count,
    tail_from,
    with_key,
    with_tags,
)
from mqadmin.messages.filter import Filter
from mqadmin.messages.message_rows import MESSAGE_COLUMNS, MessageRow
from mqadmin.messages.record_rows import body_form
from mqadmin.output.rows import Outcome
from mqadmin.session.call import Call
from mqadmin.store.follow import Follow, follow


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
@with_key
@with_tags()
@tail_from
@tail_count
@no_follow_option
@no_bodies_option
@inflate_option
def tail_store(
    call: Call,
    *,
    topic: str | None,
    key: str | None,
    tag: tuple[str, ...],
    from_: str,
    count: int | None,
    no_follow: bool,
    no_body: bool,
    inflate: bool,
) -> Outcome:
    """Return rows that go on until ``--count`` or Ctrl-C.

    Raises:
        Usage: the count is not positive.
        NotAStore: the directory is no store.
    """
    wanted = Filter(topic=topic, key=key, tags=tag)
    wish = Follow(
        start=from_,
        wanted=wanted,
        count=count,
        follow=not no_follow,
        body=body_form(no_body=no_body, inflate=inflate),
    )
    return follow(call, wish)
