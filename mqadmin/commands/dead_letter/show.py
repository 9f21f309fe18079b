"""``dead-letter show``: the messages that a group has given up.

Requests: as ``message print``, in ``%DLQ%group``.
"""

from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass, replace
from itertools import islice
from typing import Annotated

from mqadmin.browse import Wish, stored
from mqadmin.call import Call
from mqadmin.deadletters import LetterRow, Letters, letter_of, letter_parts, letter_row, topic_of
from mqadmin.parameters import option
from mqadmin.reading import Span, read
from mqadmin.registry import Needs, command
from mqadmin.rows import Outcome, Row
from mqclient.consumer.pull_consumer import PullConsumer


@dataclass(frozen=True, slots=True, kw_only=True)
class Arguments(Letters):
    """Which dead letters, and how much of them."""

    no_body: Annotated[bool, option("leave the bodies out")] = False


@command(
    "dead-letter show",
    "show the messages that a group has given up",
    examples=(
        ("mqadmin dead-letter show billing --from yesterday", "since yesterday"),
        ("mqadmin dead-letter show billing --topic orders -o jsonl", "of one topic"),
        ("mqadmin dead-letter show billing --store DIR", "out of the files of a stopped broker"),
    ),
    rows=LetterRow,
    needs=Needs.EITHER,
    columns=("given_up_time", "origin_topic", "tags", "keys", "reconsume_times", "msg_id", "body"),
)
async def show_dead_letters(call: Call, args: Arguments) -> Outcome:
    """Return one row a message, oldest first.

    Raises:
        NotFound: the group has never given up a message.
    """
    wish = Wish(topic=topic_of(args.group), filter=args.filter(call.now_ms()), no_body=args.no_body)
    if call.is_offline:
        return Outcome(_stored(call, args, wish))
    consumer, spans = await letter_parts(call, wish, args.group)
    return Outcome(_rows(call, args, consumer, spans, wish))


def _stored(call: Call, args: Arguments, wish: Wish) -> Iterator[Row]:
    wanted = replace(wish.filter, topic=wish.topic)
    found = (row for row in stored(call, replace(wish, filter=wanted)) if args.wants(row))
    for row in islice(found, args.limit):
        yield letter_of(args.group, row)


async def _rows(
    call: Call, args: Arguments, consumer: PullConsumer, spans: list[Span], wish: Wish
) -> AsyncIterator[Row]:
    left = args.limit
    async for message in read(consumer, spans, wish.filter):
        if left == 0:
            return
        if args.wants(message):
            left = None if left is None else left - 1
            yield letter_row(args.group, message, warn=call.warn, body=not args.no_body)
