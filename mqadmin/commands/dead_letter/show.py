"""``dead-letter show``: show the messages that a group has given up.

Requests: as ``message print``, in ``%DLQ%group``.
"""

from collections.abc import AsyncIterator, Iterator
from dataclasses import replace
from itertools import islice

from mqadmin.cli.declare import Call, Needs, Outcome, Row, command
from mqadmin.cli.decorators import no_bodies_option
from mqadmin.messages.broker_reader import QueueSpan, read_spans
from mqadmin.messages.browse import MessageQuery, stored_rows
from mqadmin.messages.dead_letters import (
    DeadLetterOptions,
    LetterRow,
    letter_of,
    letter_parts,
    letter_row,
    letters_options,
    topic_of,
)
from mqclient.consumer.pull_consumer import PullConsumer


@command(
    "dead-letter show",
    examples=(
        ("mqadmin dead-letter show billing --from yesterday", "since yesterday"),
        ("mqadmin dead-letter show billing --topic orders -o jsonl", "of one topic"),
        ("mqadmin dead-letter show billing --store DIR", "from the files of a stopped broker"),
    ),
    rows=LetterRow,
    needs=Needs.EITHER,
    columns=("given_up_time", "origin_topic", "tags", "keys", "reconsume_times", "msg_id", "body"),
)
@letters_options
@no_bodies_option
async def show_dead_letters(call: Call, *, letters: DeadLetterOptions, no_body: bool) -> Outcome:
    """Return one row for each message, oldest first.

    Raises:
        ItemNotFound: the group has never given up a message.
    """
    wish = MessageQuery(
        topic=topic_of(letters.group), filter=letters.filter(call.now_ms()), no_body=no_body
    )
    if call.is_offline:
        return Outcome(_stored(call, letters, wish))
    consumer, spans = await letter_parts(call, wish, letters.group)
    return Outcome(_rows(call, letters, consumer, spans, wish))


def _stored(call: Call, letters: DeadLetterOptions, wish: MessageQuery) -> Iterator[Row]:
    record_filter = replace(wish.filter, topic=wish.topic)
    rows = (
        row for row in stored_rows(call, replace(wish, filter=record_filter)) if letters.wants(row)
    )
    for row in islice(rows, letters.limit):
        yield letter_of(letters.group, row)


async def _rows(
    call: Call,
    letters: DeadLetterOptions,
    consumer: PullConsumer,
    spans: list[QueueSpan],
    wish: MessageQuery,
) -> AsyncIterator[Row]:
    left = letters.limit
    async for message in read_spans(consumer, spans, wish.filter):
        if left == 0:
            return
        if letters.wants(message):
            left = None if left is None else left - 1
            yield letter_row(letters.group, message, warn=call.warn, body=not wish.no_body)
