"""``dead-letter resend``: send the messages that a group has given up to it again.

    %DLQ%group --> %RETRY%group     only this group gets them, under their first topic
               --> --to TOPIC       every group of that topic gets them

Rule: the dead letters stay where they are, so a second run sends them again; each row has the id
that was sent, and ``--from`` continues where a run ended.
"""

from collections.abc import AsyncIterator
from dataclasses import dataclass

import click

from mqadmin.cli.declare import Call, Outcome, Row, command
from mqadmin.cli.decorators import rate_option
from mqadmin.cli.types import GROUP, TOPIC
from mqadmin.errors import ItemNotFound
from mqadmin.messages.broker_reader import read_spans
from mqadmin.messages.browse import MessageQuery
from mqadmin.messages.dead_letters import (
    DeadLetterOptions,
    letter_parts,
    letters_options,
    origin_topic,
    topic_of,
)
from mqadmin.messages.limits import RateLimit
from mqadmin.messages.resend import ResentRow, not_sent, send_again
from mqadmin.output.rows import PARTLY, WOULD_CHANGE
from mqclient.errors import ClientError
from mqclient.message import MessageExt
from mqclient.producer.producer import Producer
from storefmt.formats.properties import ORIGIN_MESSAGE_ID, RETRY_TOPIC
from storefmt.names import RETRY_PREFIX

TO_ORIGIN = "origin"


@dataclass(slots=True)
class ResendCount:
    """How many went well."""

    sent: int = 0
    failed: int = 0

    def exit_code(self) -> int:
        """Return the exit code once all rows are out."""
        if not self.failed:
            return 0
        return PARTLY if self.sent else 1


@command(
    "dead-letter resend",
    examples=(
        ("mqadmin dead-letter resend billing --dry-run", "what would be sent"),
        ("mqadmin dead-letter resend billing --topic orders --rate 50 -y", "50 a second"),
        (
            "mqadmin dead-letter resend billing --into origin -y",
            "to every group that reads the topic",
        ),
    ),
    details="Without --into, the messages go to the retry topic of the group, and its consumers "
    "receive them under the original topic. If the group does not subscribe to that topic, they "
    "wait in the retry topic.",
    rows=ResentRow,
    columns=("status", "msg_id", "keys", "to", "queue_id", "new_offset", "new_msg_id", "error"),
    writes=True,
)
@letters_options
@click.option(
    "--into",
    type=TOPIC,
    metavar="TOPIC",
    help="send to this topic, or `origin` for the original topic; if left out, only the group "
    "gets them",
)
@rate_option
@click.option("--producer", type=GROUP, default="MQADMIN", help="send as this producer group")
async def resend_dead_letters(
    call: Call, *, letters: DeadLetterOptions, into: str | None, rate: float | None, producer: str
) -> Outcome:
    """Return one row for each message; the exit code is 5 where some were not sent.

    Raises:
        ItemNotFound: no dead letter matches, or the group has none.
    """
    messages = await _wanted(call, letters)
    if not messages:
        raise ItemNotFound(
            f"group {letters.group} has no matching dead letter",
            hint="`dead-letter show` lists them",
        )
    if call.dry_run:
        return Outcome(
            [
                not_sent(message, _target(letters.group, into, message), status=WOULD_CHANGE)
                for message in messages
            ]
        )
    where = into or f"group {letters.group} alone"
    await call.confirm(f"send {len(messages)} dead letters of group {letters.group} to {where}?")
    tally = ResendCount()
    sender = Producer(await call.client(), producer)
    targets = [(message, _target(letters.group, into, message)) for message in messages]
    sent = _send(sender, letters.group, targets, tally, pace=RateLimit(rate))
    return Outcome(sent, exit_code=tally.exit_code)


async def _wanted(call: Call, letters: DeadLetterOptions) -> list[MessageExt]:
    wish = MessageQuery(topic=topic_of(letters.group), filter=letters.filter(call.now_ms()))
    consumer, spans = await letter_parts(call, wish, letters.group)
    messages: list[MessageExt] = []
    async for message in read_spans(consumer, spans, wish.filter):
        if letters.limit is not None and len(messages) >= letters.limit:
            break
        if letters.wants(message):
            messages.append(message)
    return messages


def _target(group: str, into: str | None, message: MessageExt) -> str:
    if into is None:
        return RETRY_PREFIX + group
    if into != TO_ORIGIN:
        return into
    return origin_topic(message) or RETRY_PREFIX + group


async def _send(
    producer: Producer,
    group: str,
    messages: list[tuple[MessageExt, str]],
    tally: ResendCount,
    *,
    pace: RateLimit,
) -> AsyncIterator[Row]:
    for message, target in messages:
        await pace.turn()
        system = {}
        if target.startswith(RETRY_PREFIX):
            # Consumers deliver a retried message under this topic, and only to its listener.
            system = {
                RETRY_TOPIC: origin_topic(message) or topic_of(group),
                ORIGIN_MESSAGE_ID: message.properties.get(ORIGIN_MESSAGE_ID, message.offset_msg_id),
            }
        try:
            row = await send_again(producer, message, topic=target, system=system)
        except ClientError as error:
            tally.failed += 1
            row = not_sent(message, target, status="failed", error=str(error))
        else:
            tally.sent += 1
        yield row
